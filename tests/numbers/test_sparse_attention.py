"""Latent attention over picked positions: parameters, cache, what a query reads, and FLOPs as torch counts them."""

import pytest

import rooflight
from oracles.material import cases, snapshot
from readings import V3, components

V32, GLM = "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5"
LAYERS, PICKED, INDEX, LATENT = 61, 2_048, 128, 512 + 64


def read(model, context, **knobs):
    """Cache bytes a decode step reads: all it moves but the new token's own."""
    step = rooflight.cost(model, "decode", context=context, **knobs)
    written = rooflight.quantity(model, "cache.bytes_per_token").value
    return step["totals"]["kv_bytes"] - written * step["batch"]


def test_the_indexer_is_what_the_model_adds():
    """A projection of the query's latent, one key with a norm, one weight per head; in the draft layer too."""
    each = 1536 * 64 * 128 + 7168 * 128 + 2 * 128 + 7168 * 64
    for figure, layers in (("params.total", LAYERS), ("params.mtp", 1)):
        more = rooflight.quantity(V32, figure).value - rooflight.quantity(V3, figure).value
        assert more == layers * each
    assert LAYERS * each == 851_524_864


def test_totals():
    assert rooflight.quantity(V32, "params.total").value == 671_877_944_064
    assert rooflight.quantity(GLM, "params.total").value == 743_911_218_432
    assert rooflight.quantity(GLM, "params.mtp").value == 9_952_920_576, "embedding and head are the model's"


def test_index_keys_are_kept_beside_the_latent():
    assert rooflight.quantity(V32, "cache.bytes_per_token").value == LAYERS * (LATENT + INDEX) * 2
    more = rooflight.quantity(V32, "cache.bytes@65536").value / rooflight.quantity(V3, "cache.bytes@65536").value
    assert more == pytest.approx(1 + 256 / 1152)


@pytest.mark.parametrize("context", [1, 2_047, 2_048, 2_049, 65_536])
def test_a_step_reads_every_index_key_and_the_picked_latents(context):
    expected = LAYERS * 2 * (context * INDEX + min(context, PICKED) * LATENT)
    assert read(V32, context) == expected
    assert read(V32, context, batch=3) == 3 * expected


def test_several_queries_read_each_position_once():
    """Four tokens pick up to 2,048 each: of 4,096 positions they can read all, of 65,536 an eighth."""
    for context, share in ((4_096, 4_096), (65_536, 4 * PICKED)):
        step = rooflight.cost(V32, "decode", context=context, new_tokens=4)
        written = 4 * LAYERS * (LATENT + INDEX) * 2
        assert step["totals"]["kv_bytes"] - written == LAYERS * 2 * (context * INDEX + share * LATENT)


@pytest.mark.parametrize("context", [1_000, 2_048, 10_000])
def test_pairs_of_picked_positions(context):
    """Query number p reads min(p, 2048) keys; the indexer scores all p."""
    rows = {row["id"]: row for row in rooflight.cost(V32, "prefill", context=context)["nodes"]}
    pairs = sum(min(p, PICKED) for p in range(1, context + 1))
    assert rows["layers.moe.attention.scores"]["matmul_flops"] == 58 * 2 * 128 * pairs * (128 + 64)
    scored = context * (context + 1) // 2
    assert rows["layers.moe.attention.indexer.scores"]["matmul_flops"] == 58 * 2 * 64 * scored * (INDEX + 1)
    assert rows["layers.moe.attention.indexer.picks"]["shape"] == [1, context, min(context, PICKED)]


def test_attention_no_longer_grows_with_the_square_of_the_context():
    """Published for this swap at 64K, with draft layers and every position's logits: 16.0 and 8.1 PFLOP."""
    knobs = {"context": 65_536, "drafts": True, "head": "all"}
    dense, sparse = (rooflight.cost(model, "prefill", **knobs)["totals"]["matmul_flops"] for model in (V3, V32))
    assert dense / 1e15 == pytest.approx(16.0, rel=0.02)
    assert sparse / 1e15 == pytest.approx(8.1, rel=0.02)
    assert read(V3, 65_536) / 2**30 == 4.2890625
    assert read(V32, 65_536) == LAYERS * (65_536 * 256 + PICKED * 1_152)


RUNS = cases("torch_flops.json")["models"][V32]


@pytest.mark.parametrize("run", RUNS, ids=[f"{run['phase']}-{run['batch']}" for run in RUNS])
def test_components_as_torch_counts_them(run):
    """It attends densely with the indexer beside it: below 2,048 positions nothing is left out anyway."""
    prefill = run["phase"] == "prefill"
    length = run["tokens"] if prefill else run["cached"] + 1
    knobs = {"head": "all", "attention": "square" if prefill else "exact", "decode": "same"}
    answer = rooflight.cost(V32, run["phase"], batch=run["batch"], context=length, **knobs)
    inside = [node["matmul_flops"] for node in answer["nodes"] if ".indexer." in node["id"]]
    answer["nodes"] = [node for node in answer["nodes"] if ".indexer." not in node["id"]]
    assert {**components(answer), "indexer": sum(inside)} == run["components"]


def test_a_config_whose_layers_share_indices_is_told_apart():
    """GLM-5.2's layers reuse an earlier layer's picks, which this spec does not describe: the key is reported."""
    config = snapshot(GLM, "config") | {"indexer_types": ["full"] * 3 + ["shared"] * 75}
    assert any("indexer_types" in warning for warning in rooflight.show(config)["warnings"])
