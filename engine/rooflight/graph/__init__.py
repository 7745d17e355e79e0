"""The graph: components expanded to nodes with ids, in one order."""

from rooflight.graph.expand import PHASES, expand, substitute
from rooflight.graph.graph import POSITIONS, TOKENS, Graph, Group, Instance, Kept, Node, Seam

__all__ = [
    "PHASES",
    "POSITIONS",
    "TOKENS",
    "Graph",
    "Group",
    "Instance",
    "Kept",
    "Node",
    "Seam",
    "expand",
    "substitute",
]
