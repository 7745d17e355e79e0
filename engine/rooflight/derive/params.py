"""Learned elements: counted where they are stored, a tied table once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.derive.totals import summed

if TYPE_CHECKING:
    from rooflight.analysis import Analysis
    from rooflight.expr import Value


def params_total(analysis: Analysis) -> Value:
    """All learned elements of the main model."""
    return summed(analysis, "params", analysis.params.values)


def params_active(analysis: Analysis) -> Value:
    """Learned elements that work on one token: all of them while every op uses its whole weight."""
    return params_total(analysis)


def params_of_role(analysis: Analysis, role: str) -> Value:
    """Learned elements of the nodes of one role."""
    roles = analysis.role.values
    return summed(analysis, f"params_{role}", analysis.params.values, lambda index: roles[index] == role)


def params_by_role(analysis: Analysis) -> dict[str, Value]:
    """Learned elements by role, largest shares of a model told apart; roles that store nothing are left out."""
    found = {
        role: params_of_role(analysis, role)
        for role in dict.fromkeys(analysis.role.values)
        if any(r == role and step.stored for r, step in zip(analysis.role.values, analysis.program.steps, strict=True))
    }
    return {role: value for role, value in found.items() if not (type(value) is int and value == 0)}


def stored_bytes(analysis: Analysis) -> list[Value]:
    """Bytes each node's own weights take in the checkpoint, one copy."""
    width = analysis.binding["b_w"]
    return [params * width for params in analysis.params.values]
