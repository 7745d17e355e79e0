"""One graph: every node of a bound model in one phase, components expanded, in an order in which inputs come first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rooflight.expr import Tree
from rooflight.ops import Op
from rooflight.spec import ComponentSpec, Format

# Inputs of a step, by negative index: the new token ids [B, s_q] and the numbers of the new positions [s_q].
TOKENS = -1
POSITIONS = -2


class Kept(NamedTuple):
    """What the cache keeps of a node. `dims` are the growth law's, in the model's names."""

    kind: str
    growth: str
    dims: Mapping[str, Tree]
    dtype: str | None = None  # of a state that has one of its own

    @property
    def constant(self) -> bool:
        """Whether it is the state that the op carries, and not the node's output."""
        return self.growth == "constant"


class Stored(NamedTuple):
    """A format and the layers whose weight it stores; no layers where the node stands outside a stack."""

    format: Format
    layers: tuple[int, ...]


class Node(NamedTuple):
    """One op in its place. `inputs` are indices of earlier nodes; `dims` are in the model's names.

    cuts      axis name -> the dim in whose pieces it is cut, where dims do not say it
    copies    how many of the node one layer holds, e.g. one per expert
    active    how many of them work on one token
    dtype     of the checkpoint, where a weight has no other format
    formats   weight -> how it is stored, by layer where layers differ
    """

    id: str
    op: Op
    inputs: tuple[int, ...]
    dims: Mapping[str, Tree]
    switches: Mapping[str, bool]
    choices: Mapping[str, str]
    role: str
    component: str
    group: int
    kept: Kept | None
    tied_to: str | None
    part_of: str | None
    cuts: Mapping[str, Tree]
    copies: Tree
    active: Tree
    dtype: str
    formats: Mapping[str, tuple[Stored, ...]]
    where: str


@dataclass(frozen=True, slots=True)
class Group:
    """The layers of one stack that share a block, or a stage that stands alone (`layers` is then None)."""

    name: str
    stage: str
    block: str | None
    layers: tuple[int, ...] | None
    count: Tree
    part: str = "main"


class Instance(NamedTuple):
    """A component in its place: nodes first to last-1, what fills it, and its names in the model's terms."""

    path: str
    slot: str
    spec: ComponentSpec
    group: int
    first: int
    last: int
    dims: Mapping[str, Tree]
    copies: Tree = 1


class Seam(NamedTuple):
    """Where a stream must keep its shape: the node that enters the layers and the one that leaves them."""

    stream: str
    enters: int
    leaves: int
    where: str


class Graph(NamedTuple):
    """The whole model in one phase."""

    phase: str
    nodes: tuple[Node, ...]
    groups: tuple[Group, ...]
    instances: tuple[Instance, ...]
    seams: tuple[Seam, ...]
    overrides: frozenset[int]  # overrides of the storage that decided somewhere
