"""Mistakes of public tools about experts, latents and windows: the right answers, on the models they are about."""

import pytest

import rooflight
from oracles import cache
from oracles.material import cases, fault, snapshot
from oracles.routing import distinct
from readings import GPT_OSS, GPT_OSS_LARGE, QWEN3_MOE, V3, components, request_bytes

GIB = 2**30
QWEN3_LARGE = next(row["config"] for row in cases("regression.yaml")["experts"] if row["id"] == "qwen3-235b-a22b")


def kv_mla_two_latents(given):
    assert given["model"] == V3
    return {"kv_bytes_per_token": rooflight.show(V3)["cache"]["bytes_per_token"]}


def kv_mla_as_mha(given):
    """The latent part of DeepSeek-V3.2 is DeepSeek-V3's; the index keys beside it are another case."""
    config = snapshot(V3, "config")
    sizes = ("num_hidden_layers", "kv_lora_rank", "qk_rope_head_dim", "num_attention_heads", "hidden_size")
    assert [config[key] for key in sizes] == [given[letter] for letter in ("L", "d_c", "d_rope", "H", "D")]
    right = rooflight.show(V3)["cache"]["bytes_per_token"]
    wrong = cache.mha_bytes_per_token(given["L"], given["Hkv"], given["D"] // given["H"], given["bytes"])
    return {"kv_bytes_per_token": right, "wrong_over_right": round(wrong / right, 2)}


def kv_swa_layers_dropped(given):
    assert given["model"] == GPT_OSS_LARGE
    return {"kv_bytes": request_bytes(GPT_OSS_LARGE, given["context"])}


def kv_swa_ideal_vs_reserved(given):
    """By default what the layers need. A pool with one page size reserves the whole context for every entry."""
    assert given["model"] == GPT_OSS
    entries = rooflight.show(GPT_OSS)["cache"]["entries"]
    assert {entry["growth"] for entry in entries} == {"per token", f"last {given['W']} tokens"}
    per_token = sum(entry["bytes_per_token"] for entry in entries)
    return {
        "kv_bytes": given["batch"] * request_bytes(GPT_OSS, given["context"]),
        "kv_bytes_uniform_pages": given["batch"] * given["context"] * per_token,
    }


def kv_inverse_capacity(given):
    """The largest context by bisection over the engine's own figure; the line over both parts gives the same."""
    assert given["model"] == GPT_OSS_LARGE
    pool, low, high = given["pool_gib"] * GIB, 1, 2**20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if request_bytes(GPT_OSS_LARGE, middle) <= pool else (low, middle)
    found = rooflight.show(GPT_OSS_LARGE)["cache"]
    assert low == (pool - found["constant_bytes"]) // found["bytes_per_token"]
    return {"largest_context": low}


def projections(target):
    """Weights of the four attention projections of one layer, biases apart."""
    by_layer = {}
    for node in rooflight.cost(target)["nodes"]:
        if node["role"] == "attention" and node["op"] == "linear":
            group = node["id"].rpartition(".attention.")[0]
            weights = node["matmul_flops"] // (2 * 4096 * node["copies"])  # of 4,096 tokens
            by_layer[group] = by_layer.get(group, 0) + weights
    assert len(set(by_layer.values())) == 1
    return next(iter(by_layer.values()))


def gptoss_head_dim(given):
    assert given["model"] == GPT_OSS
    prefill = components(rooflight.cost(GPT_OSS, phase="prefill", context=given["tokens"]))
    return {"qkvo_params_per_layer": projections(GPT_OSS), "qkvo_flops_all_layers": prefill["attn_proj"]}


def wide_attention_flops(given):
    decode = components(rooflight.cost(QWEN3_LARGE, phase="decode", context=given["context"]))
    return {"decode_attention_flops_per_token": decode["attn_core"], "qkvo_params_per_layer": projections(QWEN3_LARGE)}


def moe_expert_union(given):
    """What one decode step reads of the weights; of the embedding table, which the case leaves out, a row each."""
    assert given["model"] == QWEN3_MOE
    nodes = rooflight.cost(QWEN3_MOE, phase="decode", batch=given["batch"])["nodes"]
    experts = [node for node in nodes if node["role"] == "expert" and node["params"]]
    read = sum(node["weight_bytes"] for node in experts) / (sum(node["params"] for node in experts) * given["bytes"])
    rows = next(node for node in nodes if node["role"] == "embedding")["weight_bytes"]
    assert rows == given["batch"] * 2048 * given["bytes"]
    return {
        "distinct_experts": round(given["E"] * read, 3),
        "weight_bytes_read": round(sum(node["weight_bytes"] for node in nodes) - rows),
        "upper_bound": given["E"],
    }


ANSWERS = {
    "kv-mla-two-latents": kv_mla_two_latents,
    "kv-mla-as-mha": kv_mla_as_mha,
    "kv-swa-layers-dropped": kv_swa_layers_dropped,
    "kv-swa-ideal-vs-reserved": kv_swa_ideal_vs_reserved,
    "kv-inverse-capacity": kv_inverse_capacity,
    "gptoss-head-dim": gptoss_head_dim,
    "wide-attention-flops": wide_attention_flops,
    "moe-expert-union": moe_expert_union,
}


@pytest.mark.parametrize("case_id", ANSWERS)
def test_right_answer(case_id):
    given, expected = fault(case_id)
    assert ANSWERS[case_id](given) == expected


def test_every_case_of_experts_and_latents_is_answered():
    known = {case["id"] for case in cases("public_faults.yaml") if set(case["needs"]) & {"moe", "mla"}}
    unquantised = {
        case["id"] for case in cases("public_faults.yaml") if set(case["needs"]) <= {"dense", "moe", "mla", "capacity"}
    }
    assert known & unquantised <= set(ANSWERS) <= unquantised


def test_scales_are_no_parameters():
    """mxfp4-checkpoint-bytes: the parameters follow the architecture, whatever the storage."""
    given, expected = fault("mxfp4-checkpoint-bytes")
    assert rooflight.show(given["model"])["params"]["total"] == expected["params"]
    nodes = rooflight.cost(given["model"])["nodes"]
    products = given["L"] * given["E"] * 3 * given["D"] * given["F"]
    biases = given["L"] * given["E"] * (2 * given["F"] + given["D"])
    assert products == expected["expert_params"]
    assert sum(node["params"] for node in nodes if node["role"] == "expert") == products + biases


def test_the_batch_reads_less_than_its_choices_and_more_than_one_token():
    """moe-expert-union: the three wrong figures lie around the right one."""
    given, _ = fault("moe-expert-union")
    expected = distinct(given["E"], given["k"], given["batch"])
    assert given["k"] < expected < min(given["batch"] * given["k"], given["E"])
