"""A plan where none is named: of the usual ones the one whose GPUs put out most tokens per second.

Where none of them holds a request, the one that comes nearest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.api.estimate import Ask, Estimate
from rooflight.api.plans import MAX_GPUS, Rules, has_experts, parse_plan, replicated, within
from rooflight.layout import Plan
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.hardware import Fact, Gpu
    from rooflight.spec import Model

_MOST_TRIED = 256  # GPUs, where the fewest are looked for


def chosen(model: Model, gpu: Gpu, words: str, gpus: int | None, ask: Ask, listed: Fact | None = None) -> Estimate:
    """Return the plan that is named, repeated to fill the GPUs; without a name the one that suits model and GPU best.

    SpecError where a named plan does not divide the GPUs, or no plan could be priced.
    """
    if words.strip():
        plan = parse_plan(words)
        return Estimate(model, gpu, plan if gpus is None else replicated(plan, gpus), ask, listed)
    return suited(model, gpu, gpus or 1, ask, listed)


def suited(model: Model, gpu: Gpu, gpus: int, ask: Ask, listed: Fact | None = None) -> Estimate:
    """Return the deployment on some GPUs that puts out most tokens per second, of those that hold a request.

    Tried are: experts over all GPUs of a replica, whose attention ranks take different sequences; without experts heads
    and widths over GPUs that fast links join, and stages of such groups where one alone is too small. Replicas fill
    the GPUs. Where none holds a request, it is the one whose fullest GPU lacks least.
    """
    within("gpus", gpus)
    rules = Rules(model, ask.precision)
    found: list[Estimate] = []
    refused: SpecError | None = None
    for plans in _usual(
        gpus, int(gpu.facts["scale_up_domain"].value) if "scale_up_domain" in gpu.facts else gpus, model
    ):
        for plan in plans:
            if rules.refusals(plan):
                continue
            try:
                tried = Estimate(model, gpu, plan, ask, listed, picked=True)
                _ = tried.output_rate
            except SpecError as error:
                refused = error
                continue
            found.append(tried)
        if any(one.memory["fits"] for one in found):
            break
    if not found:
        raise refused or SpecError(
            "bad-plan",
            "gpus",
            f"a number of GPUs from 1 to {MAX_GPUS} that divides the model",
            str(gpus),
            "name a plan",
        )
    return max(found, key=_worth)


def _worth(one: Estimate) -> tuple[bool, float]:
    if one.memory["fits"]:
        return True, one.output_rate / one.replica_gpus
    return False, -float(one.needed_bytes)


def _usual(gpus: int, domain: int, model: Model) -> Iterator[list[Plan]]:
    """Yield plans to choose among; later ones only where none of the earlier ones holds a request."""
    parts = [n for n in range(1, gpus + 1) if gpus % n == 0]
    if has_experts(model):
        yield [Plan(attn_dp=n, ep=n, replicas=gpus // n) for n in parts]
        return
    near = [n for n in parts if n <= domain]
    yield [Plan(attn_tp=n, replicas=gpus // n) for n in near]
    yield [
        Plan(attn_tp=n, pp=stages, replicas=gpus // (n * stages))
        for n in near
        for stages in parts
        if stages > 1 and gpus % (n * stages) == 0
    ]


def smallest(model: Model, gpu: Gpu, ask: Ask | None = None, listed: Fact | None = None) -> Estimate:
    """Return the deployment on the fewest GPUs, doubling from one, that holds a request.

    Where not even the most do, the one with the most.
    """
    gpus = 1
    while True:
        tried = suited(model, gpu, gpus, ask or Ask(), listed)
        if tried.memory["fits"] or gpus >= _MOST_TRIED:
            return tried
        gpus *= 2


def enough(short: Estimate) -> Estimate | None:
    """Return the deployment on the fewest GPUs, doubling from one, that holds what another cannot hold; None if none.

    Under a plan that somebody named it is another plan, too.
    """
    if short.memory["fits"]:
        return None
    found = smallest(short.model, short.gpu, short.ask, short.listed)
    return found if found.memory["fits"] else None
