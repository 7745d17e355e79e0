"""Weights a step reads where a router chooses: expected distinct experts, and everything else once."""

from fractions import Fraction
from itertools import pairwise

import pytest

import rooflight
from oracles import configs, routing
from oracles.material import checkpoints_of, elements, snapshot
from readings import EXPERTS, GLM, MIXTRAL, QWEN3_MOE, R1, V3, in_bf16

MODELS = [model for model in checkpoints_of(*EXPERTS) if model != R1]
WIDTH = {"BF16": 2, "F32": 4}
BATCHES = (1, 2, 3, 8, 32, 100, 1000)


def read(target, **step):
    """Weight bytes of one decode step: (of routed experts, of all the rest, of the rows of the embedding)."""
    nodes = rooflight.cost(target, **({"phase": "decode"} | step))["nodes"]
    experts = sum(node["weight_bytes"] for node in nodes if node["role"] == "expert")
    rows = sum(node["weight_bytes"] for node in nodes if node["role"] == "embedding")
    return experts, sum(node["weight_bytes"] for node in nodes) - experts - rows, rows


def expert_bytes(target):
    return 2 * rooflight.show(target)["params"]["by_role"]["expert"]


def expected(config, tokens):
    """E (1 − (1 − k/E)^tokens) experts of each layer, exactly."""
    _, E, k, _ = configs.moe_layers(config)
    return expert_bytes(config) * routing.distinct(E, k, tokens) / E


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("model", MODELS)
def test_experts_of_a_decode_step(model, batch):
    config = in_bf16(model)
    assert read(config, batch=batch)[0] == pytest.approx(float(expected(config, batch)), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_one_token_reads_what_it_chose(model):
    """No rounding where k/E is a part of a power of two, as it is of these models but one."""
    config = in_bf16(model)
    _, E, k, _ = configs.moe_layers(config)
    found = read(config, batch=1)[0]
    if model == GLM:  # 8 of 160
        assert found == pytest.approx(expert_bytes(config) / 20, rel=1e-14)
        return
    assert Fraction(found) == Fraction(k, E) * expert_bytes(config)


@pytest.mark.parametrize("model", MODELS)
def test_more_sequences_read_more_and_never_more_than_all(model):
    config = in_bf16(model)
    found = [read(config, batch=batch)[0] for batch in BATCHES]
    assert found == sorted(found)
    assert len(set(found[:5])) == 5
    assert all(experts <= expert_bytes(config) for experts in found)
    assert read(config, batch=10**6)[0] == expert_bytes(config)


@pytest.mark.parametrize("model", MODELS)
def test_each_doubling_adds_less(model):
    config = in_bf16(model)
    found = [read(config, batch=2**n)[0] for n in range(8)]
    added = [after / before for before, after in pairwise(found)]
    assert added == sorted(added, reverse=True)


@pytest.mark.parametrize("model", MODELS)
def test_all_the_rest_is_read_once(model):
    """Shared experts, routers, attention and head, whatever the batch, each tensor in the dtype it is stored in; of
    the embedding a row per sequence."""
    config = in_bf16(model) | {"num_nextn_predict_layers": 0}
    rows = [row for row in rooflight.tensors(config) if ".experts." not in row["name"] and "embed" not in row["name"]]
    found = rooflight.show(config)["params"]
    assert sum(map(elements, rows)) == found["total"] - found["by_role"]["expert"] - found["embedding"]
    rest = sum(elements(row) * WIDTH[row["dtype"]] for row in rows)
    if config.get("tie_word_embeddings"):
        rest += 2 * found["embedding"]  # a tied head reads the whole table
    for batch in BATCHES:
        read_once, looked_up = read(config, batch=batch)[1:]
        assert (read_once, looked_up) == (pytest.approx(rest, rel=1e-14), 2 * batch * config["hidden_size"])


def test_speculated_tokens_choose_too():
    """What counts is tokens of the step: two new ones of four sequences choose as eight sequences do."""
    config = in_bf16(QWEN3_MOE)
    assert read(config, batch=4, new_tokens=2, context=100)[0] == read(config, batch=8)[0]


def test_prefill_reads_every_expert_of_a_long_prompt():
    config = in_bf16(V3)
    assert read(config, phase="prefill", context=4096)[0] == expert_bytes(config)
    short = read(config, phase="prefill", context=3)[0]
    assert short == pytest.approx(float(expected(config, 3)), rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5, 8])
def test_choosing_all_is_reading_all(k):
    config = snapshot(MIXTRAL, "config") | {"num_experts_per_tok": k}
    found = read(config, batch=2)[0]
    assert found == pytest.approx(float(expected(config, 2)), rel=1e-12)
    assert (found == expert_bytes(config)) == (k == 8)


def test_the_formula_says_so():
    text = rooflight.formula(MIXTRAL, "decode.weight_bytes/layers.ffn.experts.gate_proj")
    assert text.replace(" ", "").count("(1-(1-n_active/n_experts)^B)") == 1
    found = rooflight.quantity(MIXTRAL, "decode.weight_bytes/layers.ffn.experts.gate_proj", batch=5)
    assert found.value == pytest.approx(float(expected(in_bf16(MIXTRAL), 5)) / 3, rel=1e-12)
