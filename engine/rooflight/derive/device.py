"""What one GPU of a plan holds and moves: read from the layouts of the same walk, never from divided dims."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.derive.storage import stands_with, stored_tensors, tensor_bytes
from rooflight.derive.traffic import read_shares
from rooflight.expr import Value, cmp_, div, max_, prod, total, where
from rooflight.layout import REPEATS
from rooflight.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rooflight.analysis import Analysis
    from rooflight.layout import Group
    from rooflight.walk import Program, Transfer


class Collective(NamedTuple):
    """One collective of one copy of a layer: local bytes it works on, and bytes each GPU sends."""

    kind: str
    group: Group
    node: str
    gpus: Value
    bytes: Value
    sent: Value
    entry: bool  # once where a stack is entered, not in every layer


class Device(NamedTuple):
    """One GPU's part of every node, in walking order; figures are of one copy, as in Analysis."""

    layouts: tuple[str, ...]
    shape: tuple[tuple[Value, ...], ...]
    matmul: tuple[Value, ...]
    other: tuple[Value, ...]
    stored_bytes: tuple[Value, ...]
    tied_bytes: tuple[Value, ...]  # what nodes behind the layers store whose weight stands before them, once a weight
    weight_bytes: tuple[Value, ...]
    activation_bytes: tuple[Value, ...]
    kv_bytes: tuple[Value, ...]
    written_bytes: tuple[Value, ...]
    cache_bytes: tuple[Value, ...]  # kept of all sequences of the step
    copies: tuple[Value, ...]  # in one layer
    collectives: tuple[tuple[Collective, ...], ...]  # before each node runs
    ends: tuple[Collective, ...]  # after the last


def device(program: Program, analysis: Analysis, binding: Mapping[str, Value]) -> Device:
    """Walk a sharded program and read one GPU's part. `analysis` is the same walk's tables."""
    values = walk(program, binding)
    at = values.__getitem__
    shares = read_shares(analysis, prod([binding[axis] for axis in REPEATS]))
    width_w, width_a, width_kv = binding["b_w"], binding["b_a"], binding["b_kv"]
    stored = [_stored(program, index, at, width_w) for index in range(len(program.steps))]
    local = program.local
    kept = [0 if entry is None else entry.each for entry in analysis.cache.values]

    def collective(transfer: Transfer) -> Collective:
        size = at(transfer.elements) * width_a
        return _collective(transfer, size, binding)

    return Device(
        layouts=tuple(str(step.layout) for step in local),
        shape=tuple(tuple(map(at, step.shape)) for step in local),
        matmul=tuple(at(step.matmul) for step in local),
        other=tuple(at(step.other) for step in local),
        stored_bytes=tuple(
            0 if step.node.tied_to is not None else held for step, held in zip(program.steps, stored, strict=True)
        ),
        tied_bytes=_tied(program, stored),
        weight_bytes=tuple(
            (at(mine.weights_read) * width_w if step.node.op.reads is not None else held) * share
            for step, mine, held, share in zip(program.steps, local, stored, shares, strict=True)
        ),
        activation_bytes=tuple((at(step.read) + at(step.written)) * width_a for step in local),
        kv_bytes=tuple(
            (at(mine.cache_read) + at(mine.cache_written)) * width_kv + at(mine.state_moved) * each
            for mine, each in zip(local, kept, strict=True)
        ),
        written_bytes=tuple(at(step.written) * width_a for step in local),
        cache_bytes=tuple(
            0
            if step.cached is None
            else prod((at(mine.cache_width), at(mine.cache_positions), at(mine.shape[0]), each))
            for step, mine, each in zip(program.steps, local, kept, strict=True)
        ),
        copies=tuple(at(step.copies) for step in local),
        collectives=tuple(tuple(map(collective, step.transfers)) for step in local),
        ends=tuple(map(collective, program.ends)),
    )


def _tied(program: Program, stored: Sequence[Value]) -> tuple[Value, ...]:
    """What a GPU that holds the last layers only stores for tied nodes: a weight once, however many read it."""
    groups = program.graph.groups
    layers = next((at for at, group in enumerate(groups) if group.layers is not None), len(groups))
    nodes = {step.node.id: step.node for step in program.steps}
    held: set[str] = set()
    found: list[Value] = []
    for step, size in zip(program.steps, stored, strict=True):
        owner = step.node
        while owner.tied_to is not None:
            owner = nodes[owner.tied_to]
        apart = owner is not step.node and owner.group < layers and owner.id not in held
        held |= {owner.id} if apart else set()
        found.append(size if apart else 0)
    return tuple(found)


def _collective(transfer: Transfer, size: Value, binding: Mapping[str, Value]) -> Collective:
    """Bytes each GPU sends, by the ring: an all-reduce is a reduce-scatter and an all-gather."""
    kind, group = transfer.kind, transfer.group
    gpus = prod([binding[axis] for axis in group])
    share = div(gpus - 1, gpus)
    sent = size * share * (2 if kind == "all_reduce" else 1)
    return Collective(kind, group, transfer.reader, gpus, size, sent, transfer.entry)


def _stored(program: Program, index: int, at: Callable[[int], Value], width: Value) -> Value:
    step, mine = program.steps[index], program.local[index]
    sums: list[Value] = []
    for weight, slots in mine.stored:
        shape = tuple([at(slot) for slot in slots])
        axes = next(w.axes for w in step.node.op.weights if w.name == weight)
        lengths = {axis[0]: length for axis, length in zip(axes, shape, strict=True) if len(axis) == 1}
        formats = step.node.formats[weight]
        layers = sum(len(one.layers) or 1 for one in formats)
        for one in formats:
            tensors = stored_tensors(one.format, lengths, shape, step.node.dtype)
            kept = [t for t in tensors if stands_with(t, one.format, step.node.id)]
            part = total([tensor_bytes(t, step.node.dtype, width) for t in kept])
            share = len(one.layers) or 1
            sums.append(part if share == layers else part * div(share, layers))
    return total(sums)


def peak_activations(program: Program, held: Device) -> Value:
    """Return the most bytes of activations that live at once: from where a tensor is written to its last reader.

    A view lives as long as what it looks at is needed; what stays on the chip or goes to the cache takes no room;
    what a gather brings lives while its reader runs.
    """
    steps = program.steps
    owner: list[int] = []
    for index, step in enumerate(steps):
        first = step.node.inputs[0] if step.node.inputs else -1
        owner.append(owner[first] if step.node.op.view and step.cached is None and first >= 0 else index)
    last = list(range(len(steps)))
    for index, step in enumerate(steps):
        for source in step.node.inputs:
            if source >= 0:
                last[owner[source]] = max(last[owner[source]], index)
    size = [written * copies for written, copies in zip(held.written_bytes, held.copies, strict=True)]
    peak: Value = 0
    for now in range(len(steps)):
        live = [size[index] for index in range(now + 1) if owner[index] == index and last[index] >= now]
        brought = [
            where(cmp_(">", c.gpus, 1), c.bytes, 0)  # among one GPU nothing is gathered
            for c in held.collectives[now]
            if c.kind in ("all_gather", "all_to_all")
        ]
        peak = max_(peak, total((*live, *brought)))
    return peak
