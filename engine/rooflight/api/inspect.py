"""A model read whole, for a page: every figure with its formula, from one numeric and one symbolic walk per phase."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rooflight import derive
from rooflight.api.binding import RUN_SYMBOLS, symbol_values
from rooflight.api.catalog import COLUMNS
from rooflight.api.formula import json_number, meaning, part_key, part_total, read_quantity
from rooflight.api.reading import Reading, reading
from rooflight.api.records import (
    CacheCard,
    Checkpoint,
    ComponentCard,
    Facts,
    Inspection,
    LayerKind,
    NodeRow,
    PhaseFigures,
    Symbol,
)
from rooflight.api.show import attention_label, component_names, growth_words, layer_words, source
from rooflight.derive.tensors import tensor_rows
from rooflight.expr import evaluate_tree, names, text
from rooflight.values import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.checks import Strength
    from rooflight.expr import Value
    from rooflight.graph import Group, Instance
    from rooflight.spec import Model

PHASED = ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")
LONG_CONTEXT = 32_768  # the second context at which the gallery compares caches

_HEADLINE = (
    "params.total",
    "params.active",
    "params.embedding",
    "params.mtp",
    "weights.bytes",
    "layers",
    "max_context",
    "cache.bytes_per_token",
    "cache.bytes_per_token_decompressed",
    "cache.constant_bytes",
    "cache.bytes",
)


def inspect(model: Model, strength: Strength | None = None, claims: Mapping[str, Any] | None = None) -> Inspection:
    """Return everything a page shows of a model. Raises SpecError where the spec does not hold together.

    strength says how far the guards checked it; without one the page says that nothing was. claims is what the spec
    says the checkpoint holds, as `rooflight show` gives it.
    """
    reads = {phase: reading(model, phase) for phase in ("prefill", "decode")}
    first = reads["prefill"]
    long = first.at(LONG_CONTEXT)
    cache = read_quantity(long, "cache.bytes")
    headline = {
        **{key: read_quantity(first, key) for key in _HEADLINE},
        f"cache.bytes@{LONG_CONTEXT}": Quantity(
            f"cache.bytes@{LONG_CONTEXT}", "Cache of one sequence at 32K", cache.value, cache.unit, cache.formula
        ),
        "prefill.flops_per_token": read_quantity(first, "flops_per_token"),
        "decode.flops": read_quantity(reads["decode"], "flops"),
        **{f"{phase}.intensity": read_quantity(read, "intensity") for phase, read in reads.items()},
    }
    columns = {phase: _Columns(read) for phase, read in reads.items()}
    return Inspection(
        facts=_facts(model, first, strength, claims),
        symbols=_symbols(model, first),
        headline=headline,
        params_by_role={
            role: read_quantity(first, f"params.by_role.{role}") for role in derive.params_by_role(first.numbers)
        },
        kinds=tuple(
            _kind(columns, at, group) for at, group in enumerate(first.program.graph.groups) if group.layers is not None
        ),
        rows=_rows(model, columns),
        totals={
            **{phase: {key: read_quantity(read, key) for key in PHASED} for phase, read in reads.items()},
            "stored": {key: read_quantity(first, name) for key, name in _STORED.items()},
        },
        deployment={
            phase: {"batch": read.step.batch, "context": read.step.context, "new_tokens": read.step.new}
            for phase, read in reads.items()
        },
    )


_STORED = {"params_all": "params.total", "stored_bytes": "weights.bytes"}
_STORED_COLUMNS = {"params_all": "params", "stored_bytes": "stored_bytes"}


def _facts(model: Model, read: Reading, strength: Strength | None, claims: Mapping[str, Any] | None) -> Facts:
    known = model.provenance
    lab, _, name = model.id.rpartition("/")
    return Facts(
        id=model.id,
        lab=known.lab or lab,
        name=name,
        architecture=model.spec.name,
        family=model.spec.family,
        attention=attention_label(read),
        dtype=model.dtype,
        config_state=known.config_state or "as given",
        source=known.source or model.config.where,
        released=known.released,
        notes=(*known.notes, *model.warnings),
        formats=_formats(model, read),
        schemes=_schemes(read),
        checkpoint=None if claims is None else _checkpoint(claims),
        **({} if strength is None else strength.facts()),
    )


def _checkpoint(claims: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(claims["bytes"], claims["tensors"], tuple(claims["by_dtype"].items()))


def _formats(model: Model, read: Reading) -> tuple[str, ...]:
    sizes = Counter[str]()
    for row in tensor_rows(model, read.numbers):
        sizes[row.dtype] += row.bytes
    return tuple(dtype for dtype, _ in sizes.most_common())


def _schemes(read: Reading) -> tuple[str, ...]:
    """Return the storage schemes of the weights, in walking order; a plain dtype is none."""
    kept = (stored.format for step in read.program.steps for way in step.node.formats.values() for stored in way)
    return tuple(dict.fromkeys(form.name for form in kept if form.rules))


def _symbols(model: Model, read: Reading) -> dict[str, Symbol]:
    values = symbol_values(model, read.step)
    found = {
        name: Symbol(name, json_number(values[name]), meaning(model, name), source(model, name)) for name in model.dims
    }
    for name, words in RUN_SYMBOLS.items():
        if name not in ("P", "s"):
            origin = "storage" if name.startswith("b_") else "deployment"
            found[name] = Symbol(name, json_number(values[name]), words, origin)
    return found


class _Columns:
    """Both walks of one phase with every column computed once for all nodes."""

    def __init__(self, read: Reading) -> None:
        self.read = read
        self.numbers = {key: column.each(read.numbers) for key, column in COLUMNS.items()}
        self.formulas = {key: column.each(read.formulas) for key, column in COLUMNS.items()}

    def all_copies(self, key: str, at: int, node: str) -> Quantity:
        """Return the figure `rooflight formula KEY --node NODE` gives."""
        column = COLUMNS[key]
        name = f"{self.read.step.phase}.{key}/{node}" if column.phased else f"{key}/{node}"
        return Quantity(
            name,
            column.label,
            self.numbers[key][at] * self.read.numbers.copies.values[at],
            column.unit,
            self.formulas[key][at] * self.read.formulas.copies.values[at],
        )

    def each(self, key: str, at: int, node: str) -> Quantity:
        """Return the figure of one copy."""
        column = COLUMNS[key]
        return Quantity(
            f"{key}.each/{node}",
            f"{column.label}, one copy",
            self.numbers[key][at],
            column.unit,
            self.formulas[key][at],
        )

    def part(self, key: str, instance: Instance) -> Quantity:
        """Return the figure `rooflight formula KEY --node PATH` gives of a component."""
        column, read = COLUMNS[key], self.read
        return Quantity(
            part_key(read, key, instance.path),
            f"{column.label}, all parts",
            part_total(read.numbers, key, instance, self.numbers[key]),
            column.unit,
            part_total(read.formulas, key, instance, self.formulas[key]),
        )


def _rows(model: Model, columns: Mapping[str, _Columns]) -> tuple[NodeRow, ...]:
    first = columns["prefill"].read
    tensors: dict[str, list[str]] = {}
    for tensor in tensor_rows(model, first.numbers):
        tensors.setdefault(tensor.node, []).append(tensor.name)
    # A decode variant may have other nodes; a row shows the phases its node takes part in.
    index = {phase: {step.node.id: at for at, step in enumerate(c.read.program.steps)} for phase, c in columns.items()}
    order = dict.fromkeys(node for at in index.values() for node in at)
    rows: list[NodeRow] = []
    for node in order:
        home = next(phase for phase in columns if node in index[phase])
        own, at = columns[home], index[home][node]
        step = own.read.program.steps[at]
        rows.append(
            NodeRow(
                id=node,
                group=own.read.program.graph.groups[step.node.group].name,
                component=step.node.component,
                role=step.node.role,
                op=step.node.op.name,
                summary=step.node.op.summary,
                copies=read_quantity(own.read, "copies", node),
                **{
                    name: figure if step.node.part_of is None else replace(figure, value=0, formula=0)
                    for name, figure in (
                        ("params", own.each("params", at, node)),
                        ("params_all", own.all_copies("params", at, node)),
                        ("stored_bytes", own.all_copies("stored_bytes", at, node)),
                    )
                },
                tensors=tuple(tensors.get(node, ())),
                phases={
                    phase: _figures(c, index[phase][node], node) for phase, c in columns.items() if node in index[phase]
                },
            )
        )
    return tuple(rows)


def _figures(columns: _Columns, at: int, node: str) -> PhaseFigures:
    read = columns.read
    return PhaseFigures(
        shape=shape_words(read.formulas.shape.values[at]),
        shape_values=shape_words(read.numbers.shape.values[at]),
        **{key: columns.all_copies(key, at, node) for key in PHASED},
    )


def shape_words(shape: Sequence[Value]) -> str:
    """Write a shape: `[B, T, n_heads·d_head]`."""
    return "[" + ", ".join(text(length) for length in shape) + "]"


def _kind(columns: Mapping[str, _Columns], at: int, group: Group) -> LayerKind:
    read = columns["prefill"].read
    instances = [i for i in read.program.graph.instances if i.group == at and i.path != group.name]
    return LayerKind(
        name=group.name,
        layers=layer_words(group.layers or ()),
        count=read_quantity(read, "layers", group.name),
        params=read_quantity(read, "params.layer", group.name),
        components=tuple(_component(columns, instance, group) for instance in instances),
        stack=group.stage,
        indices=group.layers or (),
    )


def _component(columns: Mapping[str, _Columns], instance: Instance, group: Group) -> ComponentCard:
    read = columns["prefill"].read
    model = read.model
    span = range(instance.first, instance.last)

    used: dict[str, None] = {}
    for name in component_names(instance.spec):
        for symbol in names(instance.dims.get(name, name)):
            if symbol in model.dims:
                used[symbol] = None
    return ComponentCard(
        slot=instance.slot,
        component=instance.spec.name,
        role=instance.spec.role,
        doc=instance.spec.doc,
        params=read_quantity(read, "params.component", instance.path),
        facts=tuple(
            (meaning(model, name), name, json_number(evaluate_tree(name, model.dims.__getitem__))) for name in used
        ),
        cache=tuple(_cache(read, index) for index in span if read.program.steps[index].cached is not None),
        path=instance.path.removeprefix(f"{group.name}."),
        totals=_part_totals(columns, instance),
    )


def _part_totals(columns: Mapping[str, _Columns], instance: Instance) -> dict[str, dict[str, Quantity]]:
    """Return what a component holds and costs in all its layers; a decode variant stands under the same path."""
    stored = {key: columns["prefill"].part(name, instance) for key, name in _STORED_COLUMNS.items()}
    found = {"stored": stored}
    for phase, own in columns.items():
        here = next((i for i in own.read.program.graph.instances if i.path == instance.path), None)
        if here is not None:
            found[phase] = {key: own.part(key, here) for key in PHASED}
    return found


def _cache(read: Reading, at: int) -> CacheCard:
    step = read.program.steps[at]
    entry = read.numbers.cache.values[at]
    assert entry is not None
    node = step.node.id

    return CacheCard(
        node=node,
        kind=entry.kind,
        growth=growth_words(entry.growth, entry.window),
        layers=read_quantity(read, "copies", node),
        bytes_per_token=read_quantity(read, "cache.bytes_per_token", node),
        bytes_at_context=read_quantity(read, "cache.bytes", node),
    )
