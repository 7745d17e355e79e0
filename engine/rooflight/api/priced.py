"""Figures of a step on a GPU with their formulas: its rates are symbols too, and a time is a maximum of quotients."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rooflight.analysis import evaluate
from rooflight.api.binding import symbol_values, symbols
from rooflight.api.per_gpu import GPU_FIGURES, Part, degree_meanings, degree_symbols, degree_values, explained
from rooflight.api.priced_figures import PRICED_FIGURES, ROW_FIGURES, PricedFigure, Terms, View, copies, times
from rooflight.api.steps import Timed
from rooflight.derive.device import device
from rooflight.expr import Space, prod
from rooflight.pricing import SYMBOLS, Machine, lines, rates
from rooflight.spec import nearest
from rooflight.values import Quantity, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.api.memory import Deployed
    from rooflight.expr import Value


class PricedStep:
    """A step on a GPU, read with numbers and with symbols. Of one stage: under pp, stages differ. Raises SpecError."""

    def __init__(self, timed: Timed, terms: Terms) -> None:
        self.timed = timed
        self.terms = terms
        pp = timed.deployed.plan.pp
        if pp > 1:
            raise SpecError("bad-plan", "plan pp", "pp=1 for a formula", str(pp), "leave pp out: stages differ")

    @property
    def bounds(self) -> tuple[str, ...]:
        """What every line waits for."""
        return tuple(line.bound for line in self.timed.lines)

    @property
    def power(self) -> float | None:
        """Watts that the GPU is designed for; None where nobody says."""
        fact = self.timed.gpu.facts.get("tdp")
        return None if fact is None else fact.value

    @cached_property
    def numbers(self) -> View:
        """The reading with numbers."""
        timed, terms = self.timed, self.terms

        def part(deployed: Deployed) -> Part:
            return Part(deployed, deployed.facts, deployed.device)

        return View(
            part(timed.deployed),
            part(_alone(timed.deployed)),
            part(_stored(timed.deployed)),
            timed.lines,
            self.bounds,
            timed.gpu.memory_bytes,
            {
                "tokens": terms.tokens,
                "usable": terms.usable,
                "reserve": terms.reserve_bytes,
                "usd": terms.usd,
                "tdp": self.power,
            },
        )

    @cached_property
    def formulas(self) -> View:
        """The reading with symbols; a collective keeps the algorithm that is cheapest in numbers."""
        timed, terms, space = self.timed, self.terms, Space()
        gpu = timed.gpu

        def positive(name: str) -> Value:
            return space.symbol(name, whole=False)

        def part(deployed: Deployed) -> Part:
            binding = {**symbols(deployed.model, deployed.step, space), **degree_symbols(deployed, space)}
            if deployed is not timed.deployed:
                binding["B"] = binding["B"] if deployed.step.batch == timed.deployed.step.batch else _ranks(binding)
            facts = evaluate(deployed.program, binding)
            return Part(deployed, facts, device(deployed.program, facts, binding))

        whole = part(timed.deployed)
        chosen = {line.id: (line.algorithm, line.span) for line in timed.lines if line.span is not None}
        machine = Machine(gpu, rates(gpu, lambda name, _: positive(name)), timed.machine.place, timed.backend, chosen)
        step, dtype = timed.deployed.step, timed.deployed.model.dtype
        alone = _alone(timed.deployed)
        return View(
            whole,
            whole if alone is timed.deployed else part(alone),
            part(_stored(timed.deployed)),
            lines(timed.deployed.program, whole.held, step.precision, dtype, machine),
            self.bounds,
            space.symbol("memory"),
            {
                "tokens": 1 if terms.tokens == 1 else positive("tokens"),
                "usable": positive("usable"),
                "reserve": 0 if terms.reserve_bytes == 0 else space.symbol("reserve"),
                "usd": None if terms.usd is None else positive("usd"),
                "tdp": None if self.power is None else positive("tdp"),
            },
        )

    def quantity(self, name: str, node: str | None = None) -> Quantity:
        """Return one figure by the same function read off both. SpecError for an unknown one."""
        phase = self.timed.deployed.step.phase
        if node is not None:
            return self._of_row(f"{phase}.{name}/{node}", name, node)
        if name in GPU_FIGURES:
            return self._of_gpu(name)
        if name not in PRICED_FIGURES:
            known = (*PRICED_FIGURES, *GPU_FIGURES)
            raise SpecError("unknown-figure", name, "one of " + ", ".join(known), name, nearest(name, known))
        return _whole(self._read(f"{phase}.{name}", PRICED_FIGURES[name]))

    def _read(self, key: str, found: PricedFigure) -> Quantity:
        return Quantity(key, found.label, found.of(self.numbers), found.unit, found.of(self.formulas))

    def _of_gpu(self, name: str) -> Quantity:
        found = GPU_FIGURES[name]
        key = f"{self.timed.deployed.step.phase}.{name}" if found.phased else name
        value, formula = (
            found.of(view.part if found.phased else view.stored) for view in (self.numbers, self.formulas)
        )
        return Quantity(key, found.label, value, found.unit, formula)

    def _of_row(self, key: str, name: str, node: str) -> Quantity:
        if name != "count" and name not in ROW_FIGURES:
            known = ("count", *ROW_FIGURES)
            raise SpecError("unknown-figure", key, "one of " + ", ".join(known), name, nearest(name, known))
        ids = tuple(line.id for line in self.timed.lines)
        if node not in ids:
            raise SpecError("unknown-node", node, "a kernel of `rooflight estimate`", node, nearest(node, ids))
        at = ids.index(node)
        if name == "count":
            value, formula = (copies(view, at) * times(view, at) for view in (self.numbers, self.formulas))
            return Quantity(key, "Times it runs in the step", value, "copy", formula)
        label, unit, of = ROW_FIGURES[name]
        value, formula = (times(view, at) * of(view.lines[at]) for view in (self.numbers, self.formulas))
        return Quantity(key, label, value, unit, formula)

    def explain(self, name: str, node: str | None = None) -> dict[str, Any]:
        """Return one figure with everything a reader needs to recompute it."""
        return explained(self.quantity(name, node), self.timed.deployed, self.values, self.meanings)

    @cached_property
    def values(self) -> Mapping[str, float]:
        """The number behind every symbol a formula may hold."""
        deployed, gpu, terms = self.timed.deployed, self.timed.gpu, self.terms
        return {
            **symbol_values(deployed.model, deployed.step),
            "B": deployed.binding["B"],
            **degree_values(deployed),
            **{name: gpu.facts[fact].value for name, (fact, _) in SYMBOLS.items() if fact in gpu.facts},
            **{f"r_{form}": fact.value for form, fact in gpu.matmul.items()},
            "memory": gpu.memory_bytes,
            "tokens": terms.tokens,
            "usable": terms.usable,
            "reserve": terms.reserve_bytes,
            **({} if terms.usd is None else {"usd": terms.usd}),
            **({} if self.power is None else {"tdp": self.power}),
        }

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """What the symbols that are not the model's stand for."""
        gpu = self.timed.gpu
        return {
            **degree_meanings(self.timed.deployed),
            **{name: f"{meaning}: {gpu.name}" for name, (_, meaning) in SYMBOLS.items()},
            **{f"r_{form}": f"FLOP/s of matrix products in {form}: {gpu.name}" for form in gpu.matmul},
            "memory": f"bytes of memory: {gpu.name}",
            "tokens": "tokens a sequence gains per step",
            "usable": "share of memory that may be used",
            "reserve": "bytes kept free",
            "usd": "USD of a GPU-hour",
            "tdp": f"watts by design: {gpu.name}",
        }


def _whole(figure: Quantity) -> Quantity:
    """Return a float that is a whole number as an int."""
    value = figure.value
    whole = isinstance(value, float) and value.is_integer() and figure.unit in ("byte", "sequence")
    return Quantity(figure.key, figure.label, int(value) if whole else value, figure.unit, figure.formula)


def _alone(deployed: Deployed) -> Deployed:
    return deployed if deployed.step.batch == 1 else replace(deployed, step=replace(deployed.step, batch=1))


def _stored(deployed: Deployed) -> Deployed:
    """What does not depend on the phase is read off the ordinary graph, not off a decode variant."""
    counting = deployed.step.counting._replace(decode="same")
    return replace(deployed, step=replace(deployed.step, batch=1, counting=counting))


def _ranks(binding: Mapping[str, Value]) -> Value:
    """One sequence on each attention-DP rank."""
    return prod([binding[axis] for axis in ("dp_r", "dp_e", "dp_t")])
