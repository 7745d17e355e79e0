"""Whether a plan fits on a GPU, how many requests it holds, and what limits them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.analysis import Analysis, evaluate
from rooflight.api.binding import numbers, step_size
from rooflight.api.formula import json_number
from rooflight.api.plans import MAX_GPUS, UNLAID, Rules, has_experts, plan_words
from rooflight.api.recent import Recent
from rooflight.derive.device import Device, device, peak_activations
from rooflight.expr import total
from rooflight.graph import expand
from rooflight.layout import Plan, degrees
from rooflight.spec import storage_under
from rooflight.values import SpecError
from rooflight.walk import Family, Program, compile_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rooflight.api.binding import StepSize
    from rooflight.expr import Value
    from rooflight.spec import Model, Precision

_PROGRAMS: Recent[Program] = Recent(16)
MAX_TOKENS = 10**8  # of a prompt or an answer
USABLE = 0.9  # of a GPU's memory, where nothing else is said


@dataclass
class Deployed:
    """A model in one step under one plan, a batch per attention-DP rank: tables, and one GPU's part of them."""

    model: Model
    step: StepSize
    plan: Plan
    family: Family = field(default_factory=Family)

    @cached_property
    def program(self) -> Program:
        """The sharded program, which all plans of a family share."""
        step = self.step
        key = (step.phase, step.drafts, step.counting, step.precision, self.family)
        return _PROGRAMS.get(self.model, key, self._compiled)

    def _compiled(self) -> Program:
        model, step = self.model, self.step
        graph = expand(
            model,
            step.phase,
            drafts=step.drafts,
            variants=step.counting.decode == "variant",
            storage=storage_under(step.precision, model.storage, model.library.schemes),
            states=step.precision.states,
        )
        return compile_graph(graph, step.counting, shards=model.library.dims.shards, family=self.family)

    @property
    def degrees(self) -> dict[str, int]:
        """The degree of every mesh axis."""
        return degrees(self.plan)

    @cached_property
    def binding(self) -> Mapping[str, Value]:
        """Numbers of all sequences of the step, and the degrees."""
        bound = numbers(self.model, self.step)
        return {**bound, "B": self.step.batch * self.plan.attn_dp, **self.degrees}

    @cached_property
    def facts(self) -> Analysis:
        """The tables, over all GPUs."""
        return evaluate(self.program, self.binding)

    @cached_property
    def device(self) -> Device:
        """One GPU's part."""
        return device(self.program, self.facts, self.binding)


class Stage(NamedTuple):
    """One pipeline stage: how many layers of each group it runs, and whether it has what stands before and after."""

    layers: Mapping[int, int]  # group -> layers
    first: bool
    last: bool


def stages(deployed: Deployed) -> tuple[Stage, ...]:
    """Cut the layers into contiguous stages so that the heaviest is as light as can be, by what it reads of weights."""
    program, held = deployed.program, deployed.device
    groups = program.graph.groups
    weight: dict[int, float] = {}
    for index, step in enumerate(program.steps):
        group = step.node.group
        weight[group] = weight.get(group, 0.0) + float(held.stored_bytes[index] * held.copies[index])
    order: list[int] = []
    for stage in dict.fromkeys(group.stage for group in groups):
        layers = [(layer, at) for at, g in enumerate(groups) if g.stage == stage and g.layers for layer in g.layers]
        order += [at for _, at in sorted(layers)]
    before = sum(weight.get(at, 0.0) for at, g in enumerate(groups) if g.layers is None and at < min(order, default=0))
    after = sum(weight.get(at, 0.0) for at, g in enumerate(groups) if g.layers is None) - before
    if deployed.plan.pp > 1:
        after += float(sum(held.tied_bytes))
    parts = _cut([weight[at] for at in order], deployed.plan.pp, before, after)
    found: list[Stage] = []
    start = 0
    for index, count in enumerate(parts):
        counted: dict[int, int] = {}
        for at in order[start : start + count]:
            counted[at] = counted.get(at, 0) + 1
        found.append(Stage(counted, index == 0, index == len(parts) - 1))
        start += count
    return tuple(found)


