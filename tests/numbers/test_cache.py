"""Cache per token and per request: every checkpoint, window caps, and what a config's window keys mean."""

import pytest

import rooflight
from oracles import cache, configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import DENSE, OLMO3, llama_like, request_bytes, windowed

CONTEXTS = (1, 2, 127, 128, 129, 4095, 4096, 4097, 32768)
MISTRAL = next(row["config"] for row in cases("regression.yaml")["dense"] if row["id"] == "mistral-7b")
QWEN2 = llama_like(
    28, 3584, 28, 4, 128, model_type="qwen2", use_sliding_window=True, sliding_window=4096, max_window_layers=21
)
WINDOWED = {
    "mistral-every-layer": MISTRAL,
    "mistral-no-window": MISTRAL | {"sliding_window": None},
    "qwen2-last-seven-layers": QWEN2,
    "qwen2-switched-off": QWEN2 | {"use_sliding_window": False},
    "qwen2-every-layer": QWEN2 | {"max_window_layers": 0},
    "qwen2-beyond-the-last-layer": QWEN2 | {"max_window_layers": 70},
    "qwen2-without-a-window": QWEN2 | {"sliding_window": None},
    "qwen3-alternating-list": windowed(18, 18, 128, 8, 64)
    | {"layer_types": ["sliding_attention", "full_attention"] * 18},
    "qwen3-list-overrides-the-count": windowed(30, 6, 128, 8, 64)
    | {"layer_types": ["full_attention"] * 12 + ["sliding_attention"] * 24},
}


def in_bf16(model):
    return snapshot(model, "config") | {"dtype": "bfloat16"}


def per_token(config, *, capped):
    """Bytes per position of the layers that have a window, or of those that have none."""
    layers = [layer for layer in configs.cache_layers(config) if (layer[3] is not None) == capped]
    return sum(cache.mha_bytes_per_token(count, Hkv, dh, 2) for count, Hkv, dh, _ in layers)


@pytest.mark.parametrize("model", checkpoints_of(*DENSE))
def test_bytes_per_token(model):
    config = in_bf16(model)
    found = rooflight.show(config)["cache"]
    full = per_token(config, capped=True) * (config.get("sliding_window") or 0)
    assert (found["bytes_per_token"], found["constant_bytes"]) == (per_token(config, capped=False), full)


def test_bytes_per_token_follow_the_dtype():
    assert rooflight.show("openai-community/gpt2")["cache"]["bytes_per_token"] == 2 * 12 * 768 * 4
    assert rooflight.show("meta-llama/Meta-Llama-3.1-8B")["cache"]["bytes_per_token"] == 131072


@pytest.mark.parametrize("context", CONTEXTS)
def test_three_of_four_layers_with_a_window(context):
    """OLMo 3: 24 of 32 layers hold 4,096 tokens at most, keys and values of 32 heads of 128."""
    assert request_bytes(OLMO3, context) == 2 * 32 * 128 * 2 * (24 * min(context, 4096) + 8 * context)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("model", ["meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-0.6B"])
def test_request_without_a_window(model, context):
    assert request_bytes(model, context) == configs.request_bytes(snapshot(model, "config"), context)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("config", WINDOWED.values(), ids=WINDOWED.keys())
def test_request_with_window_caps(config, context):
    assert request_bytes(config, context) == configs.request_bytes(config, context)


@pytest.mark.parametrize("config", WINDOWED.values(), ids=WINDOWED.keys())
def test_per_token_and_constant(config):
    """What one more token adds to a long sequence, and what its full windows hold."""
    found, capped = rooflight.show(config)["cache"], per_token(config, capped=True)
    assert found["bytes_per_token"] == per_token(config, capped=False)
    assert found["constant_bytes"] == (capped * config["sliding_window"] if capped else 0)
    assert sum(entry["bytes_per_token"] for entry in found["entries"]) == per_token(config, capped=False) + capped


@pytest.mark.parametrize("config", WINDOWED.values(), ids=WINDOWED.keys())
def test_long_request_is_the_line_through_both(config):
    found, context = rooflight.show(config)["cache"], 200000
    assert request_bytes(config, context) == found["bytes_per_token"] * context + found["constant_bytes"]


def test_batch_multiplies():
    one = rooflight.cost(MISTRAL, phase="decode", batch=1, context=9000)["totals"]["kv_bytes"]
    assert rooflight.cost(MISTRAL, phase="decode", batch=7, context=9000)["totals"]["kv_bytes"] == 7 * one
