"""One figure by its key, with its formula: the answer of `rooflight formula`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight import derive
from rooflight.api.binding import RUN_SYMBOLS, symbol_values
from rooflight.api.catalog import COLUMNS, FIGURES
from rooflight.api.reading import Reading, reading
from rooflight.expr import definitions, div, evaluate_tree, free_symbols, latex, math_element, text, to_json, total
from rooflight.spec import nearest
from rooflight.values import Quantity, SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.analysis import Analysis
    from rooflight.expr import Tree, Value
    from rooflight.graph import Instance
    from rooflight.spec import Model

_PRINTERS = {"text": text, "latex": latex, "mathml": math_element}
FORMATS = (*_PRINTERS, "json")
_EXTRA = ("layers", "max_context", "params.mtp")


class Key(NamedTuple):
    """`prefill.matmul_flops/layers.attention.q_proj` taken apart; parts may also come from options."""

    phase: str | None
    name: str
    node: str | None
    context: int | None


def parse_key(key: str) -> Key:
    """Split a key `[phase.]name[@context][/node]`."""
    rest, _, node = key.partition("/")
    rest, _, context = rest.partition("@")
    phase = next((p for p in ("prefill", "decode") if rest.startswith(p + ".")), None)
    if context and not (context.isascii() and context.isdigit() and len(context) <= 9):  # noqa: PLR2004 - under 10^9
        raise SpecError(
            "unknown-figure", key, "a whole number of tokens after @", context, "write e.g. cache.bytes@32768"
        )
    return Key(
        phase, rest.removeprefix(f"{phase}.") if phase else rest, node or None, int(context) if context else None
    )


def figure_names(*, node: bool = False) -> tuple[str, ...]:
    """Return every name a whole model has, roles left open, or every name a node has."""
    if node:
        return (*COLUMNS, *(f"{key}.each" for key in COLUMNS), *_CACHED, "copies", "elements")
    return (*FIGURES, *_EXTRA, "params.by_role.<role>")


def quantity(model: Model, key: str, *, node: str | None = None, phase: str | None = None, **knobs: Any) -> Quantity:
    """Return one figure with value and formula. SpecError for an unknown key or node, or an impossible step."""
    return _read(model, key, node, phase, knobs)[1]


def _read(
    model: Model, key: str, node: str | None, phase: str | None, knobs: dict[str, Any]
) -> tuple[Reading, Quantity]:
    parts = parse_key(key)
    if parts.context is not None:
        knobs = {**knobs, "context": parts.context}
    node = node or parts.node
    phase = phase or parts.phase
    read = reading(model, phase or "prefill", **knobs)
    if phase is None and node is not None and node not in {step.node.id for step in read.program.steps}:
        other = reading(model, "decode", **knobs)
        if node in {step.node.id for step in other.program.steps}:
            read = other  # a node of a decode variant
    return read, read_quantity(read, parts.name, node)


def read_quantity(read: Reading, name: str, node: str | None = None) -> Quantity:
    """Return one figure of a reading: of the whole model, or of one node (all its copies)."""
    prefix = f"{read.step.phase}."
    if node is not None:
        return _of_node(read, name, node)
    if name in FIGURES:
        figure = FIGURES[name]
        key = prefix + name if figure.phased else name
        if not figure.phased and read.step.counting.decode == "variant" and read.step.phase == "decode":
            # What does not depend on the phase is read off the ordinary graph, not off a decode variant.
            counting = read.step.counting._replace(decode="same")
            read = Reading(read.model, replace(read.step, counting=counting))
        return read.quantity(key, figure.label, figure.unit, figure.of)
    if name.startswith("params.by_role."):
        role = name.removeprefix("params.by_role.")
        roles = tuple(dict.fromkeys(read.program.graph.nodes[i].role for i in range(len(read.program.graph.nodes))))
        if role in roles:
            return read.quantity(
                name, f"Parameters of role {role}", "parameter", lambda a: derive.params_of_role(a, role)
            )
        raise SpecError("unknown-figure", name, "a role of the model: " + ", ".join(roles), role, nearest(role, roles))
    if name == "layers":
        return read.quantity(name, "Layers", "layer", _layers)
    if name == "max_context":
        return Quantity(name, "Published context", read.model.max_context, "token", read.model.max_context)
    if name == "params.mtp":
        return read.with_drafts.quantity(name, "Draft-head parameters", "parameter", derive.params_draft)
    known = figure_names()
    raise SpecError("unknown-figure", name, "one of " + ", ".join(known), name, nearest(name, known))


def _layers(analysis: Analysis) -> Value:
    groups = analysis.program.graph.groups
    counts = [
        n
        for n, group in zip(analysis.group_copies, groups, strict=True)
        if group.layers is not None and group.part == "main"
    ]
    return total(counts)


def _of_part(read: Reading, name: str, path: str) -> Quantity | None:
    """Return a figure of a kind of layer or of a component, by its path."""
    graph = read.program.graph
    kinds = {group.name: at for at, group in enumerate(graph.groups)}
    if path in kinds and name in ("layers", "params.layer"):
        at = kinds[path]
        if name == "layers":
            return read.quantity(f"{name}/{path}", "Layers of this kind", "layer", lambda a: a.group_copies[at])
        inside = [i for i, node in enumerate(graph.nodes) if node.group == at]
        return _params_of(read, f"{name}/{path}", "Parameters of one layer", inside)
    instance = next((i for i in graph.instances if i.path == path), None)
    if instance is not None and name == "params.component":
        inside = list(range(instance.first, instance.last))
        return _params_of(read, f"{name}/{path}", "Parameters of one copy", inside, instance.copies)
    if instance is not None and name in COLUMNS:
        column = COLUMNS[name]
        return read.quantity(
            part_key(read, name, path),
            f"{column.label}, all parts",
            column.unit,
            lambda a: part_total(a, name, instance, column.each(a)),
        )
    return None


def part_key(read: Reading, name: str, path: str) -> str:
    """Return the key of a column summed over a component, in every layer that holds it."""
    return f"{read.step.phase}.{name}/{path}" if COLUMNS[name].phased else f"{name}/{path}"


def part_total(analysis: Analysis, name: str, instance: Instance, each: Sequence[Value]) -> Value:
    """Sum one column over the nodes of a component, all copies; what is stored with another node counts there."""
    nodes = analysis.program.graph.nodes
    inside = range(instance.first, instance.last)
    own = [at for at in inside if COLUMNS[name].phased or nodes[at].part_of is None]
    return total([each[at] * analysis.copies.values[at] for at in own])


def _params_of(read: Reading, key: str, label: str, inside: list[int], copies: Tree = 1) -> Quantity:
    def held(analysis: Analysis) -> Value:
        params, inner = analysis.params.values, analysis.inner.values
        every = evaluate_tree(copies, analysis.binding.__getitem__)
        return total([params[index] * div(inner[index][0], every) for index in inside])

    return read.quantity(key, label, "parameter", held)


# Figures of what one node keeps in the cache, in all layers.
_CACHED = {
    "cache.bytes": ("Cache of one sequence at the context", "byte", derive.entry_bytes),
    "cache.bytes_per_token": ("Cache per token", "byte/token", derive.entry_bytes_per_token),
}


def _of_node(read: Reading, name: str, node: str) -> Quantity:
    part = _of_part(read, name, node)
    if part is not None:
        return part
    ids = [step.node.id for step in read.program.steps]
    if node not in ids:
        raise SpecError("unknown-node", node, "a node id of `rooflight cost`", node, nearest(node, ids))
    at = ids.index(node)
    if name == "copies":
        return read.quantity(f"copies/{node}", "Copies in the model", "copy", lambda a: a.copies.values[at])
    if name == "elements":
        return read.quantity(
            f"{read.step.phase}.elements/{node}", "Elements of the output", "element", lambda a: _elements(a, at)
        )
    if name in _CACHED:
        label, unit, each = _CACHED[name]
        return read.quantity(f"{name}/{node}", label, unit, lambda a: each(a)[at] * a.copies.values[at])
    known = figure_names(node=True)
    base = name.removesuffix(".each")
    if base not in COLUMNS:
        raise SpecError("unknown-figure", f"{name}/{node}", "one of " + ", ".join(known), name, nearest(name, known))
    column = COLUMNS[base]
    key = f"{read.step.phase}.{name}/{node}" if column.phased else f"{name}/{node}"
    if not column.phased and read.program.steps[at].node.part_of is not None:
        return Quantity(key, column.label, 0, column.unit, 0)  # stored with the node whose weight it reads a part of
    if name == base:
        return read.quantity(key, column.label, column.unit, lambda a: column.each(a)[at] * a.copies.values[at])
    return read.quantity(key, f"{column.label}, one copy", column.unit, lambda a: column.each(a)[at])


def _elements(analysis: Analysis, at: int) -> Value:
    result: Value = 1
    for length in analysis.shape.values[at]:
        result = result * length
    return result


def formula(
    model: Model, key: str, *, node: str | None = None, phase: str | None = None, form: str = "text", **knobs: Any
) -> str:
    """Return a figure's formula as text, LaTeX or a MathML element."""
    if form not in _PRINTERS:
        raise SpecError("unknown-format", "format", " or ".join(FORMATS), repr(form), nearest(form, FORMATS))
    return _PRINTERS[form](quantity(model, key, node=node, phase=phase, **knobs).formula)


def explain(
    model: Model, key: str, *, node: str | None = None, phase: str | None = None, **knobs: Any
) -> dict[str, Any]:
    """Return a figure with everything a reader needs to recompute it, the formula as a node table too."""
    read, figure = _read(model, key, node, phase, knobs)
    numbers = symbol_values(read.model, read.step)
    return {
        "key": figure.key,
        "label": figure.label,
        "value": json_number(figure.value),
        "unit": figure.unit,
        "formula": text(figure.formula),
        "where": {name: text(body) for name, body in definitions(figure.formula).items()},
        "symbols": {
            name: {"value": json_number(numbers[name]), "meaning": meaning(read.model, name)}
            for name in free_symbols(figure.formula)
        },
        "graph": to_json({figure.key: figure.formula}),
    }


def meaning(model: Model, name: str) -> str:
    """Say what a symbol stands for."""
    if name in RUN_SYMBOLS:
        return RUN_SYMBOLS[name]
    table = model.library.dims.dims
    if name in table:
        return table[name].meaning
    return "layers of this kind"


def json_number(value: Any) -> int | float:
    """Return an int where the value is whole, else the nearest float."""
    if isinstance(value, int):
        return value
    return int(value) if value == int(value) else float(value)