def _cut(weights: Sequence[float], parts: int, before: float, after: float) -> list[int]:
    """Return the sizes of contiguous parts whose heaviest is lightest, the evenest of those that are.

    The first and the last carry extra weight.
    """
    count = len(weights)
    sums = [0.0]
    for value in weights:
        sums.append(sums[-1] + value)

    def load(part: int, start: int, end: int) -> float:
        return sums[end] - sums[start] + (before if part == 0 else 0.0) + (after if part == parts - 1 else 0.0)

    def cut(worst: Callable[[float, float], float]) -> tuple[float, list[list[int]]]:
        best: list[list[float]] = [[float("inf")] * (count + 1) for _ in range(parts)]
        came: list[list[int]] = [[0] * (count + 1) for _ in range(parts)]
        for end in range(count + 1):
            best[0][end] = worst(0.0, load(0, 0, end))
        for part in range(1, parts):
            for end in range(part, count + 1):
                for start in range(part, end):
                    found = worst(best[part - 1][start], load(part, start, end))
                    if found < best[part][end]:
                        best[part][end], came[part][end] = found, start
        return best[-1][count], came

    heaviest, _ = cut(max)
    # Of all cuts with that heaviest part the evenest: the sum of squares decides.
    _, came = cut(lambda so_far, mine: so_far + mine * mine if mine <= heaviest else float("inf"))
    sizes: list[int] = []
    end = count
    for part in range(parts - 1, 0, -1):
        sizes.append(end - came[part][end])
        end = came[part][end]
    return [*reversed([*sizes, end])]


def per_stage(deployed: Deployed, column: Sequence[Value], stage: Stage) -> Value:
    """Sum a column of one GPU's part over a stage."""
    times = runs(deployed.program, stage)
    return total(
        [
            column[index] * deployed.device.copies[index] * times[step.node.group]
            for index, step in enumerate(deployed.program.steps)
        ]
    )


def runs(program: Program, stage: Stage) -> list[int]:
    """Return how often a stage runs each group."""
    groups = program.graph.groups
    first = min((at for at, group in enumerate(groups) if group.layers is not None), default=0)
    return [
        stage.layers.get(at, 0) if group.layers is not None else int(stage.first if at < first else stage.last)
        for at, group in enumerate(groups)
    ]


