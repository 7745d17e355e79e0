"""Matmul FLOPs per component: against torch's counter under its conventions, and against closed forms under ours."""

import pytest

import rooflight
from oracles import configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import DENSE, components, matmul_flops, windowed

TORCH = [
    pytest.param(model, run, id=f"{model.split('/')[1]}-{run['phase']}-{run['batch']}")
    for model in ("meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-405B")
    for run in cases("torch_flops.json")["models"][model]
]


def as_torch_runs(run):
    """Its conventions: logits everywhere, the whole square; decode counts the new token into the context."""
    length = run["tokens"] if run["phase"] == "prefill" else run["cached"] + 1
    return dict(phase=run["phase"], batch=run["batch"], context=length, head="all", attention="square")


@pytest.mark.parametrize(("model", "run"), TORCH)
def test_components_as_torch_counts_them(model, run):
    answer = rooflight.cost(model, **as_torch_runs(run))
    assert components(answer) == run["components"]
    assert answer["totals"]["matmul_flops"] == sum(run["components"].values())


COLUMNS = ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")
MISTRAL = next(row["config"] for row in cases("regression.yaml")["dense"] if row["id"] == "mistral-7b")
CONFIGS = {model.split("/")[1]: snapshot(model, "config") for model in checkpoints_of(*DENSE)} | {
    "mistral-window-4096": MISTRAL,
    "qwen3-window-in-half-the-layers": windowed(6, 6, 128, 8, 64),
}
PREFILLS = [
    pytest.param(dict(batch=1, context=1), id="one-token"),
    pytest.param(dict(batch=3, context=1000), id="batch"),
    pytest.param(dict(batch=1, context=6000), id="past-the-window"),
    pytest.param(dict(batch=2, context=5300, prefix=5000), id="prefix"),
    pytest.param(dict(batch=1, context=400, prefix=100), id="window-inside"),
    pytest.param(dict(batch=2, context=64, head="all"), id="all-logits"),
    pytest.param(dict(batch=1, context=520, prefix=20, attention="square"), id="square"),
]


@pytest.mark.parametrize("deployment", PREFILLS)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_prefill(config, deployment):
    """`context` is what a sequence holds afterwards, the cached prefix included."""
    oracle = dict(deployment)
    oracle["new"] = oracle.pop("context") - deployment.get("prefix", 0)
    assert components(rooflight.cost(config, phase="prefill", **deployment)) == configs.components(config, **oracle)


DECODES = [
    pytest.param(dict(batch=1, context=1), id="first"),
    pytest.param(dict(batch=5, context=4096), id="batch"),
    pytest.param(dict(batch=1, context=100000), id="long"),
    pytest.param(dict(batch=2, context=130, new_tokens=4), id="window-inside"),
    pytest.param(dict(batch=1, context=9, new_tokens=9), id="all-new"),
]


@pytest.mark.parametrize("deployment", DECODES)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_decode(config, deployment):
    """Every new token gets logits: speculative verification needs them all."""
    new = deployment.get("new_tokens", 1)
    expected = configs.components(
        config, batch=deployment["batch"], new=new, prefix=deployment["context"] - new, head="all"
    )
    answer = rooflight.cost(config, phase="decode", head="all", **deployment)
    assert components(answer) == expected


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_totals_are_sums_of_the_nodes(config):
    for phase in ("prefill", "decode"):
        answer = rooflight.cost(config, phase=phase, batch=2, context=777)
        for column in COLUMNS:
            assert answer["totals"][column] == sum(node[column] for node in answer["nodes"]), (phase, column)


def test_other_work_is_counted_apart():
    totals = rooflight.cost("meta-llama/Meta-Llama-3.1-8B", context=1024)["totals"]
    assert 0 < totals["other_flops"] < totals["matmul_flops"] / 20


def test_a_chunk_after_a_prefix_costs_what_is_left():
    """Prefill in two chunks scores the same pairs as in one."""
    model = "meta-llama/Meta-Llama-3.1-8B"
    whole = components(rooflight.cost(model, context=1000, head="all"))
    first = components(rooflight.cost(model, context=400, head="all"))
    second = components(rooflight.cost(model, context=1000, prefix=400, head="all"))
    assert {name: first[name] + second[name] for name in whole} == whole


def test_lookup_is_a_gather():
    for tied in (True, False):
        config = snapshot("Qwen/Qwen3-0.6B", "config") | {"tie_word_embeddings": tied}
        nodes = rooflight.cost(config, context=512)["nodes"]
        assert sum(node["matmul_flops"] for node in nodes if node["role"] == "embedding") == 0
    assert matmul_flops(config | {"tie_word_embeddings": True}) == matmul_flops(config)
