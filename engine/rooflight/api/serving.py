"""What the Inference page shows of one deployment: figures of both steps with formulas, kernel by kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.api.formula import json_number, meaning
from rooflight.api.per_gpu import GPU_FIGURES
from rooflight.api.priced import PRICED_FIGURES, ROW_FIGURES, PricedStep, Terms, View
from rooflight.api.steps import RESOURCES
from rooflight.expr import Expr, Space, div, floor_div, max_, named, total
from rooflight.pricing import BEHIND, BETWEEN
from rooflight.values import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.api.estimate import Estimate
    from rooflight.api.steps import Timed
    from rooflight.expr import Value
    from rooflight.pricing import Line


class KernelCard(NamedTuple):
    """One kernel or collective of a step, in all layers.

    row      as `rooflight estimate` prints it
    figures  by the names of ROW_FIGURES, of what the row has, and `count`
    kind     the kind of layer it stands in; empty outside of layers
    """

    row: Mapping[str, Any]
    figures: Mapping[str, Quantity]
    kind: str = ""


class StepCard(NamedTuple):
    """One step.

    figures   by name: those of a priced step, those of one GPU, and what `rooflight estimate` prints beside them:
              memory and joules, or shares of a step with kernels
    symbols   name -> (value, meaning) of every symbol in their formulas
    """

    phase: str
    batch: int  # sequences per attention-DP rank
    context: int
    new_tokens: int
    share: Mapping[str, float]
    figures: Mapping[str, Quantity]
    kernels: tuple[KernelCard, ...]
    symbols: Mapping[str, tuple[int | float, str]]


class Serving(NamedTuple):
    """One deployment. `summary` is what `rooflight estimate --json` prints, without kernels.

    `full` is a prefill step of as many prompts as fit, whose rate prices input; its kernels are left out.
    """

    summary: Mapping[str, Any]
    decode: StepCard
    prefill: StepCard
    full: StepCard


def serving(estimate: Estimate) -> Serving:
    """Return what a page shows of a deployment. SpecError under pipeline parallelism, whose stages differ."""
    terms = Terms(usable=estimate.ask.usable, reserve_bytes=estimate.ask.reserve_bytes, usd=estimate.usd_per_gpu_hour)
    decode = terms._replace(tokens=estimate.tokens_per_step)
    return Serving(
        estimate.summary(),
        _card(estimate.decode, decode),
        _card(estimate.prefill, terms, full=False),
        _card(estimate.saturated, terms, kernels=False),
    )


# ------------------------------------------------------------------------- what only `rooflight estimate` prints


def _memory(priced: PricedStep, figures: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """What stands in a GPU's memory beside what `figures` say it holds, and what one request takes of it."""
    phase = priced.timed.deployed.step.phase
    numbers, formulas = priced.numbers, priced.formulas

    def figure(name: str, label: str, of: Callable[[View], Value], unit: str = "byte") -> Quantity:
        return _whole(Quantity(f"{phase}.{name}", label, of(numbers), unit, of(formulas)))

    def usable(view: View) -> Value:
        return floor_div(view.memory * view.terms["usable"], 1)

    def unusable(view: View) -> Value:
        return view.memory - usable(view)

    def room(view: View) -> Value:
        """Bytes of the usable share beside everything the step holds, negative where it does not fit."""
        found = [(name, figures[name]) for name in ("weights.bytes", "cache.bytes", "activations.peak")]
        held = [named(n.replace(".", "_"), q.value if view is numbers else q.formula) for n, q in found]
        return named("usable_bytes", usable(view)) - view.terms["reserve"] - total(held)

    def capacity(view: View) -> Value:
        return view.memory

    def left(view: View) -> Value:
        return max_(0, room(view))

    def over(view: View) -> Value:
        return max_(0, 0 - room(view))

    def cache(view: View) -> Value:
        return GPU_FIGURES["cache.bytes"].of(view.alone)

    def activations(view: View) -> Value:
        return GPU_FIGURES["activations.peak"].of(view.alone)

    def sequences(view: View) -> Value:
        return view.part.facts.binding["B"]

    return {
        "memory.capacity": figure("memory.capacity", "Memory of one GPU", capacity),
        "memory.usable": figure("memory.usable", "Memory of one GPU that may be used", usable),
        "memory.unusable": figure("memory.unusable", "Memory of one GPU that is left alone", unusable),
        "memory.left": figure("memory.left", "Usable memory that is left", left),
        "memory.over": figure("memory.over", "Memory that is missing", over),
        "request.cache": figure("request.cache", "Cache of one request per rank", cache),
        "request.activations": figure("request.activations", "Activations of one request per rank", activations),
        "requests": figure("requests", "Sequences in all", sequences, "sequence"),
    }


