"""Packing guard: each tensor has the dtype and shape its format gives it, and every override decides something.

Two packing errors can cancel in the bytes; they cannot cancel here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding, from_error
from rooflight.checks.weight import first_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "packing"


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
    stored = subject.stored
    for row, names in (*subject.named_claims, *subject.named_allowed):
        wrong = [
            name
            for name in names
            if name in stored and (stored[name].dtype != row.dtype or stored[name].shape != row.shape)
        ]
        if wrong:
            held = stored[wrong[0]]
            yield Finding(
                "tensor-packing",
                GUARD,
                True,
                first_of(wrong),
                f"{held.dtype} {list(held.shape)}",
                f"{row.dtype} {list(row.shape)}, from {row.node or 'a buffer'}",
                "correct the format in specs/quant, checkpoint.dtypes, or the axes of the op",
            )
