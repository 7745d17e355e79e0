"""Matmul FLOPs per component of models with experts: torch's counter under its conventions, closed forms under ours."""

import pytest

import rooflight
from oracles import configs
from oracles.material import cases, checkpoints_of, snapshot
from readings import EXPERTS, GLM, GPT_OSS, GPT_OSS_LARGE, MIXTRAL, QWEN3_MOE, R1, V2_LITE, V3, components, windowed

COVERED = (MIXTRAL, QWEN3_MOE, V2_LITE, V3, GPT_OSS, GPT_OSS_LARGE, GLM)
TORCH = [
    pytest.param(model, run, id=f"{model.split('/')[1]}-{run['phase']}-{run['batch']}")
    for model in COVERED
    for run in cases("torch_flops.json")["models"][model]
]


def as_torch_runs(run):
    """Its conventions: logits everywhere; latents expanded again in decode; in prefill the whole square, windows or
    not; in decode a sliding layer sees its trimmed cache, which is our exact count."""
    prefill = run["phase"] == "prefill"
    length = run["tokens"] if prefill else run["cached"] + 1
    counted = "square" if prefill else "exact"
    return dict(phase=run["phase"], batch=run["batch"], context=length, head="all", attention=counted, decode="same")


def test_all_runs_of_seven_models():
    assert len(TORCH) == 7 * 4


@pytest.mark.parametrize(("model", "run"), TORCH)
def test_components_as_torch_counts_them(model, run):
    answer = rooflight.cost(model, **as_torch_runs(run))
    assert components(answer) == run["components"]
    assert answer["totals"]["matmul_flops"] == sum(run["components"].values())


@pytest.mark.parametrize(("model", "run"), [param for param in TORCH if param.values[1]["phase"] == "decode"])
def test_square_and_exact_agree_in_decode(model, run):
    """One new token sees what the cache holds: nothing is masked."""
    knobs = as_torch_runs(run)
    exact, square = (components(rooflight.cost(model, **knobs | {"attention": a})) for a in ("exact", "square"))
    assert exact == square


@pytest.mark.parametrize(("model", "run"), TORCH)
def test_every_token_goes_through_k_experts(model, run):
    """Tokens times k, whatever the number of experts: the average under balanced routing is the sum."""
    config = snapshot(model, "config")
    layers, _, k, Fe = configs.moe_layers(config)
    tokens = run["batch"] * (run["tokens"] if run["phase"] == "prefill" else 1)
    assert run["components"]["routed_experts"] == 2 * tokens * k * layers * 3 * config["hidden_size"] * Fe


QWEN3_WINDOW = snapshot(QWEN3_MOE, "config") | {"use_sliding_window": True, "sliding_window": 128}
CONFIGS = {model.split("/")[1]: snapshot(model, "config") for model in checkpoints_of(*EXPERTS) if model != R1} | {
    "mixtral-window-4096": snapshot(MIXTRAL, "config") | {"sliding_window": 4096},
    "qwen3-moe-window-128": QWEN3_WINDOW,
    "qwen3-moe-every-second-layer": snapshot(QWEN3_MOE, "config") | {"decoder_sparse_step": 2},
    "qwen3-moe-named-dense-layers": snapshot(QWEN3_MOE, "config") | {"mlp_only_layers": [0, 5, 47]},
    "v3-full-query": snapshot(V3, "config") | {"q_lora_rank": None},
    "v3-without-shared": snapshot(V3, "config") | {"n_shared_experts": 0},
}
PREFILLS = [
    pytest.param(dict(batch=1, context=1), id="one-token"),
    pytest.param(dict(batch=3, context=1000), id="batch"),
    pytest.param(dict(batch=1, context=6000), id="past-the-window"),
    pytest.param(dict(batch=2, context=5300, prefix=5000), id="prefix"),
    pytest.param(dict(batch=1, context=400, prefix=100), id="window-inside"),
    pytest.param(dict(batch=2, context=64, head="all"), id="all-logits"),
]


@pytest.mark.parametrize("deployment", PREFILLS)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_prefill(config, deployment):
    """After a prefix the cached latents are expanded with the new ones."""
    oracle = dict(deployment)
    oracle["new"] = oracle.pop("context") - deployment.get("prefix", 0)
    assert components(rooflight.cost(config, phase="prefill", **deployment)) == configs.components(config, **oracle)


DECODES = [
    pytest.param(dict(batch=1, context=1), id="first"),
    pytest.param(dict(batch=5, context=4096), id="batch"),
    pytest.param(dict(batch=1, context=100000), id="long"),
    pytest.param(dict(batch=2, context=130, new_tokens=4), id="window-inside"),
]


@pytest.mark.parametrize("absorbed", [True, False], ids=["variant", "same"])
@pytest.mark.parametrize("deployment", DECODES)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_decode(config, deployment, absorbed):
    new = deployment.get("new_tokens", 1)
    expected = configs.components(
        config,
        batch=deployment["batch"],
        new=new,
        prefix=deployment["context"] - new,
        head="all",
        absorbed=absorbed,
    )
    answer = rooflight.cost(config, phase="decode", decode="variant" if absorbed else "same", **deployment)
    assert components(answer) == expected


COLUMNS = ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_totals_are_sums_of_the_nodes(config):
    for phase in ("prefill", "decode"):
        answer = rooflight.cost(config, phase=phase, batch=2, context=777)
        for column in COLUMNS:
            total = sum(node[column] for node in answer["nodes"])
            assert answer["totals"][column] == pytest.approx(total, rel=1e-14), (phase, column)


def test_a_window_of_the_stand_in_agrees():
    """Qwen3 without experts stands in elsewhere for mixed windows: attention is counted alike."""
    dense = components(rooflight.cost(windowed(0, 48, 128, 4, 128) | {"num_attention_heads": 32}, context=5000))
    assert dense["attn_core"] == components(rooflight.cost(QWEN3_WINDOW, context=5000))["attn_core"]
