"""Weight guard: every stored tensor is claimed once, every claim is stored, elements and bytes agree."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding
from rooflight.truth import expand
from rooflight.values import BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rooflight.checks.subject import Subject
    from rooflight.derive import TensorRow
    from rooflight.truth import Row

GUARD = "weight"


def weight(subject: Subject) -> Iterator[Finding]:
    """Compare names, elements and bytes, tensor by tensor, then the whole payload.

    A wrong width shows in every layer: what one row of names has in common is one finding.
    """
    stored = subject.stored
    if stored is None:
        return
    claimed: dict[str, TensorRow] = {}
    for row, names in subject.named_claims:
        twice = [name for name in names if name in claimed]
        if twice:
            got = f"{claimed[twice[0]].node} and {row.node}"
            yield _finding("tensor-claimed-twice", twice, "one node per tensor", got, "correct checkpoint.modules")
        claimed.update(dict.fromkeys(names, row))
    for row, names in subject.named_claims:
        missing = [name for name in names if name not in stored]
        if missing:
            fix = "correct checkpoint.modules, or remove the node"
            yield _finding("tensor-missing", missing, f"a stored tensor for {row.node}", "none", fix)
    allowed = {name: row for row, names in subject.named_allowed for name in names}
    for pattern in subject.rows or ():
        unclaimed = [one.name for one in expand((pattern,), subject.model.id)]
        unclaimed = [name for name in unclaimed if name not in claimed and name not in allowed]
        if unclaimed:
            fix = "add the node that stores it, or map its name in checkpoint.modules"
            got = f"none; it is {pattern.dtype} {list(pattern.shape)}"
            yield _finding("tensor-unclaimed", unclaimed, "a node that claims it", got, fix)
    for row, names in (*subject.named_allowed, *subject.named_claims):
        yield from _sizes(row, names, stored)
    mine = _bytes(claimed.values())
    mine += _bytes(row for name, row in allowed.items() if name in stored and name not in claimed)
    theirs = _bytes(stored.values())
    if mine != theirs:
        yield Finding(
            "payload-bytes",
            GUARD,
            True,
            "checkpoint",
            f"{theirs:,} bytes",
            f"{mine:,} bytes ({mine - theirs:+,})",
            "other findings say where they differ",
        )


def _sizes(row: TensorRow, names: Sequence[str], stored: Mapping[str, Row]) -> Iterator[Finding]:
    mine = prod(row.shape)
    wrong = [name for name in names if name in stored and prod(stored[name].shape) != mine]
    if wrong:
        shape = stored[wrong[0]].shape
        yield _finding(
            "tensor-elements",
            wrong,
            f"{prod(shape):,} elements, {list(shape)}",
            f"{mine:,}, {list(row.shape)}, from {row.node or 'a buffer'}",
            "correct the widths of the node",
        )


def _bytes(rows: Iterable[TensorRow | Row]) -> int:
    return sum(prod(row.shape) * BITS[row.dtype] // 8 for row in rows)


def _finding(code: str, names: Sequence[str], expected: str, got: str, fix: str) -> Finding:
    return Finding(code, GUARD, True, first_of(names), expected, got, fix)


def first_of(names: Sequence[str]) -> str:
    """Return the first of some tensors, and how many more there are."""
    more = len(names) - 1
    return names[0] + (f" and {more:,} more" if more else "")
