"""Which plans a model can run under, and why others cannot: the rules by which frameworks cut weights."""

from __future__ import annotations

from itertools import product
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from rooflight.api.cuts import cuts_of
from rooflight.layout import Plan, degrees
from rooflight.spec import nearest
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rooflight.spec import Model

MAX_GPUS = 4_096
UNLAID = ("plan-layout", "plan-stages")  # nothing could be evaluated
_FIELDS = Plan._fields
_LONGEST = 256  # characters of a plan


class Verdict(NamedTuple):
    """A plan and, where it cannot run, the reasons."""

    plan: Plan
    refusals: tuple[SpecError, ...]


def parse_plan(text: str) -> Plan:
    """Read `attn_dp=8,ep=8`. SpecError for an unknown word or a degree that is no whole number from 1."""
    given: dict[str, int] = {}
    if len(text) > _LONGEST:
        raise SpecError("bad-plan", "plan", f"at most {_LONGEST} characters", str(len(text)), "name each degree once")
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in _FIELDS:
            shown = name if name.isidentifier() else repr(name)
            raise SpecError("bad-plan", "plan", "one of " + ", ".join(_FIELDS), shown, nearest(name, _FIELDS))
        if not equals or not (value.isascii() and value.isdigit()) or not 1 <= int(value) <= MAX_GPUS:
            raise SpecError(
                "bad-plan", f"plan {name}", f"a whole number from 1 to {MAX_GPUS}", repr(value), f"{name}=1"
            )
        if name in given:
            raise SpecError("bad-plan", "plan", "every degree once", f"{name} twice", "keep one of the two")
        given[name] = int(value)
    return Plan(**given)


def plan_words(plan: Plan) -> str:
    """Write a plan the way parse_plan reads it, degrees of 1 left out."""
    return ",".join(f"{name}={value}" for name, value in plan._asdict().items() if value != 1) or "attn_dp=1"


class Rules:
    """The rules by which frameworks cut one model. Each looks at a few degrees, so what it said is kept."""

    def __init__(self, model: Model, precision: str = "factory", *, ulysses: bool = False) -> None:
        self.model = model
        self.precision = precision
        self.ulysses = ulysses
        self.said: dict[tuple[object, ...], tuple[SpecError, ...]] = {}

    def refusals(self, plan: Plan) -> tuple[SpecError, ...]:
        """Return why the model cannot run under a plan; nothing where it can."""
        return (
            *self._once(_layout, plan.attn_dp, plan.attn_tp, plan.cp, plan.ep, plan.etp),
            *self._once(self._heads, plan.attn_tp, plan.cp if self.ulysses else 1),
            *self._once(self._experts, plan.ep, plan.etp),
            *self._once(self._weights, "attn_tp", plan.attn_tp),
            *self._once(self._weights, "etp", plan.etp),
            *self._once(self._stages, plan.pp),
        )

    def nearest(self, plan: Plan) -> Plan:
        """Return the valid plan of as many GPUs whose degrees differ least from another's, as ratios."""
        replica = plan.stage_gpus * plan.pp
        shapes = (one._replace(replicas=plan.replicas) for one in _shapes(replica, experts=has_experts(self.model)))
        valid = (one for one in shapes if not self.refusals(one))  # attn_dp over all GPUs always is
        return min(valid, key=lambda one: (_distance(one, plan), *_rank(one)))

    def _once(self, rule: Callable[..., Iterable[SpecError]], *degrees: object) -> tuple[SpecError, ...]:
        key = (rule.__name__, *degrees)
        if key not in self.said:
            self.said[key] = tuple(rule(*degrees))
        return self.said[key]

    def _heads(self, tp: int, cp: int) -> Iterator[SpecError]:
        word, ways = ("plan attn_tp", tp) if cp == 1 else ("plan attn_tp × cp", tp * cp)
        yield from self._shared_heads("n_heads", "n_kv_heads", word, ways)
        yield from self._shared_heads("n_ssm_heads", "n_ssm_groups", "plan attn_tp", tp)

    def _shared_heads(self, many: str, few: str, word: str, ways: int) -> Iterator[SpecError]:
        """Heads must divide; what several of them share must divide too, or repeat."""
        heads, kv = self.model.dims.get(many), self.model.dims.get(few)
        if isinstance(heads, int) and heads % ways:
            near = max(d for d in range(1, ways) if heads % d == 0 and (kv is None or kv % d == 0 or d % kv == 0))
            yield SpecError("plan-heads", word, f"a divisor of {many} = {heads}", str(ways), f"{word[5:]}={near}")
        elif isinstance(kv, int) and kv % ways and ways % kv:
            yield SpecError(
                "plan-heads",
                word,
                f"a divisor of {few} = {kv}, or a multiple, which repeats them",
                str(ways),
                f"{word[5:]}={_divisor(kv, ways)}",
            )

    def _experts(self, ep: int, etp: int) -> Iterator[SpecError]:
        experts = self.model.dims.get("n_experts")
        if not isinstance(experts, int):
            if ep * etp > 1:
                yield SpecError(
                    "plan-experts",
                    "plan ep",
                    "ep=1 and etp=1 in a model without experts",
                    f"ep={ep}, etp={etp}",
                    "use attn_tp",
                )
            return
        if experts % ep:
            yield SpecError(
                "plan-experts",
                "plan ep",
                f"a divisor of n_experts = {experts}",
                str(ep),
                f"ep={_divisor(experts, ep)}",
            )

    def _weights(self, word: str, degree: int) -> Iterator[SpecError]:
        """Widths must divide, and a shard must hold whole quantization blocks: a block's scale cannot be cut."""
        if degree == 1:
            return
        cuts = cuts_of(self.model, self.precision)
        broken = cuts.broken(word, degree)
        if not broken:
            return
        # A divisor of the degree that was asked for: what the rest of the plan was laid out by still fits.
        best = max(d for d in range(1, degree) if degree % d == 0 and not cuts.broken(word, d))
        name, whole, local, block = broken[0]
        if block == 1:
            yield SpecError(
                "plan-width", f"plan {word}", f"a divisor of {name} = {whole}", str(degree), f"{word}={best}"
            )
        else:
            yield SpecError(
                "plan-blocks",
                f"plan {word}",
                f"{name} {whole} / {word} a multiple of the block of {block}",
                str(local),
                f"{word}={best}",
            )

    def _stages(self, pp: int) -> Iterator[SpecError]:
        drafts = {stage.name for stage in self.model.spec.stages if stage.part == "draft"}
        layers = sum(len(run) for name, run in self.model.layers.items() if name not in drafts)
        if pp > max(layers, 1):
            yield SpecError(
                "plan-stages", "plan pp", f"at most {layers} stages, one layer each", str(pp), f"pp={layers}"
            )


