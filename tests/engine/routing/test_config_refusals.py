"""Configs of models with experts and latents that cannot be: whole messages, naming the key and what it holds."""

import pytest

import rooflight
from engine.cases import each_case, expect
from oracles.material import snapshot
from rooflight import api
from rooflight.graph import PHASES
from rooflight.values import SpecError

TABLE = "config_refusals.txt"
BASES = {
    "mixtral": "mistralai/Mixtral-8x7B-v0.1",
    "qwen3-moe": "Qwen/Qwen3-30B-A3B",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "deepseek-v2-lite": "deepseek-ai/DeepSeek-V2-Lite",
    "gpt-oss": "openai/gpt-oss-20b",
}


def refusal(config):
    """The message a config is refused with; None where nothing refuses it."""
    try:
        model = rooflight.load(config)
        api.check(model)
        for phase in PHASES:
            api.cost(model, phase, drafts=True)
        api.show(model)
    except SpecError as error:
        return str(error)
    return None


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, refusal(case.config_of(snapshot(BASES[case.name.partition(":")[0]], "config"))), __file__, TABLE)


@pytest.mark.parametrize("model", BASES.values(), ids=BASES.keys())
def test_unchanged_they_are_not(model):
    assert refusal(snapshot(model, "config")) is None


def test_absent_keys_are_what_transformers_fills_in():
    """A width that is null is missing; one that is not written is the class default."""
    config = dict(snapshot(BASES["deepseek-v3"], "config"))
    del config["kv_lora_rank"]
    assert rooflight.show(config)["dims"]["d_kv_lora"]["value"] == 512


@pytest.mark.parametrize(
    ("model", "change", "total"),
    [
        pytest.param("qwen3-moe", {"mlp_only_layers": None}, 30532122624, id="no-dense-layers"),
        pytest.param("qwen3-moe", {"mlp_only_layers": [99]}, 30532122624, id="a-layer-that-is-not-there"),
        pytest.param("deepseek-v3", {"first_k_dense_replace": 99}, 37445852160, id="dense-beyond-the-last"),
        pytest.param("gpt-oss", {"layer_types": None}, 20914757184, id="kinds-by-default"),
        pytest.param("mixtral", {"num_experts_per_tok": 8}, 46702792704, id="all-experts-per-token"),
    ],
)
def test_odd_and_legal(model, change, total):
    config = snapshot(BASES[model], "config") | change
    assert refusal(config) is None
    assert rooflight.show(config)["params"]["total"] == total
