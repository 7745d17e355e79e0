"""What the Inference page shows of one deployment: figures of both steps with formulas, kernel by kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.api.formula import json_number, meaning
from rooflight.api.per_gpu import GPU_FIGURES
from rooflight.api.priced import PRICED_FIGURES, ROW_FIGURES, PricedStep, Terms
from rooflight.values import Quantity

if TYPE_CHECKING:
    from rooflight.api.estimate import Estimate
    from rooflight.api.steps import Timed


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


def _card(timed: Timed, terms: Terms, *, kernels: bool = True, full: bool = True) -> StepCard:
    """Return a step, with `full` a GPU's whole memory too."""
    priced = PricedStep(timed, terms)
    step = timed.deployed.step
    absent = {"usd_per_million": terms.usd, "joules": timed.gpu.facts.get("tdp")}
    names = [name for name in PRICED_FIGURES if absent.get(name, 0) is not None and _shown(name, kernels, full)]
    figures = {name: priced.quantity(name) for name in (*names, *GPU_FIGURES)}
    symbols = {
        name: (json_number(value), priced.meanings.get(name) or meaning(timed.deployed.model, name))
        for name, value in priced.values.items()
    }
    cards = tuple(_kernels(priced)) if kernels else ()
    return StepCard(step.phase, step.batch, step.context, step.new, timed.share, figures, cards, symbols)


def _shown(name: str, kernels: bool, full: bool) -> bool:  # noqa: FBT001 - of one step
    """Shares belong to a step whose kernels are listed, a GPU's memory to one of as many sequences as fit."""
    if name.startswith("share."):
        return kernels
    return full or not name.startswith(("memory.", "request."))


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
        figures["count"] = priced.quantity("count", row["id"])
        cards.append(KernelCard(row, figures, kind.name if kind is not None and kind.layers is not None else ""))
    return cards
