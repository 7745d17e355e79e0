"""What an estimate takes for granted, said in words: everything that would change its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.api.plans import has_experts, plan_words
from rooflight.pricing import wider
from rooflight.values import BITS, PACKED_BITS

if TYPE_CHECKING:
    from rooflight.api.estimate import Estimate
    from rooflight.api.steps import Timed


def assumptions(estimate: Estimate) -> list[str]:
    """Return sentences, the general ones first."""
    return [
        *_picked(estimate),
        *_general(estimate),
        *_experts(estimate),
        *_guesses(estimate),
        *_pipeline(estimate),
        *[f"{estimate.gpu.name} {one}" for one in fallbacks(estimate)],
        *_unstated(estimate),
        *_beyond(estimate),
        *_money(estimate),
    ]


def _picked(estimate: Estimate) -> list[str]:
    if not estimate.picked:
        return []
    words = plan_words(estimate.plan)
    if not estimate.memory["fits"]:
        return [f"No plan was named, and none of the usual ones holds a request: {words} lacks least."]
    return [f"No plan was named: {words} puts out most tokens per GPU of the usual ones."]


def _general(estimate: Estimate) -> list[str]:
    ask = estimate.ask
    head = "the last position" if ask.head == "last" else "every position"
    prompts = "one prompt" if ask.prefill_batch == 1 else f"{ask.prefill_batch:,} prompts"
    return [
        "Speed of light: one kernel after another, each as long as its slowest resource takes at its peak.",
        "Nothing is fused but attention's score, softmax and apply, and rows that are spread with their exchange.",
        f"Decode: every sequence holds {_tokens(estimate.context)}.",
        f"TTFT: {prompts} of {ask.input_tokens:,} tokens per attention-DP rank, on idle GPUs; logits of {head}.",
        f"Memory: every request takes the cache of {estimate.memory['context']:,} tokens.",
    ]


def _tokens(count: int) -> str:
    return "one token" if count == 1 else f"{count:,} tokens"


def _experts(estimate: Estimate) -> list[str]:
    if not has_experts(estimate.model):
        return []
    said = ["Tokens choose experts independently and uniformly."]
    if estimate.plan.ep > 1:
        factor = float(estimate.ask.ep_load_factor)
        rows = "as many rows as the others" if factor == 1 else f"{factor:g} times the average number of rows"
        said.append(f"The busiest GPU of experts gets {rows}.")
    return said


def _guesses(estimate: Estimate) -> list[str]:
    ask = estimate.ask
    if not ask.speculative:
        return []
    guessed = f"{ask.speculative} tokens are guessed ahead per step, each accepted with probability {ask.acceptance:g}"
    said = [f"{guessed} once all before it were: {estimate.tokens_per_step:.4g} tokens per step."]
    if not ask.drafts:
        said.append("Guessing itself takes no time: no draft heads are deployed.")
    return said


def _pipeline(estimate: Estimate) -> list[str]:
    if estimate.plan.pp == 1:
        return []
    filled = f"Decode: {estimate.micro_batches} micro batches are in {estimate.plan.pp} stages at once"
    return [f"{filled}; the slowest stage sets the pace.", "Kernels are of that stage and one micro batch."]


def _unstated(estimate: Estimate) -> list[str]:
    gpu, said = estimate.gpu, list[str]()
    steps = (estimate.prefill, estimate.decode)
    if "vector" not in gpu.facts and any(line.work and line.work.other for step in steps for line in step.lines):
        said.append(f"Work outside the matrix units takes no time: the file of {gpu.name} states no rate.")
    where = estimate.decode.machine.place
    for fact, between, used in (
        ("scale_up_latency", "inside a domain", where.per_domain > 1),
        ("scale_out_latency", "between domains", where.gpus > where.per_domain),
    ):
        if used and fact not in gpu.facts:
            said.append(f"Links {between} have no latency: the file of {gpu.name} states none.")
    return said


def _beyond(estimate: Estimate) -> list[str]:
    said: list[str] = []
    published = estimate.model.max_context
    if estimate.longest > published:
        said.append(
            f"Beyond the published context of {published:,} tokens: extrapolated, the model was not made for it."
        )
    if not estimate.memory["fits"]:
        said.append("It does not fit: priced all the same.")
    if estimate.gpu.status == "announced":
        said.append(f"{estimate.gpu.name} is announced, not shipping: its figures may change.")
    return said


def _money(estimate: Estimate) -> list[str]:
    said: list[str] = []
    hourly = estimate.usd_per_gpu_hour
    if hourly is not None:
        said.append(f"A GPU-hour costs {hourly:g} USD ({estimate.price_source}); all GPUs of a replica are billed.")
        said.append("Input is priced by prefill of as many prompts as fit, output by this decode step.")
    if "tdp" in estimate.gpu.facts:
        said.append("Energy: every GPU draws its design power all the time; hosts and network are left out.")
    return said


def fallbacks(estimate: Estimate) -> list[str]:
    """Return what the GPU's matrix units lack, and what runs instead."""
    bits = BITS | PACKED_BITS
    found: dict[tuple[str, str], None] = {}
    for step in (estimate.prefill, estimate.decode):
        for wanted, ran in _products(step):
            if bits[wanted] != bits[ran]:
                found[wanted, ran] = None
    named = [f"multiplies no {wanted}: those products run in {ran}." for wanted, ran in found]
    if estimate.precision != estimate.profile:
        named.append(f"keeps activations in {estimate.precision.activations}, on links too.")
    return named


def _products(step: Timed) -> list[tuple[str, str]]:
    return [(wider(line.work.operands), line.work.runs_in) for line in step.lines if line.work and line.work.operands]
