"""A Program is everything about a model in one phase that no number changes: order, shapes, what each node needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rooflight.expr import Value
    from rooflight.graph import Graph, Kept, Node
    from rooflight.walk.code import Slot
    from rooflight.walk.shard import LocalStep, Transfer


class Stored(NamedTuple):
    """One weight tensor of one copy: its name, the slots of its axes, and of its elements."""

    name: str
    shape: tuple[Slot, ...]
    elements: Slot


class Cached(NamedTuple):
    """What the cache keeps of one copy: elements per position of one sequence, and positions it holds at the end.

    A state has no positions: its width is all of it, held once.
    """

    kept: Kept
    width: Slot
    positions: Slot
    window: Slot | None  # where the positions stop growing, None where they do not


class Step(NamedTuple):
    """One node of the walk. Every number is a slot; figures are of one copy.

    copies, active   of the node in one layer: all of them, and those that work on one token
    read, written   activation elements that cross the kernel's boundary
    cache_read, cache_written   cached elements read and written
    state_moved   elements of the op's own state, read and written
    attended   elements per position of the keys (or values) that attention reads, each shown head once; else 0
    """

    node: Node
    shape: tuple[Slot, ...]
    matmul: Slot
    other: Slot
    stored: tuple[Stored, ...]
    params: Slot  # stored elements; 0 where the weight is another node's
    weights_read: Slot
    read: Slot
    written: Slot
    cache_read: Slot
    cache_written: Slot
    state_moved: Slot
    cached: Cached | None
    attended: Slot
    pairs: Slot | None  # (query, key) pairs of one head and sequence
    copies: Slot
    active: Slot


class Check(NamedTuple):
    """Two lengths that must be one, and the repair order for when they are not; `source` ends the "got" line."""

    want: Slot
    have: Slot
    code: str
    where: str
    source: str
    fix: str


class Program(NamedTuple):
    """Steps in walking order over one piece of straight-line code.

    symbols  names to bind, by slot
    start    every slot with its constant, None where it is bound or computed
    run      (slot, function, argument slots), in order
    counts   the slot of each group's number of copies
    """

    graph: Graph
    counting: Counting
    symbols: Mapping[str, Slot]
    start: tuple[int | None, ...]
    run: tuple[tuple[Slot, Callable[..., Value], tuple[Slot, ...]], ...]
    steps: tuple[Step, ...]
    counts: tuple[Slot, ...]
    checks: tuple[Check, ...]
    invariants: tuple[Check, ...]
    local: tuple[LocalStep, ...] = ()  # one GPU's part of every step, where the program was sharded
    ends: tuple[Transfer, ...] = ()  # what brings the outputs together after the last step


class Counting(NamedTuple):
    """What is counted where engines differ; docs/counting.md explains each.

    attention  exact: only pairs the mask lets through; square: every query with every visible key
    head       last: logits for the last position of each sequence in prefill; all: for every new position
    decode     variant: components compute decode as their decode variant does; same: as in prefill
    """

    attention: str = "exact"
    head: str = "last"
    decode: str = "variant"


LEGAL_COUNTING: dict[str, tuple[str, ...]] = {
    "attention": ("exact", "square"),
    "head": ("last", "all"),
    "decode": ("variant", "same"),
}
