"""Weight guard: every stored tensor is claimed once, every claim is stored, elements and bytes agree."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding
from rooflight.checks.subject import names_of
from rooflight.values import BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject
    from rooflight.derive import TensorRow

GUARD = "weight"
_SHOWN = 12  # findings of one kind; a wrong width shows in every layer


def weight(subject: Subject) -> Iterator[Finding]:
    """Compare names, elements and bytes, tensor by tensor, then the whole payload."""
    if subject.stored is None:
        return
    claimed: dict[str, TensorRow] = {}
    twice = 0
    for row in subject.claims:
        for name in names_of(row):
            if name in claimed and twice < _SHOWN:
                twice += 1
                yield _finding(
                    "tensor-claimed-twice",
                    name,
                    "one node per tensor",
                    f"{claimed[name].node} and {row.node}",
                    "correct checkpoint.modules",
                )
            claimed[name] = row
    allowed = {name: row for row in subject.allowed.values() for name in names_of(row)}
    missing = [name for name in claimed if name not in subject.stored]
    for name in missing[:_SHOWN]:
        yield _finding(
            "tensor-missing",
            name,
            f"a stored tensor for {claimed[name].node}",
            _more(missing),
            "correct checkpoint.modules, or remove the node",
        )
    unclaimed = [name for name in subject.stored if name not in claimed and name not in allowed]
    for name in unclaimed[:_SHOWN]:
        row = subject.stored[name]
        yield _finding(
            "tensor-unclaimed",
            name,
            "a node that claims it",
            f"{row.dtype} {list(row.shape)}; {_more(unclaimed)}",
            "add the node that stores it, or map its name in checkpoint.modules",
        )
    wrong = [
        (name, row, subject.stored[name])
        for name, row in {**allowed, **claimed}.items()
        if name in subject.stored and prod(row.shape) != prod(subject.stored[name].shape)
    ]
    for name, row, stored in wrong[:_SHOWN]:
        yield _finding(
            "tensor-elements",
            name,
            f"{prod(stored.shape):,} elements, {list(stored.shape)}",
            f"{prod(row.shape):,}, {list(row.shape)}, from {row.node or 'a buffer'}",
            "correct the widths of the node",
        )
    mine = sum(prod(row.shape) * BITS[row.dtype] // 8 for row in claimed.values())
    mine += sum(prod(row.shape) * BITS[row.dtype] // 8 for name, row in allowed.items() if name in subject.stored)
    theirs = sum(prod(row.shape) * BITS[row.dtype] // 8 for row in subject.stored.values())
    if mine != theirs:
        yield _finding(
            "payload-bytes",
            "checkpoint",
            f"{theirs:,} bytes",
            f"{mine:,} bytes ({mine - theirs:+,})",
            "the tensors above say where they differ",
        )


def _more(names: list[str]) -> str:
    return "none" if len(names) == 1 else f"none, nor for {len(names) - 1:,} others"


def _finding(code: str, where: str, expected: str, got: str, fix: str) -> Finding:
    return Finding(code, GUARD, True, where, expected, got, fix)
