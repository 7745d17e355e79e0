"""Draft layers: stored and listed, deployed on request, never part of the total."""

import pytest

import rooflight
from oracles import cache, configs, flops
from oracles.material import elements, snapshot
from readings import ERNIE, GLM, GPT_OSS, MIMO, R1, V2_LITE, V3, components, in_bf16

CONFIG = in_bf16(V3)
MTP = 13463426304
COUNTS = (0, 1, 2, 5)


def with_drafts(count):
    return CONFIG | {"num_nextn_predict_layers": count}


def drafts_of(answer):
    return [node for node in answer["nodes"] if node["id"].startswith("drafts.")]


@pytest.mark.parametrize("count", COUNTS)
def test_never_in_the_total(count):
    config = with_drafts(count)
    found = rooflight.show(config)["params"]
    assert (found["total"], found["active"]) == (671026419200, 37552297472)
    assert found["mtp"] == count * MTP == configs.mtp(config)
    assert sum(found["by_role"].values()) == found["total"]
    for drafts in (False, True):
        for key in ("params.total", "params.active"):
            figure = rooflight.quantity(config, key, drafts=drafts)
            assert figure.value == found[key.removeprefix("params.")]
            assert "draft" not in rooflight.formula(config, key, drafts=drafts)


@pytest.mark.parametrize("count", COUNTS)
def test_tensors_hold_them(count):
    """After the last layer, each with an embedding and a head of its own."""
    rows = rooflight.tensors(with_drafts(count))
    assert sum(elements(row) for row in rows) == 671026419200 + count * MTP
    heads = [row for row in rows if "shared_head.head" in row["name"]]
    assert [row["count"] for row in heads] == ([count] if count else [])
    if count > 1:
        assert heads[0]["name"] == f"model.layers.{{61-{60 + count}}}.shared_head.head.weight"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_cost_with_them(phase, count):
    """Their nodes beside the model's own, which stay as they are."""
    step = dict(phase=phase, batch=2, context=300)
    bare = rooflight.cost(with_drafts(count), **step)
    deployed = rooflight.cost(with_drafts(count), **step, drafts=True)
    added = drafts_of(deployed)
    assert drafts_of(bare) == []
    assert bool(added) == bool(count)
    assert [node for node in deployed["nodes"] if node not in added] == bare["nodes"]
    assert sum(node["params"] for node in added) == count * MTP
    for column in ("matmul_flops", "other_flops", "activation_bytes", "kv_bytes"):
        assert deployed["totals"][column] == bare["totals"][column] + sum(node[column] for node in added), column


@pytest.mark.parametrize("count", COUNTS)
def test_cache_with_them(count):
    """A draft layer keeps a latent and a rope key as any other layer."""
    one = cache.mla_bytes_per_token(1, 512, 64, 2)
    step = dict(phase="decode", context=1000)
    bare = rooflight.cost(with_drafts(count), **step)["totals"]["cache_bytes_per_sequence"]
    deployed = rooflight.cost(with_drafts(count), **step, drafts=True)["totals"]["cache_bytes_per_sequence"]
    assert (bare, deployed) == (1000 * 61 * one, 1000 * (61 + count) * one)
    assert rooflight.show(with_drafts(count))["cache"]["bytes_per_token"] == 70272
    found = rooflight.quantity(with_drafts(count), "cache.bytes_per_token", drafts=True).value
    assert found == (61 + count) * one


@pytest.mark.parametrize("count", [1, 2])
def test_flops_of_draft_layers(count):
    """The projection that joins trunk and next token, one layer with experts, and logits."""
    batch, context = 3, 500
    answer = rooflight.cost(with_drafts(count), phase="decode", batch=batch, context=context, drafts=True)
    nodes = drafts_of(answer)
    joins = [node for node in nodes if node["id"].endswith("eh_proj")]
    assert [node["matmul_flops"] for node in joins] == [count * 2 * batch * 2 * 7168 * 7168]
    rest = components({"nodes": [node for node in nodes if node not in joins]})
    latent = configs.latent_dims(CONFIG)
    assert rest == {
        "attn_proj": flops.mla_proj(batch, count, 7168, 128, **latent),
        "attn_core": flops.mla_core_absorbed(batch, context, count, 128, 512, 64),
        "mla_absorb": flops.mla_absorb(batch, count, 128, 512, 128, 128),
        "router": flops.router(batch, count, 7168, 256),
        "routed_experts": flops.routed_experts(batch, count, 7168, 8, 2048),
        "shared_expert": flops.dense_mlp(batch, count, 7168, 2048),
        "lm_head": flops.lm_head(batch * count, 7168, 129280),
    }


@pytest.mark.parametrize("model", [V2_LITE, GPT_OSS])
def test_models_without_them(model):
    assert rooflight.show(model)["params"]["mtp"] == 0
    bare, deployed = (rooflight.cost(model, phase="decode", drafts=drafts) for drafts in (False, True))
    assert bare["nodes"] == deployed["nodes"]
    assert bare["totals"] == deployed["totals"]
    assert snapshot(model, "tensors")["totals"].get("mtp") is None


def test_a_config_that_names_none_has_none():
    config = dict(CONFIG)
    del config["num_nextn_predict_layers"]
    assert rooflight.show(config)["params"]["mtp"] == 0


def test_both_checkpoints_that_store_one():
    for model in (V3, R1):
        truth = snapshot(model, "tensors")["totals"]
        assert rooflight.show(model)["params"]["mtp"] == truth["mtp"] == MTP


SHARED = {  # draft layers whose embedding and head are the trunk's -> (stored in a layer, rows of the table)
    MIMO: (210790400, 151680),
    ERNIE: (123217920, 103424),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("model", SHARED)
def test_a_shared_head_is_read_and_not_stored(model, count):
    stored, n_vocab = SHARED[model]
    config = snapshot(model, "config") | {"num_nextn_predict_layers": count}
    answer = rooflight.cost(config, phase="decode", batch=3, context=100, drafts=True)
    added = drafts_of(answer)
    assert rooflight.show(config)["params"]["mtp"] == sum(node["params"] for node in added) == count * stored
    heads = [node for node in added if node["role"] == "head" and node["matmul_flops"]]
    width = config["hidden_size"]
    assert [node["matmul_flops"] for node in heads] == ([count * 2 * 3 * width * n_vocab] if count else [])
    assert [node["weight_bytes"] for node in heads] == ([count * 2 * width * n_vocab] if count else [])


def test_names_of_shared_drafts_are_numbered():
    names = [row["name"] for row in rooflight.tensors(snapshot(MIMO, "config") | {"num_nextn_predict_layers": 2})]
    assert "model.mtp_layers.{0-1}.input_proj.weight" in names
    assert not [name for name in names if "mtp" in name and ("embed" in name or "head" in name)]


def test_draft_layer_with_experts():
    """GLM-4.5: a layer with 160 experts, the projection that joins, three norms, a table and a head of its own."""
    layer = 5120 * (96 + 8 + 8 + 96) * 128 + (96 + 8 + 8) * 128 + 2 * 128 + 2 * 5120
    moe = 5120 * 160 + 160 + 161 * 3 * 5120 * 1536
    mtp = layer + moe + 2 * 5120 * 5120 + 3 * 5120 + 2 * 151552 * 5120
    assert rooflight.show(GLM)["params"]["mtp"] == mtp == snapshot(GLM, "tensors")["totals"]["mtp"]
