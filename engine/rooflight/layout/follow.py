"""How sharding follows an op's axes: what each operand must look like, and what the output then is.

The line that gives an op its shape gives it its sharding: an axis carried over keeps its cut, of an axis that splits
the outermost part is cut, merged axes are cut where their outermost part was, and a cut along a contracted axis leaves
a partial sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rooflight.dims import LEADING
from rooflight.layout.layout import Layout
from rooflight.layout.mesh import Group

if TYPE_CHECKING:
    from rooflight.dims import Axes
    from rooflight.ops import Op


class Flow(NamedTuple):
    """What an op asks of its operands, and what it gives."""

    wants: tuple[Layout, ...]
    output: Layout
    names: Mapping[str, Group]  # the cut of every axis name
    leading: tuple[Group, ...]


def follow(op: Op, operands: Sequence[Layout], declared: Mapping[str, Group]) -> Flow:
    """Return the flow of one op. `declared` are the cuts of names that weights or the dims table decide."""
    names: dict[str, Group] = {}
    leading: tuple[Group, ...] | None = None
    used: set[str] = set()
    # Of merged axes the outermost is cut: without a part of an inner one a GPU would hold no block of the whole.
    whole = {*op.whole, *(name for axes in (*op.map.inputs, op.map.output) for axis in axes for name in axis[1:])}

    def take(cut: Group) -> Group:
        """A mesh axis cuts one axis of an op only; who comes second goes without."""
        mine = tuple(axis for axis in cut if axis not in used)
        used.update(mine)
        return mine

    for name, cut in declared.items():
        if name not in op.carries:
            names[name] = () if name in whole else take(cut)
    split = [_split(axes, layout) for axes, layout in zip(op.map.inputs, operands, strict=True)]
    for axes, (front, cuts) in zip(op.map.inputs, split, strict=True):
        if axes[:1] == (LEADING,) and leading is None:
            leading = tuple(take(cut) for cut in front)
        for axis, cut in zip(_named(axes), cuts, strict=True):
            if axis and axis[0] not in names:
                names[axis[0]] = () if axis[0] in whole else take(cut)
    front = leading or ()
    names |= {name: names.get(source, ()) for name, source in op.carries.items()}
    partial = _partial(op, operands, names, front)
    wants = tuple(
        Layout(
            (*(front if axes[:1] == (LEADING,) else ()), *(names[a[0]] if a else () for a in _named(axes))),
            partial.wants[i],
        )
        for i, axes in enumerate(op.map.inputs)
    )
    output = Layout(
        tuple(cut for axis in op.map.output for cut in (front if axis == LEADING else [_cut(axis, names)])),
        partial.output,
    )
    return Flow(wants, output, names, front)


class _Owed(NamedTuple):
    wants: tuple[frozenset[str], ...]
    output: frozenset[str]


def _partial(op: Op, operands: Sequence[Layout], names: Mapping[str, Group], front: tuple[Group, ...]) -> _Owed:
    """Sums that stay owed: an op linear in its operands passes them on, and contracted cuts add to them."""
    given = {name for axis in op.map.output for name in axis}
    brought = {name for axes in op.map.inputs for axis in axes for name in axis if axis != LEADING}
    weights = {name for weight in op.weights for axis in weight.axes for name in axis}
    contracted = {
        axis for name in (brought | weights) - given - set(op.carries.values()) for axis in names.get(name, ())
    }
    busy = {axis for cut in (*names.values(), *front) for axis in cut}
    owed = [layout.partial - busy for layout in operands]
    if not op.additive:
        return _Owed(tuple(frozenset[str]() for _ in operands), frozenset(contracted))
    if len(operands) > 1 and not all(owed):
        # A whole value beside a partial one: the sum is paid now, or the trunk would carry the debt on.
        return _Owed(tuple(frozenset[str]() for _ in operands), frozenset(contracted))
    passed = frozenset(axis for mine in owed for axis in mine)
    return _Owed(tuple(passed for _ in operands), passed | frozenset(contracted))


def _split(axes: Axes, layout: Layout) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """Part a layout into the cuts of the leading axes and those of the named ones."""
    count = len(_named(axes))
    return layout.cuts[: len(layout.cuts) - count], layout.cuts[len(layout.cuts) - count :]


def _named(axes: Axes) -> Axes:
    return axes[1:] if axes[:1] == (LEADING,) else axes


def _cut(axis: tuple[str, ...], names: Mapping[str, Group]) -> Group:
    return names.get(axis[0], ()) if axis else ()