def refusals(model: Model, plan: Plan, precision: str = "factory", *, ulysses: bool = False) -> tuple[SpecError, ...]:
    """Return why a model cannot run under a plan; nothing where it can."""
    return Rules(model, precision, ulysses=ulysses).refusals(plan)


def nearest_plan(model: Model, plan: Plan) -> Plan:
    """Return the valid plan of as many GPUs whose degrees differ least from another's, as ratios."""
    return Rules(model).nearest(plan)


def _layout(dp: int, tp: int, cp: int, ep: int, etp: int) -> Iterator[SpecError]:
    try:
        degrees(Plan(dp, tp, cp, ep, etp))
    except SpecError as error:
        yield error


def _divisor(whole: int, near: int) -> int:
    return max(d for d in range(1, min(whole, near) + 1) if whole % d == 0)


def replicated(plan: Plan, gpus: int) -> Plan:
    """Return a plan repeated until it fills some GPUs. SpecError where it does not divide them."""
    within("gpus", gpus)
    if gpus % plan.gpus:
        raise SpecError(
            "bad-plan",
            "gpus",
            f"a multiple of the {plan.gpus} GPUs of {plan_words(plan)}",
            str(gpus),
            f"{-(-gpus // plan.gpus) * plan.gpus} GPUs, or another plan",
        )
    return plan._replace(replicas=plan.replicas * (gpus // plan.gpus))


def within(word: str, gpus: int) -> None:
    """Refuse a number of GPUs out of bounds."""
    if not 1 <= gpus <= MAX_GPUS:
        raise SpecError("bad-plan", word, f"a whole number from 1 to {MAX_GPUS}", str(gpus), "choose fewer")


def plans(model: Model, gpus: int) -> tuple[Verdict, ...]:
    """Return every plan of a replica on some GPUs: valid ones first, and of those the ones that repeat no expert.

    SpecError for a number of GPUs out of bounds.
    """
    within("gpus", gpus)
    rules = Rules(model)
    found = [Verdict(plan, rules.refusals(plan)) for plan in _shapes(gpus, experts=has_experts(model))]
    return tuple(sorted(found, key=lambda verdict: (len(verdict.refusals) > 0, *_rank(verdict.plan))))


def _shapes(gpus: int, *, experts: bool) -> Iterator[Plan]:
    divisors = [d for d in range(1, gpus + 1) if gpus % d == 0]
    for dp, tp, cp in product(divisors, repeat=3):
        stage = dp * tp * cp
        if gpus % stage:
            continue
        inside = [d for d in divisors if stage % d == 0] if experts else [1]
        for ep, etp in product(inside, repeat=2):
            if stage % (ep * etp) == 0:
                yield Plan(dp, tp, cp, ep, etp, gpus // stage)


def has_experts(model: Model) -> bool:
    """Say whether a model routes tokens to experts."""
    return isinstance(model.dims.get("n_experts"), int)


def _rank(plan: Plan) -> tuple[int, Plan]:
    return plan.stage_gpus // max(plan.ep * plan.etp, 1), plan


def _distance(one: Plan, other: Plan) -> float:
    return sum(abs(log2(mine / theirs)) for mine, theirs in zip(one, other, strict=True))
