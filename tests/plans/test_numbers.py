"""Figures of known deployments, and the public faults that are about more than one GPU."""

from pathlib import Path

import pytest
import yaml

import rooflight
from oracles.material import cases, fault, snapshot
from plans.deployed import (
    ERNIE,
    GPT_OSS,
    HUNYUAN,
    LLAMA,
    MIMO,
    MIXTRAL,
    QWEN_MOE,
    SMOL,
    TIED,
    V2_LITE,
    V3,
    model,
    part,
)
from readings import llama_like
from rooflight import api
from rooflight.api.memory import Deployed, memory, stages
from rooflight.api.plans import refusals
from rooflight.edge.front import load
from rooflight.layout import Plan

B200 = yaml.safe_load((Path(__file__).parents[1] / "cases" / "b200-seed.yaml").read_text())
GIB, MIB = 2**30, 2**20


# ------------------------------------------------------------- DeepSeek-V3 on 8 GPUs, attention DP 8 and EP 8


@pytest.fixture(scope="module")
def v3():
    plan = Plan(attn_dp=8, ep=8)
    return memory(model(V3), plan, B200["memory"]["value"], input_tokens=1_024, output_tokens=1_024)


def test_weights_per_gpu(v3):
    assert v3["weights_bytes"] / GIB == pytest.approx(93.92, rel=0.0005)


def test_what_is_usable(v3):
    assert v3["usable_bytes"] == 162 * GIB


def test_cache_per_request(v3):
    assert v3["kv_bytes_per_request"] == 137.25 * MIB == 61 * 576 * 2 * 2_048


def test_largest_decode_batch(v3):
    assert (v3["max_batch_decode"], v3["limits"]["decode"]) == (507, "kv")


def test_largest_prefill_batch(v3):
    assert v3["max_batch_prefill"] == pytest.approx(205, rel=0.1)
    assert v3["limits"]["prefill"] == "activations"


def test_a_plan_that_does_not_fit_is_told_apart():
    tight = memory(model(V3), Plan(), B200["memory"]["value"], input_tokens=1_024, output_tokens=1_024)
    assert not tight["fits"]
    assert (tight["max_batch_decode"], tight["max_batch_prefill"], tight["limits"]["decode"]) == (0, 0, "weights")
    assert tight["weights_bytes"] > tight["capacity_bytes"]


# -------------------------------------------------------------------------------------------- sizes of a GEMM


@pytest.mark.parametrize(
    ("plan", "k"), [(Plan(attn_tp=8, ep=8), 1_408), (Plan(attn_tp=8, etp=8), 176)], ids=["ep", "etp"]
)
def test_inner_width_of_the_experts_of_v2_lite(plan, k):
    one = part(V2_LITE, plan)
    at = next(i for i, s in enumerate(one.program.steps) if s.node.id.endswith("experts.down_proj"))
    rows, out = one.device.shape[at]
    assert one.device.matmul[at] == 2 * rows * out * k
    assert one.device.stored_bytes[at] == out * k * 2


# --------------------------------------------------------------------------------------------- public faults


def test_the_latent_is_on_every_rank():
    given, expected = fault("kv-mla-tp-replicated")
    alone, cut = (part(given["model"], Plan(attn_tp=tp), "decode", context=1) for tp in (1, given["tp"]))
    each = cut.total(cut.device.cache_bytes)
    assert each == alone.total(alone.device.cache_bytes) == expected["per_rank_bytes_per_token"]
    assert each * given["tp"] == expected["node_bytes_per_token"]
    apart = part(given["model"], Plan(attn_dp=given["tp"]), "decode", context=1)
    assert apart.total(apart.device.cache_bytes) / given["tp"] == expected["per_rank_if_attention_dp8_average"]


