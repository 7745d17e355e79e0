"""Learned elements: counted where they are stored, a tied table once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.derive.storage import copy_bytes
from rooflight.derive.totals import summed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.analysis import Analysis
    from rooflight.expr import Value


def params_total(analysis: Analysis) -> Value:
    """All learned elements of the main model, draft heads apart."""
    return summed(analysis, "params", analysis.params.values, _of_part(analysis, "main"))


def params_draft(analysis: Analysis) -> Value:
    """Learned elements of the draft heads, their own copies of embedding and head included, as stored."""
    return summed(analysis, "params", analysis.params.values, _of_part(analysis, "draft"))


def _of_part(analysis: Analysis, part: str) -> Callable[[int], bool]:
    steps, groups = analysis.program.steps, analysis.program.graph.groups
    return lambda index: groups[steps[index].node.group].part == part


def params_active(analysis: Analysis) -> Value:
    """Learned elements that work on one token: of routed experts only the chosen ones."""
    return summed(analysis, "active", analysis.params.values, _of_part(analysis, "main"), active=True)


def params_of_role(analysis: Analysis, role: str) -> Value:
    """Learned elements of the nodes of one role."""
    roles, main = analysis.role.values, _of_part(analysis, "main")

    def keep(index: int) -> bool:
        return roles[index] == role and main(index)

    return summed(analysis, f"params_{role}", analysis.params.values, keep)


def params_by_role(analysis: Analysis) -> dict[str, Value]:
    """Learned elements by role, largest shares of a model told apart; roles that store nothing are left out."""
    found = {
        role: params_of_role(analysis, role)
        for role in dict.fromkeys(analysis.role.values)
        if any(r == role and step.stored for r, step in zip(analysis.role.values, analysis.program.steps, strict=True))
    }
    return {role: value for role, value in found.items() if not (type(value) is int and value == 0)}


def stored_bytes(analysis: Analysis) -> list[Value]:
    """Bytes each node's own weights take in the checkpoint, scales included, one copy."""
    return [
        0 if step.node.tied_to is not None else copy_bytes(analysis, index)
        for index, step in enumerate(analysis.program.steps)
    ]
