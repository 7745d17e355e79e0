"""Sharding as state: the mesh, layouts, how they follow an op's axes, and the collectives between them."""

from rooflight.layout.follow import Flow, follow
from rooflight.layout.groups import shared_groups
from rooflight.layout.layout import Layout, Move, ordered, redistribute, replicated
from rooflight.layout.load import busiest
from rooflight.layout.mesh import (
    AXES,
    BATCH,
    CONTEXT,
    EXPERT_WIDTH,
    EXPERTS,
    HEADS,
    NUMBERED,
    REPEATS,
    Group,
    Plan,
    degrees,
)
from rooflight.layout.vocabulary import vocabulary_rows

__all__ = [
    "AXES",
    "BATCH",
    "CONTEXT",
    "EXPERTS",
    "EXPERT_WIDTH",
    "HEADS",
    "NUMBERED",
    "REPEATS",
    "Flow",
    "Group",
    "Layout",
    "Move",
    "Plan",
    "busiest",
    "degrees",
    "follow",
    "ordered",
    "redistribute",
    "replicated",
    "shared_groups",
    "vocabulary_rows",
]
