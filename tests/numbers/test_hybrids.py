"""Hybrids of attention and state-space mixers: totals, tensors, schedules, and what each checkpoint stores."""

import pytest

import rooflight
from oracles import configs
from oracles.material import cases, checkpoints_of, elements, snapshot
from readings import HYBRIDS, components, hybrid, stored
from rooflight.values import SpecError

MODELS = checkpoints_of(*HYBRIDS)
GRANITE, NEMOTRON, FALCON = (checkpoints_of(word)[0] for word in HYBRIDS)
NEMOTRON_8B = next(row for row in cases("regression.yaml")["others"] if row["id"] == "nemotron-h-8b")


def test_three_hybrids():
    assert len(MODELS) == 3


@pytest.mark.parametrize(
    ("model", "published"), [(GRANITE, 3191396096), (NEMOTRON, 31577937344), (FALCON, 521411104)], ids=HYBRIDS
)
def test_published_totals(model, published):
    """The hub's total of one of them leaves the routers' corrections out, 128 in each of 23 layers."""
    corrections = 23 * 128 if model == NEMOTRON else 0
    assert rooflight.show(model)["params"]["total"] == published + corrections
    assert snapshot(model, "provenance")["published_total"] == published


@pytest.mark.parametrize("model", MODELS)
def test_totals_and_tensors_equal_the_snapshot(model):
    rows, totals = (snapshot(model, "tensors")[key] for key in ("tensors", "totals"))
    assert stored(model) == {row["name"]: (row["shape"], row["dtype"], row["count"]) for row in rows}
    params = rooflight.show(model)["params"]
    assert params["total"] == sum(params["by_role"].values()) == totals["parameters"]
    assert sum(elements(row) for row in rooflight.tensors(model)) == totals["elements"]


def test_active_parameters_are_what_the_model_card_says():
    """31.6 B in all and 3.2 B active: the card leaves out the token table, of which a token reads one row."""
    params = rooflight.show(NEMOTRON)["params"]
    unselected = 23 * (128 - 6) * 2 * 2688 * 1856
    assert params["active"] == params["total"] - unselected
    assert round((params["active"] - params["embedding"]) / 1e9, 1) == 3.2


def test_a_dense_hybrid_by_hand():
    config = NEMOTRON_8B["config"]
    assert rooflight.show(config)["params"]["total"] == NEMOTRON_8B["total"] == configs.total(config)
    assert {row["kind"]: row["layers"] for row in rooflight.show(config)["layers"]} == {
        "mamba": 24,
        "attention": 4,
        "mlp": 24,
    }


def test_layers_follow_the_lists_of_the_configs():
    kinds = {
        model: {row["kind"]: row["indices"] for row in rooflight.show(model)["layers"]} for model in (GRANITE, NEMOTRON)
    }
    assert kinds[GRANITE]["attention"] == "5, 15, 25, 35"
    assert kinds[NEMOTRON]["attention"] == "5, 12, 19, 26, 33, 42"
    pattern = snapshot(NEMOTRON, "config")["hybrid_override_pattern"]
    assert [i for i, letter in enumerate(pattern) if letter == "*"] == [5, 12, 19, 26, 33, 42]


def test_words_of_transformers_5_mean_the_same_layers():
    config = snapshot(GRANITE, "config")
    words = {"mamba": "linear_attention", "attention": "full_attention"}
    renamed = config | {"layer_types": [words[kind] for kind in config["layer_types"]]}
    assert rooflight.show(renamed)["layers"] == rooflight.show(config)["layers"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("MX", "one of M, *, -, E"),
        ("M", "a list of 2, one per layer"),
    ],
    ids=["unknown letter", "too short"],
)
def test_a_pattern_that_does_not_fit_is_refused(pattern, message):
    with pytest.raises(SpecError, match=message.replace("*", r"\*")):
        rooflight.show(hybrid(pattern) | {"num_hidden_layers": 2})


def test_a_norm_behind_the_scan_where_the_config_has_one():
    config = snapshot(FALCON, "config")
    more = rooflight.show(config | {"mamba_rms_norm": True})["params"]["total"]
    assert more - rooflight.show(config)["params"]["total"] == 36 * 1536


@pytest.mark.parametrize(
    ("model", "key", "value"),
    [
        (GRANITE, "num_local_experts", 62),
        (GRANITE, "position_embedding_type", "rope"),
        (NEMOTRON, "moe_latent_size", 1024),
        (NEMOTRON, "mamba_ssm_cache_dtype", "bfloat16"),
        (FALCON, "mamba_use_mlp", False),
    ],
)
def test_what_the_specs_do_not_cover_is_said(model, key, value):
    warnings = rooflight.show(snapshot(model, "config") | {key: value})["warnings"]
    assert any(key in warning and "written for" in warning for warning in warnings)


RUNS = cases("torch_flops.json")["models"][NEMOTRON]


@pytest.mark.parametrize("run", RUNS, ids=[f"{run['phase']}-{run['batch']}" for run in RUNS])
def test_components_as_torch_counts_them(run):
    """The table's attn_core holds the scan as torch's fallback computes it, head by head; kernels share groups."""
    prefill = run["phase"] == "prefill"
    length = run["tokens"] if prefill else run["cached"] + 1
    knobs = {"head": "all", "attention": "square" if prefill else "exact"}
    found = components(rooflight.cost(NEMOTRON, run["phase"], batch=run["batch"], context=length, **knobs))
    scan = found.pop("mamba_scan", 0)
    counted = dict(run["components"])
    assert found.pop("attn_core") + scan < counted.pop("attn_core")
    assert found == counted
