"""The tensors a checkpoint of a model holds, by the names its files use."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.derive.storage import stands_with, stored_tensors, weight_axes
from rooflight.expr import evaluate_tree
from rooflight.graph import braced, tensor_name, weight_path
from rooflight.values import BITS

if TYPE_CHECKING:
    from rooflight.analysis import Analysis
    from rooflight.spec import Model


class TensorRow(NamedTuple):
    """Tensors that differ only in numbers: `model.layers.{0-31}.mlp.up_proj.weight`, 32 of them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    copies: int  # how many tensors the row stands for
    node: str
    role: str = "weight"
    part: str = "main"

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return prod((*self.shape, self.copies)) * BITS[self.dtype] // 8


class _Key(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str
    rival: str = ""  # a node that claims what another one has claimed: its row stands apart


class _Found(NamedTuple):
    layers: list[int]
    copies: int
    node: str
    part: str


def tensor_rows(model: Model, analysis: Analysis) -> tuple[TensorRow, ...]:
    """Return every tensor a checkpoint stores, in walking order. SpecError for a weight the spec gives no name.

    One row holds the tensors that differ only in numbers: of layers, whatever block they use, and of experts.
    """
    found: dict[_Key, _Found] = {}
    for index, (step, (inner, _)) in enumerate(zip(analysis.program.steps, analysis.inner.values, strict=True)):
        node = step.node
        group = analysis.program.graph.groups[node.group]
        for weight, shape in analysis.stored.values[index] if node.tied_to is None else ():
            pattern = tensor_name(model.spec, weight_path(group.stage, group.name, node.id, weight))
            apart = "{e}" in pattern  # one tensor per copy; else one tensor holds them all
            pattern = pattern.replace("{e}", braced(range(inner)))
            axes = weight_axes(analysis, index, weight)
            for stored in node.formats[weight]:
                for tensor in stored_tensors(stored.format, axes, shape, node.dtype):
                    if not stands_with(tensor, stored.format, node.id):
                        continue
                    lengths = tensor.shape if apart or inner == 1 else (inner, *tensor.shape)
                    key = _Key(_named(pattern, tensor.suffix), lengths, tensor.dtype, tensor.role)
                    earlier = found.get(key)
                    if earlier is not None and (not stored.layers or set(stored.layers) & set(earlier.layers)):
                        key = key._replace(rival=node.id)
                    entry = found.setdefault(key, _Found([], inner if apart else 1, node.id, group.part))
                    entry.layers.extend(stored.layers)
    return tuple(
        TensorRow(
            key.name.replace("{i}", braced(sorted(entry.layers))),
            key.shape,
            key.dtype,
            entry.copies * (len(entry.layers) or 1),
            entry.node,
            key.role,
            entry.part,
        )
        for key, entry in found.items()
    )


def _named(pattern: str, suffix: str | None) -> str:
    """Put a stored tensor's suffix in the place of the weight's own name; ^ stands for the parent module."""
    if suffix is None:
        return pattern
    module = pattern.removesuffix(".weight")
    return module.rpartition(".")[0] + suffix[1:] if suffix.startswith("^") else module + suffix


def buffer_rows(model: Model) -> tuple[TensorRow, ...]:
    """Return the tensors that old files of this architecture also hold, which are no parameters."""
    rows: list[TensorRow] = []
    for buffer in model.spec.buffers:
        layers = next(iter(model.layers.values()), ())
        name = buffer.name.replace("{i}", braced(range(len(layers))))
        shape = tuple(evaluate_tree(axis, lambda name: _dim(model, name)) for axis in buffer.shape)
        copies = len(layers) if "{i}" in buffer.name else 1
        rows.append(TensorRow(name, shape, buffer.dtype, copies, "", "buffer"))
    return tuple(rows)


def tied_rows(model: Model, analysis: Analysis) -> tuple[TensorRow, ...]:
    """Return the tensors that a file holds where it stores a tied weight of a single stage a second time."""
    rows: list[TensorRow] = []
    for index, step in enumerate(analysis.program.steps):
        node = step.node
        group = analysis.program.graph.groups[node.group]
        if node.tied_to is None or group.layers is not None:
            continue
        for weight, shape in analysis.stored.values[index]:
            name = tensor_name(model.spec, weight_path(group.stage, group.name, node.id, weight))
            layers = group.layers or ()
            name = name.replace("{i}", braced(layers))
            rows.append(TensorRow(name, shape, model.dtype, len(layers) or 1, node.id, "tied copy", group.part))
    return tuple(rows)


def _dim(model: Model, name: str) -> Any:
    if name in model.unbound:
        raise model.unbound[name]
    return model.dims[name]
