"""Whether a plan fits on a GPU, how many requests it holds, and what limits them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import floor, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.analysis import Analysis, evaluate
from rooflight.api.binding import numbers, step_size
from rooflight.api.formula import json_number
from rooflight.api.plans import MAX_GPUS, UNLAID, Rules, has_experts, plan_words
from rooflight.api.recent import Recent
from rooflight.derive.device import Collective, Device, device, peak_activations
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
    from rooflight.spec import Model

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
        )
        return compile_graph(graph, step.counting, shards=model.library.dims.shards, family=self.family)

    @cached_property
    def binding(self) -> Mapping[str, Value]:
        """Numbers of all sequences of the step, and the degrees."""
        bound = numbers(self.model, self.step)
        return {**bound, "B": self.step.batch * self.plan.attn_dp, **degrees(self.plan)}

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
    times = _times(deployed.program, stage)
    return total(
        [
            column[index] * deployed.device.copies[index] * times[step.node.group]
            for index, step in enumerate(deployed.program.steps)
        ]
    )


def _times(program: Program, stage: Stage) -> list[int]:
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
    usable: float = USABLE,
    reserve_bytes: int = 0,
    precision: str = "factory",
    drafts: bool = False,
    family: Family | None = None,
) -> dict[str, Any]:
    """Return what a plan's fullest GPU holds and how many requests per attention-DP rank fit beside the weights.

    A request is held at its full context, input and output; prefill holds the input's cache and its activations.
    """
    for name, value, least, most in (
        ("usable", usable, 0, 1),
        ("output_tokens", output_tokens, 1, MAX_TOKENS),
        ("input_tokens", input_tokens, 1, MAX_TOKENS),
        ("reserve_bytes", reserve_bytes, 0, 1 << 60),
    ):
        if not isinstance(value, int | float) or not least <= value <= most:  # type: ignore[reportUnnecessaryIsInstance]
            raise SpecError("bad-step", name, f"a number from {least} to {most}", repr(value), f"correct {name}")
    context = input_tokens + output_tokens
    knobs: dict[str, Any] = {"precision": precision, "drafts": drafts}
    prefill = Deployed(model, step_size(model, "prefill", context=input_tokens, **knobs), plan, family or Family())
    decode = Deployed(model, step_size(model, "decode", context=context, **knobs), plan, family or Family())
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


def kernels(deployed: Deployed) -> list[dict[str, Any]]:
    """Return one row per node and collective of a step, with one GPU's shapes; figures are of all its layers.

    Under pipeline parallelism the GPU is of the busiest stage, for which the others wait.
    """
    rows: list[dict[str, Any]] = []
    program, held = deployed.program, deployed.device
    stage = stages(deployed)[busiest(deployed)]
    runs = _times(program, stage)
    for index, step in enumerate(program.steps):
        times = runs[step.node.group]
        if not times:
            continue
        entering = int(stage.first)  # what a stack is entered with was settled by who sent it
        rows += [
            _moved(deployed, move, step.node.id, entering if move.entry else times) for move in held.collectives[index]
        ]
        if step.node.op.view and step.cached is None:
            continue
        copies = held.copies[index] * times
        rows.append(
            {
                "id": step.node.id,
                "op": step.node.op.name,
                "count": json_number(copies),
                "shape": [json_number(length) for length in held.shape[index]],
                "layout": held.layouts[index],
                "matmul_flops": json_number(held.matmul[index] * copies),
                "other_flops": json_number(held.other[index] * copies),
                "weight_bytes": json_number(held.weight_bytes[index] * copies),
                "activation_bytes": json_number(held.activation_bytes[index] * copies),
                "kv_bytes": json_number(held.kv_bytes[index] * copies),
            }
        )
    rows += [_moved(deployed, move, "logits", 1) for move in held.ends if stage.last]
    rows = [row for row in rows if row.get("group", 2) > 1 and row["count"]]
    if not stage.last:
        rows.append(_sent_on(deployed))
    return rows


def busiest(deployed: Deployed) -> int:
    """Return the place of the stage that moves most bytes of weights, cache and activations in the step."""
    held, parts = deployed.device, stages(deployed)
    moved = [sum(each) for each in zip(held.weight_bytes, held.kv_bytes, held.activation_bytes, strict=True)]
    return max(range(len(parts)), key=lambda at: (per_stage(deployed, moved, parts[at]), -at))


def _moved(deployed: Deployed, move: Collective, reader: str, times: Value) -> dict[str, Any]:
    return {
        "id": f"{reader}:{move.kind}",
        "op": move.kind,
        "group": prod(deployed.binding[axis] for axis in move.group),
        "axes": [axis for axis in move.group if deployed.binding[axis] > 1],
        "count": json_number(times),
        "bytes": json_number(move.bytes * times),
        "sent_bytes": json_number(move.sent * times),
    }


def _sent_on(deployed: Deployed) -> dict[str, Any]:
    """The trunk crosses from every stage to the next; nothing else in these models does."""
    program, held = deployed.program, deployed.device
    seam = program.graph.seams[0]
    size = held.written_bytes[seam.leaves]
    return {
        "id": "trunk:send",
        "op": "send",
        "group": 2,
        "axes": ["pp"],
        "count": 1,
        "bytes": json_number(size),
        "sent_bytes": json_number(size),
    }


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
