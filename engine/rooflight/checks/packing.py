"""Packing guard: each tensor has the dtype and shape its format gives it, and every override decides something.

Two packing errors can cancel in the bytes; they cannot cancel here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding, from_error
from rooflight.checks.subject import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "packing"
_SHOWN = 12


def packing(subject: Subject) -> Iterator[Finding]:
    """Compare dtypes and shapes, and look for storage settings that nothing follows."""
    storage = subject.model.storage
    if storage.refused is not None:
        yield from_error(storage.refused, GUARD)
    for index, override in enumerate(storage.overrides):
        if index not in subject.programs["prefill"].graph.overrides:
            yield Finding(
                "override-unused",
                GUARD,
                True,
                override.where,
                "weights that the override decides",
                f"{override.what} fits none",
                "correct the role or pattern, or remove the override",
            )
    if subject.stored is None:
        return
    shown = 0
    for row in (*subject.claims, *subject.allowed.values()):
        for name in names_of(row):
            stored = subject.stored.get(name)
            if stored is None or (stored.dtype == row.dtype and stored.shape == row.shape):
                continue
            shown += 1
            if shown > _SHOWN:
                return
            yield Finding(
                "tensor-packing",
                GUARD,
                True,
                name,
                f"{stored.dtype} {list(stored.shape)}",
                f"{row.dtype} {list(row.shape)}, from {row.node or 'a buffer'}",
                "correct the format in specs/quant, checkpoint.dtypes, or the axes of the op",
            )
