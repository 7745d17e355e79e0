"""Parameter totals: of every checkpoint, of the regression table, and of both in parts."""

import pytest

import rooflight
from oracles import configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import DENSE, MIMO, OLMO3

ROWS = cases("regression.yaml")["dense"]
MODELS = checkpoints_of(*DENSE)


def test_eighteen_dense_checkpoints():
    assert len(MODELS) == 18


@pytest.mark.parametrize("model", MODELS)
def test_total_equals_the_snapshot(model):
    assert rooflight.show(model)["params"]["total"] == snapshot(model, "tensors")["totals"]["parameters"]


@pytest.mark.parametrize("model", MODELS)
def test_published_total_is_ours_plus_the_itemised_extras(model):
    extras = snapshot(model, "tensors")["totals"]["extras"]
    found = rooflight.show(model)["params"]
    assert found["total"] + found["mtp"] + sum(extras.values()) == snapshot(model, "provenance")["published_total"]


EXACT = {  # total, draft layers: worked out by tests/oracles
    "allenai/OLMo-2-1124-7B": (7298617344, 0),
    "allenai/OLMo-2-1124-13B": (13716198400, 0),
    OLMO3: (7298011136, 0),
    MIMO: (7622619136, 210790400),
    "HuggingFaceTB/SmolLM3-3B": (3075098624, 0),
    "Qwen/Qwen3-32B-FP8": (32762123264, 0),
}


@pytest.mark.parametrize("model", EXACT)
def test_exact_figures(model):
    found, config = rooflight.show(model)["params"], snapshot(model, "config")
    assert (found["total"], found["mtp"]) == EXACT[model] == (configs.total(config), configs.mtp(config))


@pytest.mark.parametrize("model", MODELS)
def test_parts(model):
    params, config = rooflight.show(model)["params"], snapshot(model, "config")
    assert params["active"] == params["total"]
    assert params["mtp"] == snapshot(model, "tensors")["totals"].get("mtp", 0)
    assert sum(params["by_role"].values()) == params["total"]
    if config["model_type"] != "gpt2":
        assert params["embedding"] == config["vocab_size"] * config["hidden_size"]
        letters = configs.dims(config)
        assert params["by_role"]["ffn"] == letters["L"] * 3 * letters["D"] * config["intermediate_size"]


@pytest.mark.parametrize("model", MODELS)
def test_nodes_add_up_to_the_total(model):
    nodes = rooflight.cost(model)["nodes"]
    assert sum(node["params"] for node in nodes) == snapshot(model, "tensors")["totals"]["parameters"]


def test_list_of_models():
    listed = {row["id"]: row for row in rooflight.models()}
    assert set(MODELS) <= set(listed)
    for model in MODELS:
        parameters = snapshot(model, "tensors")["totals"]["parameters"]
        assert (listed[model]["params_total"], listed[model]["params_active"]) == (parameters, parameters)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_regression_table(row):
    assert rooflight.show(row["config"])["params"]["total"] == row["total"]


SWITCHES = [
    pytest.param({"tie_word_embeddings": True}, id="tied"),
    pytest.param({"attention_bias": True}, id="attention-bias"),
    pytest.param({"mlp_bias": True}, id="mlp-bias"),
    pytest.param({"head_dim": 96}, id="head-dim"),
    pytest.param({"num_key_value_heads": 1}, id="one-kv-head"),
    pytest.param({"num_key_value_heads": None}, id="kv-heads-null"),
    pytest.param({"num_hidden_layers": 1}, id="one-layer"),
    pytest.param({"vocab_size": 1}, id="one-token"),
]


@pytest.mark.parametrize("change", SWITCHES)
def test_llama_in_odd_settings(change):
    config = snapshot("meta-llama/Meta-Llama-3.1-8B", "config") | change
    assert rooflight.show(config)["params"]["total"] == configs.total(config)


def test_kv_heads_left_out_are_as_many_as_heads():
    config = dict(snapshot("meta-llama/Llama-2-7b-hf", "config"))
    del config["num_key_value_heads"]
    assert rooflight.show(config)["params"]["total"] == 6738415616


@pytest.mark.parametrize(
    "change",
    [pytest.param({"n_inner": 1000}, id="inner"), pytest.param({"n_inner": None}, id="inner-null")],
)
def test_gpt2_width_of_the_mlp(change):
    config = snapshot("openai-community/gpt2", "config") | change
    assert rooflight.show(config)["params"]["total"] == configs.total(config)
