"""What one walk decided: tables keyed by node id. Anything that follows from them is a function in derive/."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.analysis.table import Table
from rooflight.expr import div
from rooflight.values import BITS
from rooflight.walk import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.expr import Value
    from rooflight.graph import Kept
    from rooflight.walk import Program


class CacheFact(NamedTuple):
    """What one copy of a node keeps of one sequence."""

    kind: str
    growth: str
    width: Value  # elements per position, or of the whole state
    positions: Value  # positions held at the end of the step
    window: Value | None  # where the positions stop growing
    each: Value  # bytes of one element


class Analysis(NamedTuple):
    """One walk's facts. Figures are of one copy of a node, for the whole batch, over all GPUs.

    shape, role, op       what the node is
    matmul, other         FLOPs
    params                learned elements stored for the node itself
    stored                (tensor, shape) of every weight, a tied one included
    weights_read, read, written, cache_read, cache_written, state_moved    elements moved in the step
    cache                 what stays between steps, None for most nodes
    copies, active        how many copies of the node the model holds, and how many work on one token
    attended              elements per position that attention reads as keys or values, 0 for other nodes
    """

    program: Program
    binding: Mapping[str, Value]
    shape: Table[tuple[Value, ...]]
    role: Table[str]
    matmul: Table[Value]
    other: Table[Value]
    params: Table[Value]
    stored: Table[tuple[tuple[str, tuple[Value, ...]], ...]]
    weights_read: Table[Value]
    read: Table[Value]
    written: Table[Value]
    cache_read: Table[Value]
    cache_written: Table[Value]
    state_moved: Table[Value]
    cache: Table[CacheFact | None]
    attended: Table[Value]
    copies: Table[Value]
    active: Table[Value]
    inner: Table[tuple[Value, Value]]  # the same two within one layer
    group_copies: tuple[Value, ...]  # by group index


def kept_width(kept: Kept, binding: Mapping[str, Value]) -> Value:
    """Return the bytes of one element that is kept: a state without a dtype of its own is kept as activations are."""
    if kept.dtype is not None:
        return div(BITS[kept.dtype], 8)
    return binding["b_a"] if kept.constant else binding["b_kv"]


def evaluate(program: Program, binding: Mapping[str, Value]) -> Analysis:
    """Walk once with whatever is bound and lay the result out as tables."""
    values = walk(program, binding)
    steps = program.steps
    index = {step.node.id: at for at, step in enumerate(steps)}

    def column(name: str, slots: Sequence[int]) -> Table[Value]:
        return Table(name, [values[slot] for slot in slots], index)

    return Analysis(
        program=program,
        binding=binding,
        shape=Table("shape", [tuple([values[slot] for slot in step.shape]) for step in steps], index),
        role=Table("role", [step.node.role for step in steps], index),
        matmul=column("matmul", [step.matmul for step in steps]),
        other=column("other", [step.other for step in steps]),
        params=column("params", [step.params for step in steps]),
        stored=Table(
            "stored",
            [tuple([(w.name, tuple([values[slot] for slot in w.shape])) for w in step.stored]) for step in steps],
            index,
        ),
        weights_read=column("weights_read", [step.weights_read for step in steps]),
        read=column("read", [step.read for step in steps]),
        written=column("written", [step.written for step in steps]),
        cache_read=column("cache_read", [step.cache_read for step in steps]),
        cache_written=column("cache_written", [step.cache_written for step in steps]),
        state_moved=column("state_moved", [step.state_moved for step in steps]),
        cache=Table(
            "cache",
            [
                None
                if step.cached is None
                else CacheFact(
                    step.cached.kept.kind,
                    step.cached.kept.growth,
                    values[step.cached.width],
                    values[step.cached.positions],
                    None if step.cached.window is None else values[step.cached.window],
                    kept_width(step.cached.kept, binding),
                )
                for step in steps
            ],
            index,
        ),
        attended=column("attended", [step.attended for step in steps]),
        copies=Table("copies", [values[program.counts[s.node.group]] * values[s.copies] for s in steps], index),
        active=Table("active", [values[program.counts[s.node.group]] * values[s.active] for s in steps], index),
        inner=Table("inner", [(values[s.copies], values[s.active]) for s in steps], index),
        group_copies=tuple(values[slot] for slot in program.counts),
    )
