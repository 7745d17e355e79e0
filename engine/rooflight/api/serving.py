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
    """One kernel or collective of a step, in all layers. `row` is as `rooflight estimate` prints it."""

    row: Mapping[str, Any]
    figures: Mapping[str, Quantity]  # by the names of ROW_FIGURES, of what the row has


class StepCard(NamedTuple):
    """One step.

    figures   by name: those of a priced step, and those of one GPU
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
        _card(estimate.prefill, terms),
        _card(estimate.saturated, terms, kernels=False),
    )


def _card(timed: Timed, terms: Terms, *, kernels: bool = True) -> StepCard:
    priced = PricedStep(timed, terms)
    step = timed.deployed.step
    names = [name for name in PRICED_FIGURES if name != "usd_per_million" or terms.usd is not None]
    figures = {name: priced.quantity(name) for name in (*names, *GPU_FIGURES)}
    rows = timed.rows() if kernels else []
    cards = [
        KernelCard(row, {name: priced.quantity(name, row["id"]) for name in ROW_FIGURES if name in row}) for row in rows
    ]
    symbols = {
        name: (json_number(value), priced.meanings.get(name) or meaning(timed.deployed.model, name))
        for name, value in priced.values.items()
    }
    return StepCard(step.phase, step.batch, step.context, step.new, timed.share, figures, tuple(cards), symbols)
