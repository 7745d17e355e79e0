"""Bytes a step moves: weights read once, the embedding's rows only, caches read to their caps and written once."""

import pytest

import rooflight
from oracles import cache, configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import windowed

MISTRAL = next(row["config"] for row in cases("regression.yaml")["dense"] if row["id"] == "mistral-7b")
ROPED = [
    model
    for model in checkpoints_of("llama", "mistral", "qwen2", "qwen3")
    if "quantization_config" not in snapshot(model, "config")
]
CACHED = {model.split("/")[1]: snapshot(model, "config") for model in ROPED} | {
    "mistral-window-4096": MISTRAL,
    "qwen3-window-in-half-the-layers": windowed(14, 14, 128, 8, 64),
}


@pytest.mark.parametrize("batch", [1, 32])
@pytest.mark.parametrize("model", ROPED)
def test_weights_read_in_decode(model, batch):
    """All but the embedding table, of which one row per sequence; a tied head reads the table after all."""
    config = snapshot(model, "config")
    table = 0 if config["tie_word_embeddings"] else config["vocab_size"] * config["hidden_size"]
    elements = configs.total(config) - table + batch * config["hidden_size"]
    found = rooflight.cost(model, phase="decode", batch=batch, context=2048)["totals"]["weight_bytes"]
    assert found == elements * configs.WIDTH[config["dtype"]]


def test_one_step_reads_less_than_the_file():
    """The table is stored and not read: the ceiling of bandwidth over all 16.06 GB is too low by 7 percent."""
    found = rooflight.cost("meta-llama/Meta-Llama-3.1-8B", phase="decode", context=1)["totals"]["weight_bytes"]
    assert found == 16060522496 - (128256 - 1) * 4096 * 2


@pytest.mark.parametrize("context", [1, 127, 128, 129, 4096, 4097, 20000])
@pytest.mark.parametrize("config", CACHED.values(), ids=CACHED.keys())
def test_cache_traffic_of_decode(config, context):
    """Every sequence reads what it holds, its newest position included, and writes that position in every layer."""
    written = sum(cache.mha_bytes_per_token(count, Hkv, dh, 2) for count, Hkv, dh, _ in configs.cache_layers(config))
    found = rooflight.cost(config, phase="decode", batch=3, context=context)["totals"]["kv_bytes"]
    assert found == 3 * (configs.request_bytes(config, context) + written)


def test_no_layer_reads_another_ones_cache():
    nodes = rooflight.cost(MISTRAL, phase="decode", context=9000)["nodes"]
    touching = {node["role"] for node in nodes if node["kv_bytes"]}
    assert touching == {"attention"}
