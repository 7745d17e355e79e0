"""Sums over nodes that keep their form: copies of a layer times what one layer holds, one kind of layer at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.expr import named, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rooflight.analysis import Analysis
    from rooflight.expr import Value


def summed(
    analysis: Analysis,
    label: str,
    column: Sequence[Value],
    keep: Callable[[int], bool] | None = None,
    *,
    active: bool = False,
) -> Value:
    """Return Σ over groups of layers × the layer's own sum, over the nodes `keep` accepts by index.

    `column` holds figures of one copy; `active` counts the copies that work on one token instead of all. A formula
    names each group's sum `<label>_<group>` and stays a sum: n_dense·flops_dense + n_moe·flops_moe.
    """
    steps = analysis.program.steps
    parts: dict[int, list[Value]] = {}
    inner = analysis.inner.values
    for index, value in enumerate(column):
        if keep is None or keep(index):
            parts.setdefault(steps[index].node.group, []).append(value * inner[index][active])
    return total([_group(analysis, label, group, values) for group, values in parts.items()])


def _group(analysis: Analysis, label: str, group: int, values: list[Value]) -> Value:
    kinds = analysis.program.graph.groups[group]
    inner = total(values)
    if kinds.layers is None and sum(1 for value in values if type(value) is not int) <= 1:
        return inner  # one term that stands alone needs no name
    return analysis.group_copies[group] * named(f"{label}_{kinds.name.replace('.', '_')}", inner)
