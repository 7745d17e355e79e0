"""Mistakes found in public tools: the right answers, for the cases that dense decoders cover."""

import pytest

import rooflight
from oracles import cache
from oracles.material import cases, fault, snapshot
from readings import components, llama_like, matmul_flops, request_bytes, windowed

GIB = 2**30
LLAMA_3_70B = next(row["config"] for row in cases("regression.yaml")["dense"] if row["id"] == "llama-3-70b")


def per_token(config):
    """What the first token costs: every layer holds it, windows or not."""
    return sum(entry["bytes_per_token"] for entry in rooflight.show(config)["cache"]["entries"])


def llama_3_2_1b(given, *, tied):
    sizes = {letter: given[letter] for letter in ("L", "D", "H", "Hkv", "dh", "F", "V")}
    return llama_like(**sizes, tie_word_embeddings=tied)


def kv_extra_head_factor(given):
    return {
        "kv_bytes_per_token": per_token(
            llama_like(given["L"], given["H"] * given["dh"], given["H"], given["Hkv"], given["dh"])
        )
    }


def kv_groups_meaning(given):
    config = llama_like(given["L"], given["D"], given["H"], given["Hkv"], given["dh"])
    return {"kv_bytes": request_bytes(config, given["context"])}


def kv_gguf_embedding_length(given):
    config = llama_like(given["L"], given["D"], given["H"], given["Hkv"], given["dh"], model_type="qwen3")
    return {"kv_bytes_per_token": per_token(config), "kv_bytes": request_bytes(config, given["context"])}


def mixed(given):
    return windowed(given["layers"]["full"], given["layers"]["sliding"], given["W"], given["Hkv"], given["dh"])


def kv_swa_layers_dropped(given):
    return {"kv_bytes": request_bytes(mixed(given), given["context"])}


def kv_swa_ideal_vs_reserved(given):
    """The reserved figure is a convention of the pool: what every layer would keep without its window."""
    config, batch = mixed(given), given["batch"]
    uniform = config | {"use_sliding_window": False}
    return {
        "kv_bytes": batch * request_bytes(config, given["context"]),
        "kv_bytes_uniform_pages": batch * request_bytes(uniform, given["context"]),
    }


