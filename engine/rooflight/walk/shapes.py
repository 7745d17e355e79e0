"""Meets an op's axes line with the shapes that come in: which length each name has, and what must be equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rooflight.dims import LEADING
from rooflight.expr import print_tree
from rooflight.values import SpecError
from rooflight.walk.program import Check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.dims import Axes, Axis
    from rooflight.graph import Node
    from rooflight.walk.code import Code, Slot

Shape = tuple["Slot", ...]


class Operand(NamedTuple):
    """One input of a node: its name in the axes line, its axes, what comes, and who gives it."""

    name: str
    axes: Axes
    shape: Shape
    giver: str


@dataclass(slots=True)
class Matched:
    """Lengths by axis name, and the leading axes."""

    lengths: dict[str, Slot]
    leading: Shape = ()


@dataclass(slots=True)
class Shapes:
    """The code that lengths are slots of, and every pair of lengths that must be one."""

    code: Code
    checks: list[Check] = field(default_factory=list[Check])

    def picked_share(self, picks: Slot) -> Slot:
        """Return the share of all held positions that a step's queries pick together, each its own."""
        held, new = self.code.symbol("s_kv"), self.code.symbol("s_q")
        return self.code.call("/", self.code.call("min", held, self.code.product([picks, new])), held)

    def match(self, node: Node, operands: Sequence[Operand], dims: Mapping[str, Slot] | None = None) -> Matched:
        """Find the length of every name of the inputs. Raises SpecError where the number of axes cannot fit.

        dims are the lengths of the names that the node declares, where not as it declares them.
        """
        found = Matched(dict(dims or {name: self.code.lower(tree, {}) for name, tree in node.dims.items()}))
        merged: list[tuple[Axis, Slot, Operand]] = []
        derived = node.op.lengths
        brought = False
        for operand in operands:
            axes, shape = operand.axes, operand.shape
            if axes[:1] == (LEADING,):
                spare = len(shape) - len(axes) + 1
                self._fit(node, operand, fits=spare >= 0)
                self._lead(node, operand, shape[:spare], found, brought=brought)
                axes, shape, brought = axes[1:], shape[spare:], True
            self._fit(node, operand, fits=len(axes) == len(shape))
            for axis, length in zip(axes, shape, strict=True):
                if len(axis) > 1 or (axis and axis[0] in derived):
                    merged.append((axis, length, operand))
                elif axis and axis[0] not in found.lengths:
                    found.lengths[axis[0]] = length
                else:
                    want = found.lengths[axis[0]] if axis else self.code.constant(1)
                    self._same(node, operand, want, length, axis)
        names = {**found.lengths, "rows": self.code.product(found.leading)}
        for axis, length, operand in merged:
            if axis[0] in derived:
                want = self.code.lower(derived[axis[0]], names)
                self._same(node, operand, want, length, axis)
            else:
                self._unmerge(node, operand, axis, length, found)
        found.lengths |= {name: self.code.lower(tree, names) for name, tree in derived.items()}
        return found

    def of(self, axes: Axes, found: Matched) -> Shape:
        """Return the shape of axes whose names are all known."""
        shape: list[Slot] = []
        for axis in axes:
            shape += found.leading if axis == LEADING else [self.code.product([found.lengths[name] for name in axis])]
        return tuple(shape)

    def check(self, check: Check) -> None:
        """Note a pair of lengths; the same slot needs no proof."""
        if check.want != check.have:
            self.checks.append(check)

    def _lead(self, node: Node, operand: Operand, mine: Shape, found: Matched, *, brought: bool) -> None:
        if not brought:
            found.leading = mine
            return
        self._fit(node, operand, fits=len(mine) == len(found.leading))
        for want, have in zip(found.leading, mine, strict=True):
            self._same(node, operand, want, have, ())

    def _unmerge(self, node: Node, operand: Operand, axis: Axis, length: Slot, found: Matched) -> None:
        """Compare a merged axis with its parts, or find the one part that is not known yet."""
        unknown = [name for name in axis if name not in found.lengths]
        if len(unknown) > 1:
            raise SpecError(
                "axes-undetermined",
                node.where,
                f"lengths for all but one of {', '.join(axis)}",
                f"{', '.join(unknown)} unknown",
                "give the lengths in dims",
            )
        rest = self.code.product([found.lengths[name] for name in axis if name in found.lengths])
        if unknown:
            found.lengths[unknown[0]] = self.code.call("/", length, rest)
        else:
            self._same(node, operand, rest, length, axis)

    def _same(self, node: Node, operand: Operand, want: Slot, have: Slot, axis: Axis) -> None:
        names = " · ".join(axis) or operand.name
        given = next((name for name in axis if name in node.dims), None)
        fix = f"read another node than {operand.giver}"
        if given is not None:
            fix += f", or correct dims.{given} ({print_tree(node.dims[given])})"
        self.check(Check(want, have, "axis-mismatch", f"{node.where}.{names}", f", from {operand.giver}", fix))

    def _fit(self, node: Node, operand: Operand, *, fits: bool) -> None:
        if not fits:
            raise SpecError(
                "rank-mismatch",
                f"{node.where}.{operand.name}",
                f"{node.op.name}: {node.op.axes}",
                f"{len(operand.shape)} axes, from {operand.giver}",
                f"split, merge or select axes of {operand.giver} first",
            )