def test_one_requests_cache_is_not_shared_by_replicas():
    given, expected = fault("dp-does-not-shrink-request-kv")
    config = llama_like(given["L"], 8_192, 64, given["Hkv"], given["dh"], F=28_672, V=128_256)
    held = memory(
        load(config),
        Plan(attn_tp=given["tp"], attn_dp=given["dp"]),
        80 * GIB,
        input_tokens=given["context"] - 1,
        output_tokens=1,
    )
    assert held["kv_bytes_per_request"] == expected["per_gpu_kv_bytes"]


@pytest.mark.parametrize("at", range(3))
def test_layers_that_stages_do_not_divide(at):
    given, expected = fault("pp-uneven")
    row = given["models"][at]
    bound = load(llama_like(row["L"], 64, 4, 4, 16))
    sizes = [
        sum(stage.layers.values())
        for stage in stages(Deployed(bound, api.step_size(bound, context=64), Plan(pp=row["pp"])))
    ]
    assert sum(sizes) == expected["sum_of_stages"][at]
    assert max(sizes) == expected["fullest_stage"][at]
    assert max(sizes) - min(sizes) <= 1
    if row["L"] == 126:
        assert sizes == [31, 32, 32, 31]


@pytest.mark.parametrize("name", [LLAMA, V3, GPT_OSS, MIXTRAL, TIED])
@pytest.mark.parametrize("pp", [2, 3, 4, 7])
def test_stages_hold_every_layer_and_weight(name, pp):
    alone, cut = (memory(model(name), Plan(pp=n), 10**12, input_tokens=32, output_tokens=32) for n in (1, pp))
    assert sum(stage["layers"] for stage in cut["stages"]) == alone["stages"][0]["layers"]
    together = sum(stage["weights_bytes"] for stage in cut["stages"])
    # A head tied to the token table needs its own copy where it stands on another stage.
    tied = model(name).dims["n_vocab"] * model(name).dims["d_model"] * 2 if name == TIED else 0
    assert together == alone["weights_bytes"] + tied
    assert cut["weights_bytes"] == max(stage["weights_bytes"] for stage in cut["stages"])