def kv_inverse_capacity(given):
    """Largest context whose request still fits: no figure per token is used as a constant."""
    config, pool = mixed(given), given["pool_gib"] * GIB
    linear = int(pool // per_token(config))
    layers = [(18, given["Hkv"], given["dh"], None), (18, given["Hkv"], given["dh"], given["W"])]
    largest = cache.largest_context(pool, layers, given["bytes"])
    assert request_bytes(config, linear) < request_bytes(config, largest) <= pool < request_bytes(config, largest + 1)
    return {"largest_context": largest}


def tied_head_flops(given):
    by_tie = {}
    for tied in (True, False):
        nodes = rooflight.cost(llama_3_2_1b(given, tied=tied), phase="prefill", context=given["tokens"])["nodes"]
        by_tie[tied] = {
            role: sum(node["matmul_flops"] for node in nodes if node["role"] == role) for role in ("embedding", "head")
        }
    return {
        "embed_flops": by_tie[True]["embedding"],
        "lm_head_flops": by_tie[True]["head"],
        "difference_tied_untied": sum(by_tie[True].values()) - sum(by_tie[False].values()),
    }


def tied_params_double_subtract(given):
    config = llama_3_2_1b(given, tied=True)
    linear = sum(
        flops
        for name, flops in components(rooflight.cost(config, phase="prefill", context=1)).items()
        if name != "attn_core"
    )
    return {"params": rooflight.show(config)["params"]["total"], "matmul_flops_per_token": linear}


def projections(config):
    """Weights of the four attention projections of one layer."""
    nodes = rooflight.cost(config)["nodes"]
    linear = [node for node in nodes if node["role"] == "attention" and node["op"] == "linear"]
    assert len(linear) == 4
    return sum(node["params"] // node["copies"] for node in linear)


def wide_attention_flops(given):
    config = llama_like(given["L"], given["D"], given["H"], given["Hkv"], given["dh"], model_type="qwen3")
    decode = components(rooflight.cost(config, phase="decode", context=given["context"]))
    return {"decode_attention_flops_per_token": decode["attn_core"], "qkvo_params_per_layer": projections(config)}


def gptoss_head_dim(given):
    config = llama_like(given["L"], given["D"], given["H"], given["Hkv"], given["dh"], model_type="qwen3")
    prefill = components(rooflight.cost(config, phase="prefill", context=given["tokens"]))
    return {"qkvo_params_per_layer": projections(config), "qkvo_flops_all_layers": prefill["attn_proj"]}


def causal_half(given):
    counted = {
        attention: components(
            rooflight.cost(given["model"], batch=given["batch"], context=given["tokens"], attention=attention)
        )["attn_core"]
        for attention in ("exact", "square")
    }
    return {"attention_flops_causal": counted["exact"], "attention_flops_square": counted["square"]}


def attention_lin_doubled(given):
    decode = components(rooflight.cost(LLAMA_3_70B, phase="decode", context=given["context"]))["attn_core"]
    return {"per_layer_and_context_token": decode // given["L"] // given["context"], "per_token": decode}


def flop_counter_misses_kernels(given):
    config = snapshot(given["model"], "config") | {"num_hidden_layers": given["L"]}
    answer = rooflight.cost(config, context=given["tokens"], head=given["head"], attention=given["attention"])
    return {"flops": answer["totals"]["matmul_flops"], "attention_flops": components(answer)["attn_core"]}


ANSWERS = {
    "kv-extra-head-factor": kv_extra_head_factor,
    "kv-groups-meaning": kv_groups_meaning,
    "kv-gguf-embedding-length": kv_gguf_embedding_length,
    "kv-swa-layers-dropped": kv_swa_layers_dropped,
    "kv-swa-ideal-vs-reserved": kv_swa_ideal_vs_reserved,
    "kv-inverse-capacity": kv_inverse_capacity,
    "tied-head-flops": tied_head_flops,
    "tied-params-double-subtract": tied_params_double_subtract,
    "wide-attention-flops": wide_attention_flops,
    "gptoss-head-dim": gptoss_head_dim,
    "causal-half": causal_half,
    "attention-lin-doubled": attention_lin_doubled,
    "flop-counter-misses-kernels": flop_counter_misses_kernels,
}


@pytest.mark.parametrize("case_id", ANSWERS)
def test_right_answer(case_id):
    given, expected = fault(case_id)
    assert ANSWERS[case_id](given) == expected


def test_every_dense_case_is_answered():
    dense = {case["id"] for case in cases("public_faults.yaml") if set(case["needs"]) <= {"dense", "capacity"}}
    assert dense == set(ANSWERS)


def test_faulty_figures_are_others():
    """A table whose wrong figure equals the right one could not fail."""
    for case in cases("public_faults.yaml"):
        for name, figure in case.get("wrong", {}).items():
            assert figure != case["expected"].get(name), case["id"]


def test_bytes_per_token_are_not_a_constant():
    """kv-nonlinear-per-token with equal head widths: first token, later tokens and a whole request do not multiply."""
    config = windowed(10, 50, 1024, 16, 256)
    first, at_context = request_bytes(config, 1), request_bytes(config, 131072)
    assert first == per_token(config) == 60 * 2 * 16 * 256 * 2
    assert request_bytes(config, 131073) - at_context == 10 * 2 * 16 * 256 * 2
    assert at_context == 50 * 16384 * 1024 + 10 * 16384 * 131072 < first * 131072


def test_packed_weights_do_not_change_the_parameters():
    """gptq-packed-params: the count follows the architecture, whatever the storage."""
    given, expected = fault("gptq-packed-params")
    assert rooflight.show(given["model"])["params"]["total"] == expected["params"]


def test_bytes_are_bytes():
    """gb-gib: the engine hands out bytes; units are a matter of display."""
    given, expected = fault("gb-gib")
    held = rooflight.show(LLAMA_3_70B)["params"]["total"] * 2
    assert held == given["weight_bytes"]
    assert round(held / 1e9, 3) == expected["weights_gb"]
    assert round(held / GIB, 3) == expected["weights_gib"]
    left = given["gpus"] * given["gpu_mib"] * 2**20 - held
    assert (left, left >= 0) == (expected["left_over_bytes"], expected["fits"])


def test_matmul_total_is_the_components():
    assert matmul_flops(LLAMA_3_70B) == sum(components(rooflight.cost(LLAMA_3_70B)).values())