def _share(priced: PricedStep, resource: str) -> Quantity:
    """The part of a step's seconds in which `resource` is what its kernels wait for."""
    bound = [at for at, line in enumerate(priced.numbers.lines) if line.bound == resource]

    def of(view: View) -> Value:
        spent = total([_times(view, view.lines[at]) * view.lines[at].spent.longest for at in bound])
        return div(named(f"{resource}_bound", spent), named("step", PRICED_FIGURES["step_s"].of(view)))

    phase = priced.timed.deployed.step.phase
    return Quantity(
        f"{phase}.share.{resource}",
        f"Share of the step that {resource} bounds",
        of(priced.numbers),
        "share",
        of(priced.formulas),
    )


def _times(view: View, line: Line) -> Value:
    return 1 if line.entry or line.group in (BEHIND, BETWEEN) else view.part.facts.group_copies[line.group]


def _count(priced: PricedStep, at: int) -> Quantity:
    """How often a kernel runs in the step."""

    def of(view: View) -> Value:
        line = view.lines[at]
        copies = 1 if line.work is None else view.part.held.copies[line.work.members[-1]]
        return copies * _times(view, line)

    line = priced.numbers.lines[at]
    key = f"{priced.timed.deployed.step.phase}.count/{line.id}"
    return Quantity(key, "Times it runs in the step", of(priced.numbers), "copy", of(priced.formulas))


def _joules(priced: PricedStep, power: float) -> Quantity:
    def of(view: View, watts: Value) -> Value:
        return div(watts, named("tok_s_gpu", PRICED_FIGURES["tok_s_gpu"].of(view)))

    formulas = priced.formulas
    usable = formulas.terms["usable"]
    space = usable.space if isinstance(usable, Expr) else Space()  # one space, so that equal parts stay one
    return Quantity(
        f"{priced.timed.deployed.step.phase}.joules",
        "Energy of one token",
        of(priced.numbers, power),
        "joule",
        of(formulas, space.symbol("tdp", whole=False)),
    )


# --------------------------------------------------------------------------------------------------- cards


def _card(timed: Timed, terms: Terms, *, kernels: bool = True, full: bool = True) -> StepCard:
    """Return a step, with `full` a GPU's whole memory too."""
    priced = PricedStep(timed, terms)
    step = timed.deployed.step
    names = [name for name in PRICED_FIGURES if name != "usd_per_million" or terms.usd is not None]
    figures = {name: priced.quantity(name) for name in (*names, *GPU_FIGURES)}
    # Whole by its floor, though the share of memory that may be used is a float.
    figures["max_batch"] = _whole(figures["max_batch"])
    if full:
        figures |= _memory(priced, figures)
    if kernels:
        figures |= {f"share.{resource}": _share(priced, resource) for resource in RESOURCES}
    own: dict[str, tuple[int | float, str]] = {}
    power = timed.gpu.facts.get("tdp")
    if power is not None:
        figures["joules"] = _joules(priced, power.value)
        own["tdp"] = power.value, f"watts by design: {timed.gpu.name}"
    symbols = {
        name: (json_number(value), priced.meanings.get(name) or meaning(timed.deployed.model, name))
        for name, value in priced.values.items()
    }
    cards = tuple(_kernels(priced)) if kernels else ()
    return StepCard(step.phase, step.batch, step.context, step.new, timed.share, figures, cards, symbols | own)


def _kernels(priced: PricedStep) -> list[KernelCard]:
    timed = priced.timed
    places = {line.id: at for at, line in enumerate(timed.lines)}
    groups = timed.deployed.program.graph.groups
    cards: list[KernelCard] = []
    for row in timed.rows():
        at = places[row["id"]]
        group = timed.lines[at].group
        kind = groups[group] if group >= 0 else None
        figures = {name: priced.quantity(name, row["id"]) for name in ROW_FIGURES if name in row}
        figures["count"] = _count(priced, at)
        cards.append(KernelCard(row, figures, kind.name if kind is not None and kind.layers is not None else ""))
    return cards


def _whole(figure: Quantity) -> Quantity:
    """The same figure, a float that is a whole number as an int."""
    value = figure.value
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return Quantity(figure.key, figure.label, whole, figure.unit, figure.formula)
