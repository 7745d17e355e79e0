"""Sums over the rows of a tensor list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from rooflight.truth.rows import KINDS, ROLES, STRENGTHS, Row


def values_by_kind(rows: Sequence[Row]) -> Counter[str]:
    """Return how many values each kind of row holds, packed ones unpacked."""
    held: Counter[str] = Counter()
    for row in rows:
        held[row.kind] += row.values
    return held


def totals(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the totals of tensors.json."""
    held = values_by_kind(rows)
    found: dict[str, Any] = {
        "tensors": sum(row.copies for row in rows),
        "elements": sum(row.elements for row in rows),
        "bytes": sum(row.bytes for row in rows),
        "parameters": held["parameter"],
        "extras": {role: held[role] for role in ROLES if held[role]},
    }
    if held["mtp"]:
        found["mtp"] = held["mtp"]
    return found


def weakest(rows: Sequence[Row]) -> str:
    """Return the weakest strength among the rows that hold parameters, or among all where none does."""
    order = list(STRENGTHS)
    holding = [row for row in rows if not row.role] or rows
    return max((row.strength for row in holding), key=order.index)


def kinds_that_make(total: int, rows: Sequence[Row]) -> tuple[str, ...] | None:
    """Return the fewest kinds of rows whose values add up to a published total, or None where none do."""
    held = values_by_kind(rows)
    present = [kind for kind in KINDS if held[kind]]
    for size in range(1, len(present) + 1):
        for kinds in combinations(present, size):
            if sum(held[kind] for kind in kinds) == total:
                return kinds
    return None
