"""Totals, active and draft parameters of models with routed experts, and of their parts."""

from decimal import Decimal

import pytest

import rooflight
from oracles import configs, params
from oracles.material import cases, checkpoints_of, snapshot
from readings import ERNIE, EXPERTS, GLM, GPT_OSS, GPT_OSS_LARGE, HUNYUAN, MIXTRAL, QWEN3_MOE, R1, V2_LITE, V3

MODELS = checkpoints_of(*EXPERTS)
ROWS = cases("regression.yaml")["experts"]
EXACT = {  # total, active, draft layers: worked out by tests/oracles
    MIXTRAL: (46702792704, 12879925248, 0),
    QWEN3_MOE: (30532122624, 3353032704, 0),
    V2_LITE: (15706484224, 2661150208, 0),
    V3: (671026419200, 37552297472, 13463426304),
    R1: (671026419200, 37552297472, 13463426304),
    GPT_OSS: (20914757184, 4187440704, 0),
    GPT_OSS_LARGE: (116829156672, 5711982912, 0),
    GLM: (352797829024, 33632266144, 5539962272),
    HUNYUAN: (80393183232, 12747448320, 0),
    ERNIE: (21825437888, 3352150208, 123217920),
}


def test_ten_checkpoints():
    assert set(MODELS) == set(EXACT)


@pytest.mark.parametrize("model", MODELS)
def test_exact_figures(model):
    found = rooflight.show(model)["params"]
    assert (found["total"], found["active"], found["mtp"]) == EXACT[model]
    config = snapshot(model, "config")
    assert EXACT[model] == (configs.total(config), configs.active(config), configs.mtp(config))


@pytest.mark.parametrize("model", MODELS)
def test_totals_of_the_snapshot(model):
    found, truth = rooflight.show(model)["params"], snapshot(model, "tensors")["totals"]
    assert (found["total"], found["mtp"]) == (truth["parameters"], truth.get("mtp", 0))


@pytest.mark.parametrize("model", MODELS)
def test_published_total_is_ours_with_what_it_says_it_counts(model):
    """Some published totals hold the draft layers, and one the scales of packed weights, which are no parameters."""
    found, provenance = rooflight.show(model)["params"], snapshot(model, "provenance")
    extras = snapshot(model, "tensors")["totals"]["extras"]
    parts = {"parameter": found["total"], "mtp": found["mtp"], **extras}
    assert sum(parts[item] for item in provenance["published_total_counts"]) == provenance["published_total"]


@pytest.mark.parametrize("model", MODELS)
def test_parts(model):
    found, config = rooflight.show(model)["params"], snapshot(model, "config")
    D = config["hidden_size"]
    layers, E, k, Fe = configs.moe_layers(config)
    biases = 2 * Fe + D if config["model_type"] == "gpt_oss" else 0
    per_expert = params.gated_mlp(D, Fe) + biases
    router_bias = E if configs.has_router_bias(config) else 0
    assert found["by_role"]["expert"] == layers * E * per_expert
    assert found["by_role"]["router"] == layers * (D * E + router_bias)
    assert found["total"] - found["active"] == layers * (E - k) * per_expert
    assert found["embedding"] == config["vocab_size"] * D
    assert sum(found["by_role"].values()) == found["total"]


@pytest.mark.parametrize("model", MODELS)
def test_nodes_add_up(model):
    total, _, mtp = EXACT[model]
    assert sum(node["params"] for node in rooflight.cost(model)["nodes"]) == total
    assert sum(node["params"] for node in rooflight.cost(model, drafts=True)["nodes"]) == total + mtp


@pytest.mark.parametrize("kind", ["dense", "moe"])
def test_attention_of_one_layer(kind):
    assert rooflight.quantity(V3, f"params.component/layers.{kind}.attention").value == 187107328


def test_one_expert_and_one_layer():
    """A component's parameters are of one copy: of 256 experts, of 58 layers."""
    expert = rooflight.quantity(V3, "params.component/layers.moe.ffn.experts").value
    assert expert == 3 * 7168 * 2048
    layer = rooflight.quantity(V3, "params.layer/layers.moe").value
    assert layer == 187107328 + params.experts(7168, 256, 2048, router_bias=True, shared=1) + 2 * 7168
    dense = rooflight.quantity(V3, "params.layer/layers.dense").value
    assert 3 * dense + 58 * layer + 2 * 129280 * 7168 + 7168 == 671026419200


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_regression_table(row):
    found = rooflight.show(row["config"])["params"]
    assert (found["total"], found["active"], found["mtp"]) == (row["total"], row["active"], row.get("mtp", 0))
    if "attention_per_layer" in row:
        key = "params.component/layers.moe.attention"
        assert rooflight.quantity(row["config"], key).value == row["attention_per_layer"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_published_active_figure(row):
    """Ours holds embedding and head; to the figure's last digit it rounds, or is cut off, to what was published."""
    active = Decimal(rooflight.show(row["config"])["params"]["active"]) / 10**9
    figure = Decimal(row["published"]["active"].removesuffix("B"))
    last_digit = Decimal(1).scaleb(figure.as_tuple().exponent)
    assert -last_digit / 2 <= active - figure < last_digit


def test_list_of_models():
    listed = {row["id"]: row for row in rooflight.models()}
    for model, (total, active, _) in EXACT.items():
        assert (listed[model]["params_total"], listed[model]["params_active"]) == (total, active)
