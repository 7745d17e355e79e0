"""Laws of a step's time: better GPUs are never slower, nothing beats a ceiling, experts and guesses cost their part."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost.machines import chip, other
from oracles.material import fault
from plans.deployed import (
    DENSE,
    EXPERTS,
    FAMILIES,
    LLAMA,
    MIXTRAL,
    PHASES,
    QWEN_MOE,
    TIED,
    V2_LITE,
    V3,
    model,
    plans_of,
)
from rooflight import api
from rooflight.edge.machines import all_gpus, open_gpu
from rooflight.layout import Plan

GPU = chip(
    [("BF16", 1e15), ("F8_E4M3", 2e15)], scale_up_latency=2e-6, scale_out_latency=5e-6, scale_up_domain=4, vector=5e13
)
RATES = (
    "memory_bandwidth",
    "vector",
    "BF16",
    "F8_E4M3",
    "scale_up_bandwidth",
    "scale_out_bandwidth",
    "scale_up_latency",
    "scale_out_latency",
)
each_phase = pytest.mark.parametrize("phase", PHASES)
each_model = pytest.mark.parametrize("name", [*DENSE, *EXPERTS])
few = settings(max_examples=4, deadline=None)


def step_of(name, gpu=GPU, phase="decode", plan=None, family=None, **sizes):
    bound = model(name)
    return api.timed(bound, api.step_size(bound, phase, **{"context": 256, **sizes}), plan or Plan(), gpu, family)


def total(timed, column, of="work"):
    times = timed.times(timed.stages[0])
    parts = ((getattr(line, of), count) for line, count in zip(timed.lines, times, strict=True))
    return float(sum(getattr(part, column) * count for part, count in parts if part is not None))


@each_model
@each_phase
@few
@given(data=st.data())
def test_a_better_gpu_is_never_slower(name, phase, data):
    """One figure at a time: ten times the rate, or a tenth of the wait; and a tenth of the rate is never faster."""
    plan, family = data.draw(plans_of(name)), data.draw(st.sampled_from(FAMILIES))
    timed = step_of(name, GPU, phase, plan, family, batch=data.draw(st.sampled_from((1, 3, 64))))
    (seconds,) = timed.seconds
    for key in RATES:
        value = (GPU.facts.get(key) or GPU.matmul[key]).value
        better, worse = (1 / 10, 10) if key.endswith("latency") else (10, 1 / 10)
        for factor, sign in ((better, 1), (worse, -1)):
            (found,) = api.Timed(timed.deployed, other(GPU, key, value * factor)).seconds
            assert sign * found <= sign * seconds, (key, factor)
    faster = GPU._replace(facts={**GPU.facts}, matmul={**GPU.matmul})
    for key in RATES:
        value = (GPU.facts.get(key) or GPU.matmul[key]).value
        faster = other(faster, key, value / 10 if key.endswith("latency") else value * 10)
    (found,) = api.Timed(timed.deployed, faster).seconds
    assert isclose(found, seconds / 10, rel_tol=1e-9), "everything ten times as fast takes a tenth"


@each_model
@each_phase
@few
@given(data=st.data())
def test_no_step_beats_a_ceiling(name, phase, data):
    plan, family = data.draw(plans_of(name)), data.draw(st.sampled_from(FAMILIES))
    timed = step_of(name, GPU, phase, plan, family, batch=data.draw(st.sampled_from((1, 32))))
    (seconds,) = timed.seconds
    facts = {key: fact.value for key, fact in GPU.facts.items()}
    read = total(timed, "weight_bytes") + total(timed, "kv_bytes")
    best = max(rate.value for rate in GPU.matmul.values())
    if name == DENSE[1]:
        best = facts["vector"]  # F32
    ceilings = {
        "memory": read / facts["memory_bandwidth"],
        "matmul": total(timed, "matmul_flops") / best,
        "other": total(timed, "other") / facts["vector"],
        "sent": total(timed, "sent", "move") / (facts["scale_up_bandwidth"] + facts["scale_out_bandwidth"]),
    }
    assert all(ceilings[key] for key in ("memory", "matmul", "other"))
    assert bool(ceilings["sent"]) == any(line.move is not None for line in timed.lines)
    for what, ceiling in ceilings.items():
        assert seconds >= ceiling * (1 - 1e-9), what


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.id)
def test_one_token_reads_every_weight(gpu):
    """Llama 3.1 8B has 8,030,261,248 parameters, of which 128,256 × 4,096 are the table, of which one row is read."""
    timed = step_of(LLAMA, gpu, context=1)
    read = 2 * (8_030_261_248 - 128_256 * 4_096 + 4_096)
    assert total(timed, "weight_bytes") == read
    (seconds,) = timed.seconds
    bandwidth = gpu.facts["memory_bandwidth"].value
    assert read / bandwidth <= seconds < 1.01 * read / bandwidth, "and little else"


def test_expert_parallel_gpus_read_the_union_of_what_their_tokens_chose():
    """E_local (1 − (1 − k/E)^tokens) experts, tokens being those of all GPUs."""
    experts, chosen, width = 128, 8, 3 * 2048 * 768 * 2
    for batch, plan in ((1, Plan()), (8, Plan(attn_dp=4, ep=4)), (3, Plan(attn_dp=2, attn_tp=2, ep=4)), (64, Plan())):
        timed = step_of(QWEN_MOE, plan=plan, batch=batch)
        expected = experts / plan.ep * (1 - (1 - chosen / experts) ** (batch * plan.attn_dp)) * width
        products = [line.work for line in timed.lines if ".experts." in line.id and line.work.operands]
        assert len(products) == 3
        assert sum(float(work.weight_bytes) for work in products) == pytest.approx(expected, rel=1e-12)


def test_the_union_of_experts_of_a_batch():
    """moe-expert-union: 111.771 of 128 experts; of the embedding table, which the case leaves out, a row each."""
    given, expected = fault("moe-expert-union")
    assert given["model"] == QWEN_MOE
    timed = step_of(QWEN_MOE, batch=given["batch"])
    assert round(total(timed, "weight_bytes") - given["batch"] * 2048 * 2) == expected["weight_bytes_read"]
    memory = sum(
        line.work.weight_bytes * count
        for line, count in zip(timed.lines, timed.times(timed.stages[0]), strict=True)
        if line.work
    )
    assert timed.seconds[0] >= memory / GPU.facts["memory_bandwidth"].value


def changed(name, plan, phase, factor):
    """What a load factor scales, per line: (figure, how many times as much)."""
    one, loaded = (step_of(name, phase=phase, plan=plan, batch=8, ep_load_factor=by) for by in (1, factor))
    found = {}
    for before, after in zip(one.lines, loaded.lines, strict=True):
        assert before.id == after.id
        pairs = [
            (column, getattr(a, column), getattr(b, column))
            for a, b, columns in (
                (before.work, after.work, ("matmul_flops", "other", "weight_bytes", "activation_bytes", "kv_bytes")),
                (before.move, after.move, ("bytes", "sent")),
            )
            if a is not None
            for column in columns
        ]
        scaled = {column: after / before for column, before, after in pairs if before != after}
        if scaled:
            found[before.id] = scaled
    return found


@each_phase
def test_a_loaded_expert_gpu_gets_more_rows_and_nothing_else(phase):
    """Three times the rows: of what experts compute, read and write, and of what is exchanged; no weight, no cache.

    dispatch reads tokens and picks and writes rows, combine the other way around: only the rows are more.
    """
    found = changed(QWEN_MOE, Plan(attn_dp=4, ep=4), phase, 3)
    ffn = "layers.moe.ffn"
    spread, gathered = found.pop(f"{ffn}.dispatch:all_to_all"), found.pop(f"{ffn}.combine")
    moved = {"bytes": 3, "sent": 3}
    products, units = {"matmul_flops": 3, "activation_bytes": 3}, {"other": 3, "activation_bytes": 3}
    assert found == {
        f"{ffn}.experts.gate_proj": products,
        f"{ffn}.experts.up_proj": products,
        f"{ffn}.experts.activated": units,
        f"{ffn}.experts.gated": units,
        f"{ffn}.experts.down_proj": products,
        f"{ffn}.combine:all_to_all": moved,
    }
    # One token of 2048, 8 rows of 2048, and 8 picks of as many bytes each: (1 + 8 · 3 + 8/2048) over (1 + 8 + 8/2048).
    scaled = {"activation_bytes": (2048 * 25 + 8) / (2048 * 9 + 8)}
    assert {key: float(value) for key, value in gathered.items()} == pytest.approx(scaled)
    assert {key: float(value) for key, value in spread.items()} == pytest.approx({**scaled, **moved})


@each_phase
@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize("plan", [Plan(), Plan(attn_tp=4), Plan(attn_dp=4, etp=4)], ids=str)
def test_without_expert_parallelism_nobody_is_busier(name, phase, plan):
    assert changed(name, plan, phase, 3) == {}


@each_phase
@pytest.mark.parametrize("name", [MIXTRAL, V2_LITE, V3])
def test_a_loaded_expert_gpu_is_slower(name, phase):
    seconds = [
        step_of(name, phase=phase, plan=Plan(attn_dp=4, ep=4), batch=64, ep_load_factor=by).seconds[0]
        for by in (1, 1.5, 4)
    ]
    assert seconds[0] < seconds[1] < seconds[2]


def estimated(name=TIED, plan=None, **ask):
    return api.Estimate(model(name), open_gpu("h100"), plan or Plan(), api.Ask(**{"batch": 4, **ask}))


def test_guesses_are_worth_a_geometric_sum():
    guessing = estimated(speculative=3, acceptance=0.7)
    assert guessing.tokens_per_step == pytest.approx(1 + 0.7 + 0.49 + 0.343)
    assert guessing.decode.deployed.step.new == 4
    assert estimated().tokens_per_step == 1
    assert estimated(speculative=5, acceptance=0.0).tokens_per_step == 1
    assert estimated(speculative=5).tokens_per_step == 6
    assert guessing.output_rate == pytest.approx(4 * guessing.tokens_per_step / guessing.step_seconds)


def test_guessed_tokens_are_processed_in_the_same_step():
    """Four tokens instead of one: four times the FLOPs of the projections, the same weights, the whole cache once."""
    plain, guessing = estimated().decode, estimated(speculative=3).decode
    for one, four in zip(plain.lines, guessing.lines, strict=True):
        assert four.work.weight_bytes == one.work.weight_bytes * (4 if one.op == "embedding" else 1), one.id
        if one.op == "linear":
            assert four.work.matmul_flops == 4 * one.work.matmul_flops, one.id
    assert plain.seconds[0] < guessing.seconds[0] < 4 * plain.seconds[0]


@pytest.mark.parametrize(("pp", "batch"), [(1, 4), (2, 8), (4, 8), (4, 2), (4, 1), (3, 7)])
def test_micro_batches_fill_the_pipeline(pp, batch):
    """As many as stages where there are as many sequences; a step is every micro batch through the slowest stage."""
    one = estimated(LLAMA, Plan(pp=pp), batch=batch)
    assert one.micro_batches == min(pp, batch)
    assert one.decode.deployed.step.batch == -(-batch // one.micro_batches)
    each = one.decode.seconds
    assert len(each) == pp
    assert one.step_seconds == max(one.micro_batches * max(each), sum(each))
    assert one.ttft_seconds == sum(one.prefill.seconds)