def test_degrees_that_divide_forty_heads_over_ten():
    given, expected = fault("tp-kv10")
    bound = load(llama_like(2, 640, given["H"], given["Hkv"], 16, F=2_560))
    assert [tp for tp in given["candidates"] if not refusals(bound, Plan(attn_tp=tp))] == expected["valid"]
    kept = {
        tp: Deployed(bound, api.step_size(bound, "decode", context=16), Plan(attn_tp=tp)) for tp in expected["valid"]
    }
    heads = {tp: sum(one.device.cache_bytes) // (16 * 2 * 16 * 2) for tp, one in kept.items()}
    assert heads == {1: 10, 2: 5, 5: 2, 10: 1, 20: 1, 40: 1}


def test_shards_of_whole_blocks_in_r1():
    given, expected = fault("fp8-block-tp32")
    bound = model("deepseek-ai/DeepSeek-R1")
    for at, tp in enumerate(given["tp"]):
        dense = {error.where for error in refusals(bound, Plan(attn_tp=tp)) if error.code == "plan-blocks"}
        cut = {error.where for error in refusals(bound, Plan(attn_tp=tp, etp=tp)) if error.code == "plan-blocks"}
        assert ("plan attn_tp" not in dense) == expected["aligned_dense"][at]
        assert ("plan etp" not in cut) == expected["aligned_experts"][at]
        one = part("deepseek-ai/DeepSeek-R1", Plan(attn_tp=tp, etp=tp))
        widths = {
            s.node.id.rpartition("layers.")[2]: one.device.shape[i][-1]
            for i, s in enumerate(one.program.steps)
            if s.node.id.endswith(("dense.ffn.gated", "experts.gated"))
        }
        assert widths == {
            "dense.ffn.gated": expected["shard_dense"][at],
            "moe.ffn.experts.gated": expected["shard_experts"][at],
        }


FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


@pytest.mark.parametrize("at", range(3))
def test_widths_that_divide_into_broken_blocks(at):
    given, expected = fault("fp8-block-moe-192")
    row = given["models"][at]
    config = snapshot(QWEN_MOE, "config") | {
        "moe_intermediate_size": row["Fe"],
        "quantization_config": FP8,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
    }
    bound = load(config)
    plan = Plan(attn_tp=row["tp"], etp=row["tp"])
    assert row["Fe"] // row["tp"] == expected["shards"][at]
    (error,) = (e for e in refusals(bound, plan) if e.code == "plan-blocks")
    assert (error.where, error.fix) == ("plan etp", f"etp={expected['largest_valid_tp'][at]}")
    powers = (tp for tp in (32, 16, 8, 4, 2, 1) if not refusals(bound, Plan(attn_tp=tp, etp=tp)))
    assert next(powers) == expected["largest_valid_tp"][at]
    assert not refusals(bound, Plan(attn_tp=row["tp"], ep=row["tp"])), "whole experts avoid the limit"


@pytest.mark.parametrize("at", range(4))
def test_degrees_that_divide_the_experts(at):
    given, expected = fault("ep-divides")
    row = given["models"][at]
    config = snapshot(QWEN_MOE, "config") | {"num_experts": row["E"]}
    bound = load(config) if row["E"] > 1 else model(LLAMA)
    plan = Plan(attn_dp=row["ep"], ep=row["ep"])
    assert (not refusals(bound, plan)) == expected["valid"][at]
    if expected["valid"][at]:
        held = Deployed(bound, api.step_size(bound, context=16), plan).device
        assert max(held.copies) == expected["experts_per_rank"][at]


@pytest.mark.parametrize("at", range(3))
def test_rows_of_a_padded_vocabulary(at):
    given, expected = fault("vocab-pad-tp")
    row = given["models"][at]
    bound = load(llama_like(1, 24 * 16, 24, 24, 16, F=24 * 16, V=row["V"]))
    one = Deployed(bound, api.step_size(bound, context=16), Plan(attn_tp=row["tp"]))
    held = {s.node.id: slots for s, slots in zip(one.program.steps, one.device.stored_bytes, strict=True)}
    rows = expected["rows_per_rank"][at]
    assert rows * row["tp"] == expected["padded"][at]
    assert held["lm_head.proj"] == held["embed_tokens.table"] == rows * 24 * 16 * 2
    logits = next(i for i, s in enumerate(one.program.steps) if s.node.id == "lm_head.proj")
    assert one.device.shape[logits][-1] == rows


def test_every_public_fault_of_more_than_one_gpu_is_here_or_with_the_collectives():
    beside = Path(__file__).parents[1] / "cost" / "test_collectives.py"
    text = Path(__file__).read_text() + beside.read_text()
    asked = [case["id"] for case in cases("public_faults.yaml") if "deployment" in case["needs"]]
    assert asked
    assert not [name for name in asked if f'fault("{name}")' not in text]


def test_estimate_says_the_same(v3):
    fixture = Path(__file__).parents[1] / "cases" / "b200-seed.yaml"
    answer = rooflight.estimate(V3, str(fixture), "attn_dp=8,ep=8")
    assert {key: value for key, value in answer["memory"].items() if key in v3} == v3


@pytest.mark.parametrize("pp", [2, 5])
@pytest.mark.parametrize("name", [TIED, SMOL, HUNYUAN, ERNIE, MIMO])
def test_a_shared_table_is_held_twice_at_most(name, pp):
    """The last stage holds the token table once, whether head, draft embedding or both read it."""
    knobs = dict(input_tokens=32, output_tokens=32, drafts=True)
    alone, cut = (memory(model(name), Plan(pp=n), 10**12, **knobs) for n in (1, pp))
    table = model(name).dims["n_vocab"] * model(name).dims["d_model"] * 2
    assert sum(stage["weights_bytes"] for stage in cut["stages"]) == alone["weights_bytes"] + table
