"""The tensors a checkpoint of a model holds, by the names its files use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rooflight.expr import evaluate_tree
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.analysis import Analysis
    from rooflight.graph import Group, Node
    from rooflight.spec import Model


@dataclass(frozen=True, slots=True)
class TensorRow:
    """Tensors that differ only in their layer: `model.layers.{0-31}.mlp.up_proj.weight`, 32 of them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    count: int
    node: str


def tensor_rows(model: Model, analysis: Analysis) -> tuple[TensorRow, ...]:
    """Return every stored parameter tensor, in walking order. SpecError for a weight the spec gives no name.

    One row holds the tensors that differ only in numbers: of layers, whatever block they use, and of experts.
    """
    layers: dict[tuple[str, tuple[int, ...], str], list[int]] = {}
    copies: dict[tuple[str, tuple[int, ...], str], int] = {}
    nodes: dict[tuple[str, tuple[int, ...], str], str] = {}
    rows = zip(analysis.program.steps, analysis.stored.values, analysis.inner.values, strict=True)
    for step, stored, (inner, _) in rows:
        node = step.node
        if node.tied_to is not None:
            continue
        group = analysis.program.graph.groups[node.group]
        for weight, shape in stored:
            pattern = tensor_name(model, node, group, weight)
            apart = "{e}" in pattern  # one tensor per copy; else one tensor holds them all
            name = pattern.replace("{e}", "{" + ranges(range(inner)) + "}")
            key = (name, shape if apart or inner == 1 else (inner, *shape), model.dtype)
            layers.setdefault(key, []).extend(group.layers or ())
            copies[key] = inner if apart else 1
            nodes.setdefault(key, node.id)
    return tuple(
        TensorRow(
            name.replace("{i}", "{" + ranges(sorted(found)) + "}"),
            shape,
            dtype,
            copies[name, shape, dtype] * (len(found) or 1),
            nodes[name, shape, dtype],
        )
        for (name, shape, dtype), found in layers.items()
    )


def buffer_rows(model: Model) -> tuple[TensorRow, ...]:
    """Return the tensors that old files of this architecture also hold, which are no parameters."""
    rows: list[TensorRow] = []
    for buffer in model.spec.buffers:
        layers = next(iter(model.layers.values()), ())
        name = buffer.name.replace("{i}", "{" + ranges(range(len(layers))) + "}")
        shape = tuple(evaluate_tree(axis, lambda name: _dim(model, name)) for axis in buffer.shape)
        rows.append(TensorRow(name, shape, "F32", len(layers) if "{i}" in buffer.name else 1, ""))
    return tuple(rows)


def _dim(model: Model, name: str) -> Any:
    if name in model.unbound:
        raise model.unbound[name]
    return model.dims[name]


def tensor_name(model: Model, node: Node, group: Group, weight: str) -> str:
    """Return the checkpoint's name for a weight: the longest path the spec maps, and the rest of the path after it.

    {i} stands for the layer's number and {e} for the copy's.
    """
    inner = node.id.removeprefix(group.name + ".")
    parts = [group.stage, *inner.split("."), weight]
    for length in range(len(parts), 0, -1):
        pattern = model.spec.modules.get(".".join(parts[:length]))
        if pattern is not None:
            return ".".join((pattern, *parts[length:]))
    raise SpecError(
        "unnamed-tensor",
        f"{model.spec.where} checkpoint.modules",
        f"a checkpoint name for {'.'.join(parts[:-1])}",
        "none",
        "map the path, or a part of it from the front, to the module's name",
    )


def ranges(numbers: Sequence[int]) -> str:
    """Write sorted numbers compactly: `0-31` or `0,2,4-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
