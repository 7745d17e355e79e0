"""The one place where weights become bytes: a shape and a format give the tensors a checkpoint stores for a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.expr import div, evaluate_tree, prod, total
from rooflight.values import BITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.analysis import Analysis
    from rooflight.expr import Value
    from rooflight.spec import Format


_MATRIX = ("out", "in")


class StoredTensor(NamedTuple):
    """One tensor of one weight. `suffix` follows the module's name, or the weight's own where it is None."""

    suffix: str | None
    dtype: str
    shape: tuple[Value, ...]
    role: str


def stored_tensors(
    stored: Format, axes: Mapping[str, Value], shape: tuple[Value, ...], dtype: str
) -> tuple[StoredTensor, ...]:
    """Return what a checkpoint of dtype `dtype` stores for one copy of a weight.

    A scheme speaks of one matrix, [out in]; a weight with further axes, e.g. heads, is so many matrices.
    """
    if not stored.rules:
        return (StoredTensor(None, stored.weight, shape, "weight"),)
    known = {**axes, **stored.numbers}
    matrices = tuple([length for name, length in axes.items() if name not in _MATRIX])
    return tuple(
        StoredTensor(
            rule.suffix,
            dtype if rule.dtype == "model" else rule.dtype,
            (*matrices, *[evaluate_tree(axis, known.__getitem__) for axis in rule.shape]),
            rule.role,
        )
        for rule in stored.rules
    )


def tensor_bytes(tensor: StoredTensor, dtype: str, width: Value) -> Value:
    """Return the bytes of one tensor; `width` is the symbol or number for bytes of the checkpoint's own dtype."""
    each = width if tensor.dtype == dtype else div(BITS[tensor.dtype], 8)
    return prod((*tensor.shape, each))


def weight_axes(analysis: Analysis, index: int, weight: str) -> dict[str, Value]:
    """Return the axis lengths of a weight by name."""
    node = analysis.program.steps[index].node
    axes = next(w.axes for w in node.op.weights if w.name == weight)
    shape = dict(analysis.stored.values[index])[weight]
    return {axis[0]: length for axis, length in zip(axes, shape, strict=True) if len(axis) == 1}


def copy_bytes(analysis: Analysis, index: int) -> Value:
    """Return the bytes that one copy of a node's weights takes, on average over layers of different formats."""
    step = analysis.program.steps[index]
    width, dtype = analysis.binding["b_w"], step.node.dtype
    sums: list[Value] = []
    for weight, shape in analysis.stored.values[index]:
        formats = step.node.formats[weight]
        layers = sum(len(stored.layers) or 1 for stored in formats)
        axes = weight_axes(analysis, index, weight)
        for stored in formats:
            tensors = stored_tensors(stored.format, axes, shape, dtype)
            mine = [tensor for tensor in tensors if stands_with(tensor, stored.format, step.node.id)]
            part = total([tensor_bytes(tensor, dtype, width) for tensor in mine])
            share = len(stored.layers) or 1
            sums.append(part if share == layers else part * div(share, layers))
    return total(sums)


def stands_with(tensor: StoredTensor, stored: Format, node: str) -> bool:
    """Say whether a node has a tensor of its format: some, such as cache scales, stand with one module only."""
    rule = next((r for r in stored.rules if r.suffix == tensor.suffix), None)
    return rule is None or not rule.only or node.rpartition(".")[2] in rule.only
