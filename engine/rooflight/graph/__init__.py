"""The graph: components expanded to nodes with ids, in one order."""

from rooflight.graph.expand import PHASES, expand, substitute
from rooflight.graph.graph import POSITIONS, TOKENS, Graph, Group, Instance, Kept, Node, Seam, Stored
from rooflight.graph.names import braced, mapped, ranges, tensor_name, weight_path

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
    "Stored",
    "braced",
    "expand",
    "mapped",
    "ranges",
    "substitute",
    "tensor_name",
    "weight_path",
]
