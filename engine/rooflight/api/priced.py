"""Figures of a step on a GPU with their formulas: its rates are symbols too, and a time is a maximum of quotients."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.analysis import evaluate
from rooflight.api.binding import symbol_values, symbols
from rooflight.api.memory import USABLE
from rooflight.api.per_gpu import GPU_FIGURES, Part, degree_meanings, degree_symbols, degree_values, explained
from rooflight.api.steps import Timed
from rooflight.derive.device import device
from rooflight.expr import Space, div, floor_div, max_, named, prod, total
from rooflight.layout import AXES
from rooflight.pricing import BEHIND, BETWEEN, SYMBOLS, Line, Machine, lines, rates
from rooflight.spec import nearest
from rooflight.values import Quantity, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rooflight.api.memory import Deployed
    from rooflight.expr import Value

_HOUR, _MILLION = 3_600, 1_000_000


class Terms(NamedTuple):
    """What of a deployment is neither the model's nor the GPU's.

    tokens   each sequence gains per decode step
    usable   share of memory, of which `reserve_bytes` are kept free
    usd      of a GPU-hour, None where nobody says
    """

    tokens: float = 1.0
    usable: float = USABLE
    reserve_bytes: int = 0
    usd: float | None = None


class View(NamedTuple):
    """One reading of a priced step, with numbers or with symbols."""

    part: Part
    alone: Part  # one sequence per rank
    stored: Part  # the graph that weights are stored by
    lines: tuple[Line, ...]
    memory: Value
    terms: Mapping[str, Value]


class PricedFigure(NamedTuple):
    """A figure of a step on a GPU."""

    label: str
    unit: str
    of: Callable[[View], Value]


def _step(view: View) -> Value:
    """Seconds, layer by layer, so that a formula names what one layer takes before it counts layers."""
    graph = view.part.deployed.program.graph
    layers: dict[int, list[Value]] = {}
    once: list[Value] = []
    for line in view.lines:
        if line.entry or line.group in (BEHIND, BETWEEN):
            once.append(line.spent.longest)
        else:
            layers.setdefault(line.group, []).append(line.spent.longest)
    for group, found in layers.items():
        stack = graph.groups[group]
        if stack.layers is None:
            once += found
        else:
            word = f"seconds_{stack.name.replace('.', '_')}"
            once.append(view.part.facts.group_copies[group] * named(word, total(found)))
    return total(once)


def _rate(view: View) -> Value:
    """Tokens per second of a replica."""
    deployed, binding = view.part.deployed, view.part.facts.binding
    new = view.terms["tokens"] if deployed.step.phase == "decode" else binding["s_q"]
    return div(prod((binding["B"], new)), named("step", _step(view)))


def _gpus(view: View) -> Value:
    return prod([view.part.facts.binding[axis] for axis in AXES])


def _per_gpu_rate(view: View) -> Value:
    return div(_rate(view), _gpus(view))


def _per_user_rate(view: View) -> Value:
    return div(view.terms["tokens"], named("step", _step(view)))


def _max_batch(view: View) -> Value:
    room = view.memory * view.terms["usable"] - view.terms["reserve"] - _figure("weights.bytes", view.stored)
    each = total((_figure("cache.bytes", view.alone), _figure("activations.peak", view.alone)))
    return max_(0, floor_div(room, each))


def _figure(name: str, part: Part) -> Value:
    return named(name.replace(".", "_"), GPU_FIGURES[name].of(part))


def _usd(view: View) -> Value:
    if view.terms["usd"] is None:
        raise SpecError(
            "missing-fact", "price", "what a GPU-hour costs", "nobody says", "give it with --price, or list it"
        )
    return div(prod((view.terms["usd"], _gpus(view), _MILLION)), _HOUR * _rate(view))


PRICED_FIGURES: dict[str, PricedFigure] = {
    "step_s": PricedFigure("Seconds of one step", "second", _step),
    "tok_s_gpu": PricedFigure("Tokens per second of one GPU", "token/s", _per_gpu_rate),
    "tok_s_user": PricedFigure("Tokens per second of one sequence", "token/s", _per_user_rate),
    "usd_per_million": PricedFigure("Price of a million tokens of this step", "USD", _usd),
    "max_batch": PricedFigure("Sequences per attention-DP rank that fit", "sequence", _max_batch),
}


def _work(name: str) -> Callable[[Line], Value]:
    return lambda line: 0 if line.work is None else getattr(line.work, name)


# Of one kernel or collective, in all layers.
ROW_FIGURES: dict[str, tuple[str, str, Callable[[Line], Value]]] = {
    "seconds": ("Seconds", "second", lambda line: line.spent.longest),
    "compute_s": ("Seconds of computing", "second", lambda line: line.spent.compute),
    "memory_s": ("Seconds of reading and writing", "second", lambda line: line.spent.memory),
    "communication_s": ("Seconds of exchanging", "second", lambda line: line.spent.communication),
    "matmul_flops": ("Matrix FLOPs of one GPU", "FLOP", _work("matmul_flops")),
    "other_flops": ("Other FLOPs of one GPU", "FLOP", _work("other")),
    "weight_bytes": ("Weight bytes one GPU reads", "byte", _work("weight_bytes")),
    "activation_bytes": ("Activation bytes one GPU moves", "byte", _work("activation_bytes")),
    "kv_bytes": ("Cache bytes one GPU moves", "byte", _work("kv_bytes")),
    "sent_bytes": ("Bytes one GPU sends", "byte", lambda line: 0 if line.move is None else line.move.sent),
}


class PricedStep:
    """A step on a GPU, read with numbers and with symbols. Of one stage: under pp, stages differ. Raises SpecError."""

    def __init__(self, timed: Timed, terms: Terms) -> None:
        self.timed = timed
        self.terms = terms
        pp = timed.deployed.plan.pp
        if pp > 1:
            raise SpecError("bad-plan", "plan pp", "pp=1 for a formula", str(pp), "leave pp out: stages differ")

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
            timed.gpu.memory_bytes,
            {"tokens": terms.tokens, "usable": terms.usable, "reserve": terms.reserve_bytes, "usd": terms.usd},
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
        return View(
            whole,
            part(_alone(timed.deployed)),
            part(_stored(timed.deployed)),
            lines(timed.deployed.program, whole.held, step.precision, dtype, machine),
            space.symbol("memory"),
            {
                "tokens": 1 if terms.tokens == 1 else positive("tokens"),
                "usable": positive("usable"),
                "reserve": 0 if terms.reserve_bytes == 0 else space.symbol("reserve"),
                "usd": None if terms.usd is None else positive("usd"),
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
        found = PRICED_FIGURES[name]
        return Quantity(f"{phase}.{name}", found.label, found.of(self.numbers), found.unit, found.of(self.formulas))

    def _of_gpu(self, name: str) -> Quantity:
        found = GPU_FIGURES[name]
        key = f"{self.timed.deployed.step.phase}.{name}" if found.phased else name
        value, formula = (
            found.of(view.part if found.phased else view.stored) for view in (self.numbers, self.formulas)
        )
        return Quantity(key, found.label, value, found.unit, formula)

    def _of_row(self, key: str, name: str, node: str) -> Quantity:
        if name not in ROW_FIGURES:
            known = tuple(ROW_FIGURES)
            raise SpecError("unknown-figure", key, "one of " + ", ".join(known), name, nearest(name, known))
        ids = tuple(line.id for line in self.timed.lines)
        if node not in ids:
            raise SpecError("unknown-node", node, "a kernel of `rooflight estimate`", node, nearest(node, ids))
        label, unit, of = ROW_FIGURES[name]
        at = ids.index(node)
        value, formula = (self._times(view, at) * of(view.lines[at]) for view in (self.numbers, self.formulas))
        return Quantity(key, label, value, unit, formula)

    @staticmethod
    def _times(view: View, at: int) -> Value:
        line = view.lines[at]
        return 1 if line.entry or line.group in (BEHIND, BETWEEN) else view.part.facts.group_copies[line.group]

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
        }


def _alone(deployed: Deployed) -> Deployed:
    return deployed if deployed.step.batch == 1 else replace(deployed, step=replace(deployed.step, batch=1))


def _stored(deployed: Deployed) -> Deployed:
    """What does not depend on the phase is read off the ordinary graph, not off a decode variant."""
    counting = deployed.step.counting._replace(decode="same")
    return replace(deployed, step=replace(deployed.step, batch=1, counting=counting))


def _ranks(binding: Mapping[str, Value]) -> Value:
    """One sequence on each attention-DP rank."""
    return prod([binding[axis] for axis in ("dp_r", "dp_e", "dp_t")])
