"""Laws of models with experts, on random configs: totals, tensors, formulas, work and caches equal the closed forms."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from engine.routing.expert_configs import deepseek, gpt_oss, mixtral, qwen3_moe, routed
from oracles import configs
from oracles.material import elements
from rooflight import api

ROUNDS = settings(max_examples=60, deadline=None)
FEW = settings(max_examples=30, deadline=None)
PER_KIND = [
    pytest.param(strategy, id=name)
    for name, strategy in (
        ("mixtral", mixtral()),
        ("qwen3-moe", qwen3_moe()),
        ("gpt-oss", gpt_oss()),
        ("deepseek", deepseek()),
    )
]


def is_deepseek(config):
    return "kv_lora_rank" in config


def expected_mtp(config):
    return configs.mtp(config) if is_deepseek(config) else 0


@ROUNDS
@given(config=routed)
def test_totals_are_the_closed_forms(config):
    found = rooflight.show(config)["params"]
    assert found["total"] == configs.total(config)
    assert found["active"] == configs.active(config)
    assert found["mtp"] == expected_mtp(config)
    assert found["active"] <= found["total"]


@ROUNDS
@given(config=routed)
def test_tensors_add_up(config):
    """What is stored is the total and the drafts, however layers and experts are written together."""
    rows = rooflight.tensors(config)
    assert sum(elements(row) for row in rows) == configs.total(config) + expected_mtp(config)
    assert len({row["name"] for row in rows}) == len(rows)


@ROUNDS
@given(config=routed)
def test_every_layer_has_one_kind(config):
    shown = rooflight.show(config)
    assert sum(kind["layers"] for kind in shown["layers"]) == config["num_hidden_layers"]
    with_experts = sum(kind["layers"] for kind in shown["layers"] if "experts" in kind["components"])
    assert with_experts == configs.moe_layers(config)[0]


@st.composite
def steps(draw):
    phase = draw(st.sampled_from(["prefill", "decode"]))
    context = draw(st.integers(1, 40) | st.integers(1, 5_000))
    new = context if phase == "prefill" else draw(st.integers(1, min(context, 9)))
    return phase, draw(st.integers(1, 50)), context, new


@ROUNDS
@given(config=routed, step=steps(), variant=st.booleans())
def test_matmul_flops_are_the_closed_forms(config, step, variant):
    phase, batch, context, new = step
    absorbed = variant and phase == "decode"
    expected = configs.components(
        config,
        batch=batch,
        new=new,
        prefix=context - new,
        head="all" if phase == "decode" else "last",
        absorbed=absorbed,
    )
    knobs = {"new_tokens": new} if phase == "decode" else {}
    answer = rooflight.cost(
        config, phase, batch=batch, context=context, decode="variant" if variant else "same", **knobs
    )
    assert answer["totals"]["matmul_flops"] == sum(expected.values())


@ROUNDS
@given(config=routed, context=st.integers(1, 5_000))
def test_caches_are_the_closed_forms(config, context):
    found = rooflight.cost(config, "decode", context=context)["totals"]["cache_bytes_per_sequence"]
    assert found == configs.request_bytes(config, context)


FIGURES = ("params.total", "params.active", "cache.bytes", "prefill.matmul_flops", "decode.matmul_flops", "params.mtp")


@FEW
@given(config=routed, key=st.sampled_from(FIGURES), drafts=st.booleans())
def test_formula_is_the_number(config, key, drafts):
    """The printed formula, computed with the printed values: what a reader with a calculator gets."""
    told = rooflight.explain(config, key, context=1234, batch=3, drafts=drafts)
    known = {name: Fraction(symbol["value"]) for name, symbol in told["symbols"].items()}
    for name, body in told["where"].items():
        known[name] = calculated(body, known)
    assert calculated(told["formula"], known) == told["value"]
    assert told["value"] == rooflight.quantity(config, key, context=1234, batch=3, drafts=drafts).value


def calculated(text, known):
    """Python's own arithmetic on the text, in exact fractions."""
    python = text.replace("·", "*").replace("^", "**")
    return eval(python, {"__builtins__": {}, "min": min, "max": max}, known)


def expert_nodes(config, **step):
    return {node["id"]: node for node in rooflight.cost(config, **step)["nodes"] if node["role"] == "expert"}


def with_experts(config, number):
    """The same config with another number of routed experts, in one group."""
    for key in ("num_local_experts", "num_experts", "n_routed_experts"):
        if key in config:
            changed = config | {key: number}
    return changed | ({"n_group": 1, "topk_group": 1} if is_deepseek(config) else {})


@pytest.mark.parametrize("kind", PER_KIND)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), number=st.integers(1, 60), batch=st.integers(1, 7))
def test_routing_denominator(kind, data, number, batch):
    """Work is tokens · k · one row's, whatever the number of experts: their copies and their shares cancel."""
    config = data.draw(kind)
    layers, E, k, Fe = configs.moe_layers(config)
    tokens, D = batch * 11, config["hidden_size"]
    one_row = 2 * 3 * D * Fe
    for experts in {E, max(number, k)}:
        nodes = expert_nodes(with_experts(config, experts), batch=batch, context=11)
        assert sum(node["matmul_flops"] for node in nodes.values()) == layers * tokens * k * one_row
        down = [node for node in nodes.values() if node["id"].endswith(".down_proj")]
        assert sum(node["copies"] for node in down) == layers * experts


@pytest.mark.parametrize("kind", PER_KIND)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), more=st.integers(1, 60))
def test_an_expert_does_not_know_how_many_there_are(kind, data, more):
    """Shapes stored for one expert, and rows times copies, depend on no number of experts."""
    config = data.draw(kind)
    E = configs.moe_layers(config)[1]
    few, many = with_experts(config, E), with_experts(config, E + more)
    before, after = (api.reading(rooflight.load(c)).numbers for c in (few, many))
    for node, shapes in before.stored.items():
        if before.role[node] == "expert":
            assert after.stored[node] == shapes
            assert after.params[node] == before.params[node]
            assert after.inner[node] == (E + more, before.inner[node][1])
            assert after.shape[node][0] * (E + more) == before.shape[node][0] * E


@FEW
@given(config=deepseek())
def test_no_formula_multiplies_kinds_of_layers_out(config):
    """Both kinds present: the total names each kind's sum and multiplies it with its own count."""
    layers, dense = config["num_hidden_layers"], configs.dense_layers(config)
    text = rooflight.formula(config, "params.total")
    if 0 < dense < layers:
        assert "n_dense·params_layers_dense + (n_layers - n_dense)·params_layers_moe" in text
    else:
        assert f"n_layers·params_layers_{'dense' if dense else 'moe'}" in text


@FEW
@given(config=deepseek())
def test_both_phases_store_the_same(config):
    for key in ("params.total", "params.active"):
        prefill, decode = (rooflight.quantity(config, key, phase=phase).value for phase in ("prefill", "decode"))
        assert prefill == decode


@FEW
@given(config=routed)
def test_geometry_holds(config):
    """No two lengths agree by the accident of these sizes."""
    api.check(rooflight.load(config))


@FEW
@given(config=routed, batch=st.integers(1, 40))
def test_experts_read(config, batch):
    layers, E, k, _ = configs.moe_layers(config)
    nodes = [node for node in expert_nodes(config, phase="decode", batch=batch).values() if node["params"]]
    for node in nodes:
        left_out = (comb(E - 1, k) / comb(E, k)) ** batch  # by all tokens, choosing k of E each
        assert node["weight_bytes"] == pytest.approx(2 * node["params"] * (1 - left_out), rel=1e-9)
    assert bool(nodes) == bool(layers)
