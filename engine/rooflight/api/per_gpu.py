"""One figure of one GPU of a plan, with its formula: degrees are symbols, so it carries /tp and ceilings."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.analysis import evaluate
from rooflight.api.binding import symbol_values, symbols
from rooflight.api.formula import json_number, meaning
from rooflight.api.memory import Deployed
from rooflight.api.plans import has_experts
from rooflight.derive.device import device, peak_activations
from rooflight.expr import Space, definitions, free_symbols, named, text, to_json, total
from rooflight.layout import AXES, degrees
from rooflight.spec import nearest
from rooflight.values import Quantity, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rooflight.analysis import Analysis
    from rooflight.derive.device import Device
    from rooflight.expr import Value

_WHO = {"dp": "other sequences", "tp": "other heads", "cp": "other positions"}
_WHAT = {"r": "the same experts", "e": "other experts too", "t": "other parts of each expert too"}


class Part:
    """One GPU's part of a step, read with numbers or with symbols."""

    def __init__(self, deployed: Deployed, facts: Analysis, held: Device) -> None:
        self.deployed = deployed
        self.facts = facts
        self.held = held

    @cached_property
    def peak(self) -> Value:
        """Most bytes of activations that live at once; as a formula it is the dearest figure of all."""
        return peak_activations(self.deployed.program, self.held)


class Figure(NamedTuple):
    """A figure of one GPU; what is not phased is read off the ordinary graph, not off a decode variant."""

    label: str
    unit: str
    of: Callable[[Part], Value]
    phased: bool = True


def _column(name: str) -> Callable[[Part], Value]:
    def summed(part: Part) -> Value:
        each: tuple[Value, ...] = getattr(part.held, name)
        groups = [step.node.group for step in part.deployed.program.steps]
        layers: dict[int, list[Value]] = {}
        for group, value, copies in zip(groups, each, part.held.copies, strict=True):
            layers.setdefault(group, []).append(value * copies)
        # Layer by layer, so that a formula names what one layer takes before it counts layers.
        return total([_layer(part, group, total(found)) for group, found in layers.items()])

    def _layer(part: Part, group: int, value: Value) -> Value:
        stack = part.deployed.program.graph.groups[group]
        if stack.layers is None:
            return value
        return part.facts.group_copies[group] * named(f"{name}_{stack.name.replace('.', '_')}", value)

    return summed


def _peak(part: Part) -> Value:
    return part.peak


def _sent(part: Part) -> Value:
    found: list[Value] = [move.sent for move in part.held.ends]
    for step, moves in zip(part.deployed.program.steps, part.held.collectives, strict=True):
        times = part.facts.group_copies[step.node.group]
        found += [move.sent if move.entry else move.sent * times for move in moves]
    return total(found)


GPU_FIGURES: dict[str, Figure] = {
    "weights.bytes": Figure("Weights on one GPU", "byte", _column("stored_bytes"), phased=False),
    "cache.bytes": Figure("Cache on one GPU at the end of the step", "byte", _column("cache_bytes")),
    "activations.peak": Figure(
        "Most activations that live at once on one GPU",
        "byte",
        _peak,
    ),
    "matmul_flops": Figure("Matrix FLOPs of one GPU", "FLOP", _column("matmul")),
    "other_flops": Figure("Other FLOPs of one GPU", "FLOP", _column("other")),
    "weight_bytes": Figure("Weight bytes one GPU reads", "byte", _column("weight_bytes")),
    "activation_bytes": Figure("Activation bytes one GPU moves", "byte", _column("activation_bytes")),
    "kv_bytes": Figure("Cache bytes one GPU moves", "byte", _column("kv_bytes")),
    "sent_bytes": Figure("Bytes one GPU sends in collectives", "byte", _sent),
}


def figure(deployed: Deployed, name: str) -> Quantity:
    """Return one figure of one GPU with value and formula, by the same function read off two walks.

    SpecError for an unknown name, or under pipeline parallelism, whose stages differ.
    """
    if name not in GPU_FIGURES:
        raise SpecError(
            "unknown-figure", name, "one of " + ", ".join(GPU_FIGURES), name, nearest(name, tuple(GPU_FIGURES))
        )
    if deployed.plan.pp > 1:
        raise SpecError(
            "bad-plan", "plan pp", "pp=1 for a formula", str(deployed.plan.pp), "leave pp out: stages differ"
        )
    found = GPU_FIGURES[name]
    key = f"{deployed.step.phase}.{name}" if found.phased else name
    if not found.phased:
        counting = deployed.step.counting._replace(decode="same")
        deployed = replace(deployed, step=replace(deployed.step, counting=counting))
    binding = {**symbols(deployed.model, deployed.step, space := Space()), **degree_symbols(deployed, space)}
    facts = evaluate(deployed.program, binding)
    return Quantity(
        key,
        found.label,
        found.of(Part(deployed, deployed.facts, deployed.device)),
        found.unit,
        found.of(Part(deployed, facts, device(deployed.program, facts, binding))),
    )


def explain_gpu(deployed: Deployed, name: str) -> dict[str, Any]:
    """Return a figure of one GPU with everything a reader needs to recompute it."""
    values = {**symbol_values(deployed.model, deployed.step), "B": deployed.binding["B"], **degree_values(deployed)}
    return explained(figure(deployed, name), deployed, values, degree_meanings(deployed))


def explained(
    found: Quantity, deployed: Deployed, values: Mapping[str, float], words: Mapping[str, str]
) -> dict[str, Any]:
    """Return a figure as data: its formula, and the value and meaning of every symbol in it."""
    return {
        "key": found.key,
        "label": found.label,
        "value": json_number(found.value),
        "unit": found.unit,
        "formula": text(found.formula),
        "where": {part: text(body) for part, body in definitions(found.formula).items()},
        "symbols": {
            symbol: {
                "value": json_number(values[symbol]),
                "meaning": words.get(symbol) or meaning(deployed.model, symbol),
            }
            for symbol in free_symbols(found.formula)
        },
        "graph": to_json({found.key: found.formula}),
    }


def _names(deployed: Deployed) -> dict[str, str]:
    """Mesh axis -> its symbol, for the axes that a plan uses: tp instead of tp_r where no other part of tp is."""
    used = [axis for axis, degree in degrees(deployed.plan).items() if degree > 1]
    heads = [axis.partition("_")[0] for axis in used]
    return {axis: head if heads.count(head) == 1 else axis for axis, head in zip(used, heads, strict=True)}


def degree_symbols(deployed: Deployed, space: Space) -> dict[str, Value]:
    """Return a symbol for every mesh axis that a plan uses, and 1 for the others."""
    names = _names(deployed)
    return {axis: space.symbol(names[axis]) if axis in names else 1 for axis in AXES}


def degree_values(deployed: Deployed) -> Mapping[str, int]:
    """Return the degrees behind those symbols."""
    found = degrees(deployed.plan)
    return {symbol: found[axis] for axis, symbol in _names(deployed).items()}


def degree_meanings(deployed: Deployed) -> dict[str, str]:
    """Say what those symbols stand for."""
    experts = has_experts(deployed.model)
    said: dict[str, str] = {}
    for axis, symbol in _names(deployed).items():
        head, _, tail = axis.partition("_")
        said[symbol] = f"GPUs with {_WHO[head]}" + (f", and {_WHAT[tail]}" if experts else "")
    return said
