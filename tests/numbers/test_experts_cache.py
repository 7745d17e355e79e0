"""Caches of latents and of layers with windows: per token, per request, as attention would read them, as pools hold."""

import pytest

import rooflight
from oracles import cache, configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import EXPERTS, GPT_OSS, GPT_OSS_LARGE, MIXTRAL, QWEN3_MOE, V2_LITE, V3, request_bytes

MODELS = checkpoints_of(*EXPERTS)
CONTEXTS = (1, 127, 128, 129, 8192, 131072)


def latent(config):
    """(layers, heads, latent, nope, rope, value) widths of a model with latent attention."""
    keys = ("num_hidden_layers", "num_attention_heads", "kv_lora_rank")
    keys += ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return tuple(config[key] for key in keys)


def shown_cache(target):
    return rooflight.show(target)["cache"]


@pytest.mark.parametrize(
    ("model", "per_token", "decompressed"),
    [
        pytest.param(V3, 70272, 4005504, id="deepseek-v3"),
        pytest.param(V2_LITE, 31104, 224640, id="deepseek-v2-lite"),
    ],
)
def test_latent_and_decompressed(model, per_token, decompressed):
    L, H, d_c, d_nope, d_rope, d_v = latent(snapshot(model, "config"))
    assert per_token == cache.mla_bytes_per_token(L, d_c, d_rope, 2)
    assert decompressed == cache.mla_decompressed_bytes_per_token(L, H, d_nope, d_rope, d_v, 2)
    found = shown_cache(model)
    assert (found["bytes_per_token"], found["bytes_per_token_decompressed"]) == (per_token, decompressed)
    for key, value in (("cache.bytes_per_token", per_token), ("cache.bytes_per_token_decompressed", decompressed)):
        for phase in ("prefill", "decode"):
            if phase == "prefill" or "decompressed" not in key:
                assert rooflight.quantity(model, key, phase=phase).value == value


def test_fifty_seven_times_smaller():
    found = shown_cache(V3)
    assert found["bytes_per_token_decompressed"] // found["bytes_per_token"] == 57


@pytest.mark.parametrize("model", [V3, V2_LITE])
def test_one_latent_and_one_rope_key_per_layer(model):
    L, _, d_c, _, d_rope, _ = latent(snapshot(model, "config"))
    entries = shown_cache(model)["entries"]
    held = {"latent": 0, "rope key": 0}
    for entry in entries:
        assert entry["growth"] == "per token"
        held[entry["kind"]] += entry["bytes_per_token"]
    assert held == {"latent": L * d_c * 2, "rope key": L * d_rope * 2}
    assert sum(entry["layers"] for entry in entries) == 2 * L


@pytest.mark.parametrize("model", [MIXTRAL, QWEN3_MOE])
def test_nothing_to_decompress_without_latents(model):
    found = shown_cache(model)
    assert found["bytes_per_token_decompressed"] == found["bytes_per_token"]


WINDOW_CAPS = [
    pytest.param(model, context, id=f"{model.split('/')[1]}-{context}")
    for model in (GPT_OSS, GPT_OSS_LARGE)
    for context in CONTEXTS
]


@pytest.mark.parametrize(("model", "context"), WINDOW_CAPS)
def test_window_caps(model, context):
    """Half the layers hold 128 tokens at most: K and V of 8 heads of 64, two bytes each."""
    half = snapshot(model, "config")["num_hidden_layers"] // 2
    expected = half * 2048 * (min(context, 128) + context)
    assert request_bytes(model, context) == expected == configs.request_bytes(snapshot(model, "config"), context)
    assert rooflight.quantity(model, f"cache.bytes@{context}").value == expected


@pytest.mark.parametrize("model", [GPT_OSS, GPT_OSS_LARGE])
def test_line_of_a_windowed_model(model):
    half = snapshot(model, "config")["num_hidden_layers"] // 2
    found = shown_cache(model)
    assert (found["bytes_per_token"], found["constant_bytes"]) == (half * 2048, half * 2048 * 128)
    assert rooflight.quantity(model, "cache.first_token_bytes").value == half * 4096
    assert found["bytes_per_token_decompressed"] == half * 2048


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("model", MODELS)
def test_request(model, context):
    assert request_bytes(model, context) == configs.request_bytes(snapshot(model, "config"), context)


LISTS = {
    "every-second-layer-by-default": None,
    "one-sliding-layer": ["sliding_attention"] + ["full_attention"] * 23,
    "all-sliding": ["sliding_attention"] * 24,
    "all-full": ["full_attention"] * 24,
    "two-in-three": ["sliding_attention", "sliding_attention", "full_attention"] * 8,
}


@pytest.mark.parametrize("context", [1, 128, 129, 70000])
@pytest.mark.parametrize("kinds", LISTS.values(), ids=LISTS.keys())
def test_lists_of_layer_kinds(kinds, context):
    config = snapshot(GPT_OSS, "config") | {"layer_types": kinds}
    assert request_bytes(config, context) == configs.request_bytes(config, context)


@pytest.mark.parametrize("window", [1, 127, 4096])
def test_windows_of_mixtral(window):
    config = snapshot(MIXTRAL, "config") | {"sliding_window": window}
    for context in (1, window - 1 or 1, window, window + 1, 50000):
        assert request_bytes(config, context) == 32 * 2 * 8 * 128 * 2 * min(context, window)


def test_a_window_without_its_switch_is_no_window():
    config = snapshot(QWEN3_MOE, "config") | {"sliding_window": 128}
    assert request_bytes(config, 5000) == request_bytes(QWEN3_MOE, 5000) == 5000 * 48 * 2 * 4 * 128 * 2
    capped = request_bytes(config | {"use_sliding_window": True}, 5000)
    assert capped == 128 * 48 * 2 * 4 * 128 * 2


DECODE_READS = [
    pytest.param(snapshot(model, "config"), id=model.split("/")[1])
    for model in (V3, V2_LITE, MIXTRAL, QWEN3_MOE, GPT_OSS)
]


@pytest.mark.parametrize("context", [1, 127, 128, 129, 20000])
@pytest.mark.parametrize("config", DECODE_READS)
def test_traffic_of_decode(config, context):
    """Every sequence reads what it holds, once, its newest position included, and writes that position everywhere."""
    found = rooflight.cost(config, phase="decode", batch=3, context=context)["totals"]["kv_bytes"]
    assert found == 3 * (configs.request_bytes(config, context) + configs.request_bytes(config, 1))


def test_regression_rows_agree_with_the_snapshots():
    rows = {row["id"]: row["config"] for row in cases("regression.yaml")["experts"]}
    for name, model in (("mixtral-8x7b", MIXTRAL), ("qwen3-30b-a3b", QWEN3_MOE), ("deepseek-v3", V3)):
        assert request_bytes(rows[name], 4097) == request_bytes(model, 4097)
