"""The Program of a graph, and the one walk over it."""

from rooflight.walk.compile import compile_graph
from rooflight.walk.program import LEGAL_COUNTING, Cached, Check, Counting, Program, Step, Stored
from rooflight.walk.shard import Family, LocalStep, Transfer, cut_name
from rooflight.walk.walk import walk

__all__ = [
    "LEGAL_COUNTING",
    "Cached",
    "Check",
    "Counting",
    "Family",
    "LocalStep",
    "Program",
    "Step",
    "Stored",
    "Transfer",
    "compile_graph",
    "cut_name",
    "walk",
]