def memory(
    model: Model,
    plan: Plan,
    capacity_bytes: int,
    *,
    input_tokens: int,
    output_tokens: int,
    context: int | None = None,
    usable: float = USABLE,
    reserve_bytes: int = 0,
    precision: str | Precision = "factory",
    drafts: bool = False,
    new_tokens: int = 1,
    ep_load_factor: Value = 1,
    family: Family | None = None,
) -> dict[str, Any]:
    """Return what a plan's fullest GPU holds and how many requests per attention-DP rank fit beside the weights.

    A request is held at its full context, input and output, or at `context` where that is longer. Prefill holds the
    input's cache and its activations.
    """
    for name, value, least, most in (
        ("usable", usable, 0, 1),
        ("output_tokens", output_tokens, 1, MAX_TOKENS),
        ("input_tokens", input_tokens, 1, MAX_TOKENS),
        ("reserve_bytes", reserve_bytes, 0, 1 << 60),
    ):
        if not isinstance(value, int | float) or not least <= value <= most:  # type: ignore[reportUnnecessaryIsInstance]
            raise SpecError("bad-step", name, f"a number from {least} to {most}", repr(value), f"correct {name}")
    context = max(context or 0, input_tokens + output_tokens)
    knobs: dict[str, Any] = {"precision": precision, "drafts": drafts, "ep_load_factor": ep_load_factor}
    prefill = Deployed(model, step_size(model, "prefill", context=input_tokens, **knobs), plan, family or Family())
    verify = step_size(model, "decode", context=context, new_tokens=new_tokens, **knobs)
    decode = Deployed(model, verify, plan, family or Family())
    budget = floor(capacity_bytes * usable) - reserve_bytes
    act_prefill = peak_activations(prefill.program, prefill.device)
    act_decode = peak_activations(decode.program, decode.device)
    rows: list[dict[str, Any]] = []
    for stage, other in zip(stages(prefill), stages(decode), strict=True):
        weights = per_stage(prefill, prefill.device.stored_bytes, stage)
        if not stage.first:  # its token table stands on another stage
            weights += per_stage(prefill, prefill.device.tied_bytes, stage)
        cached = _per_request(decode, other)
        prompt = _per_request(prefill, stage)
        rows.append(
            {
                "layers": sum(stage.layers.values()),
                "weights_bytes": weights,
                "kv_bytes_per_request": cached,
                "max_batch_decode": _fits(budget - weights, cached + act_decode),
                "max_batch_prefill": _fits(budget - weights, prompt + act_prefill),
                "prompt_bytes_per_request": prompt,
            }
        )
    fullest = max(rows, key=lambda row: row["weights_bytes"])
    tightest = min(rows, key=lambda row: row["max_batch_decode"])
    narrowest = min(rows, key=lambda row: row["max_batch_prefill"])
    fits = all(min(row["max_batch_decode"], row["max_batch_prefill"]) > 0 for row in rows)
    return {
        "context": context,
        "capacity_bytes": capacity_bytes,
        "usable_bytes": floor(capacity_bytes * usable),
        "reserve_bytes": reserve_bytes,
        "weights_bytes": json_number(fullest["weights_bytes"]),
        "kv_bytes_per_request": json_number(tightest["kv_bytes_per_request"]),
        "activation_bytes_per_request": {"prefill": json_number(act_prefill), "decode": json_number(act_decode)},
        "max_batch_decode": tightest["max_batch_decode"],
        "max_batch_prefill": narrowest["max_batch_prefill"],
        "fits": fits,
        "limits": {
            "decode": _limit(tightest["kv_bytes_per_request"], act_decode, budget - tightest["weights_bytes"]),
            "prefill": _limit(narrowest["prompt_bytes_per_request"], act_prefill, budget - narrowest["weights_bytes"]),
        },
        "stages": [{name: json_number(value) for name, value in row.items()} for row in rows],
    }


def _per_request(deployed: Deployed, stage: Stage) -> Value:
    """Bytes the cache of one request takes on one GPU of a stage; the step has one request per rank."""
    return per_stage(deployed, deployed.device.cache_bytes, stage)


def _fits(room: Value, each: Value) -> int:
    return max(0, floor(room / each)) if each else 0


def _limit(cache: Value, activations: Value, room: Value) -> str:
    if room <= 0:
        return "weights"
    return "kv" if cache >= activations else "activations"


def deployment(model: Model, plan: Plan, *, precision: str = "factory", family: Family | None = None) -> dict[str, Any]:
    """Return a plan with its GPUs and why it could not run, if so: it is evaluated all the same, and marked.

    SpecError, naming the nearest plan that can run, where experts cannot even be laid over the GPUs of a stage, or
    there are more stages than layers.
    """
    replica = plan.stage_gpus * plan.pp
    if replica > MAX_GPUS:
        raise SpecError("bad-plan", "plan", f"at most {MAX_GPUS} GPUs in a replica", str(replica), "choose fewer")
    rules = Rules(model, precision, ulysses=family is not None and family.ulysses)
    reasons = rules.refusals(plan)
    nearest = plan_words(rules.nearest(plan)) if reasons else None
    for error in reasons:
        if error.code in UNLAID:
            raise SpecError(error.code, error.where, error.expected, error.got, f"the nearest plan is {nearest}")
    return {
        "plan": plan_words(plan),
        "gpus": plan.gpus,
        "ranks": plan.attn_dp * plan.replicas,
        "expert_copies": max(1, plan.stage_gpus // (plan.ep * plan.etp)) if has_experts(model) else 1,
        "valid": not reasons,
        "refusals": [error.as_json() for error in reasons],
        "nearest": nearest,
    }
