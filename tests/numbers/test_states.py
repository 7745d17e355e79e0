"""What state-space layers keep and move: as much at any context, in F32, read and written whole."""

import pytest

import rooflight
from oracles import cache, flops
from oracles.material import checkpoints_of, snapshot
from readings import HYBRIDS, hybrid, request_bytes
from rooflight import api, derive
from rooflight.api import quantity, step_size
from rooflight.api.memory import Deployed, memory
from rooflight.expr import evaluate
from rooflight.layout import Plan
from rooflight.spec import AS_STORED

MODELS = checkpoints_of(*HYBRIDS)
#                  layers, heads, head width, groups, state, convolution; chunk
MIXERS = {
    "granitemoehybrid": (36, 64, 64, 1, 128, 4, 256),
    "nemotron_h": (23, 64, 64, 8, 128, 4, 128),
    "falcon_h1": (36, 24, 64, 1, 128, 4, 128),
}
#                     layers, KV heads, head width
ATTENTION = {"granitemoehybrid": (4, 8, 64), "nemotron_h": (6, 2, 128), "falcon_h1": (36, 2, 64)}
CONTEXTS = (1, 4, 127, 4096, 100_000)


def sizes(model):
    kind = snapshot(model, "config")["model_type"]
    return MIXERS[kind], ATTENTION[kind]


def state_bytes(model, width=4):
    (layers, heads, head, groups, state, conv, _), _ = sizes(model)
    kept = cache.mamba2_state_elements(heads, head, state) * width
    return layers * (kept + cache.mamba2_conv_elements(heads, head, groups, state, conv) * 2)


def per_token(model):
    _, (layers, kv_heads, width) = sizes(model)
    return cache.mha_bytes_per_token(layers, kv_heads, width, 2)


def moved(model, phase, **knobs):
    """Cache bytes that the state-space layers of a step move, and those of attention."""
    nodes = rooflight.cost(model, phase=phase, **knobs)["nodes"]
    states = sum(node["kv_bytes"] for node in nodes if node["op"] in {"causal_conv1d", "ssd_chunk_scan", "ssd_step"})
    return states, sum(node["kv_bytes"] for node in nodes) - states


@pytest.mark.parametrize("model", MODELS)
def test_a_sequence_holds_one_state_and_what_grows(model):
    found = rooflight.show(model)["cache"]
    assert (found["bytes_per_token"], found["constant_bytes"]) == (per_token(model), state_bytes(model))
    for context in CONTEXTS:
        assert request_bytes(model, context) == state_bytes(model) + per_token(model) * context
    first = quantity(rooflight.load(model), "cache.first_token_bytes").value
    assert first == state_bytes(model) + per_token(model)


@pytest.mark.parametrize("model", MODELS)
def test_entries_of_a_layer(model):
    """Two states in a state-space layer: none grows by a byte."""
    entries = {entry["kind"]: entry for entry in rooflight.show(model)["cache"]["entries"]}
    assert set(entries) == {"last positions", "state", "key", "value"}
    (layers, heads, head, groups, state, conv, _), _ = sizes(model)
    for kind, one in (
        ("state", cache.mamba2_state_elements(heads, head, state) * 4),
        ("last positions", cache.mamba2_conv_elements(heads, head, groups, state, conv) * 2),
    ):
        entry = entries[kind]
        assert (entry["growth"], entry["bytes_per_token"], entry["constant_bytes"]) == ("constant", 0, layers * one)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("model", MODELS)
def test_a_step_moves_the_state_whole(model, context, batch):
    """Decode reads it and writes it, whatever the context; a prompt writes it once."""
    decode, _ = moved(model, "decode", context=context, batch=batch)
    prefill, _ = moved(model, "prefill", context=context, batch=batch)
    assert (decode, prefill) == (2 * batch * state_bytes(model), batch * state_bytes(model))


@pytest.mark.parametrize("model", MODELS)
def test_a_prompt_that_goes_on_reads_it_first(model):
    begun, _ = moved(model, "prefill", context=4096)
    resumed, _ = moved(model, "prefill", context=4096, prefix=1024)
    assert resumed == 2 * begun
    several, _ = moved(model, "decode", context=4096, new_tokens=4)
    assert several == 2 * begun  # several tokens a step: still read once and written once


@pytest.mark.parametrize("model", MODELS)
def test_precision(model):
    """A cache in FP8 is about keys and values; the state keeps its own dtype, unless a profile names one for it."""
    found = rooflight.show(model)["cache"]["constant_bytes"]
    bound = rooflight.load(model)
    assert quantity(bound, "cache.constant_bytes", precision="kv8").value == found
    assert quantity(bound, "cache.bytes_per_token", precision="kv8").value == per_token(model) / 2
    states = AS_STORED._replace(name="states", states="BF16")
    assert quantity(bound, "cache.constant_bytes", precision=states).value == state_bytes(model, width=2)


@pytest.mark.parametrize("knobs", [{"context": 300}, {"context": 1024, "batch": 5, "prefix": 100}], ids=["odd", "even"])
@pytest.mark.parametrize("model", MODELS)
def test_formulas_equal_numbers(model, knobs):
    for phase in ("prefill", "decode"):
        given = {name: value for name, value in knobs.items() if phase == "prefill" or name != "prefix"}
        read = api.reading(rooflight.load(model), phase, **given)
        values = api.symbol_values(read.model, read.step)
        for column in ("matmul", "other", "read", "written", "state_moved", "params"):
            for node, number, formula in getattr(read.numbers, column).join(getattr(read.formulas, column)):
                assert evaluate(formula, values, {}) == number, (column, node)
        for figure in (derive.cache_bytes, derive.cache_constant_bytes, derive.cache_bytes_per_token):
            assert evaluate(figure(read.formulas), values, {}) == figure(read.numbers)


@pytest.mark.parametrize("prefix", [0, 100])
@pytest.mark.parametrize("context", [101, 128, 1000, 1024])
@pytest.mark.parametrize("model", MODELS)
def test_matrix_work_of_a_scan(model, context, prefix):
    (layers, heads, head, groups, state, _, chunk), _ = sizes(model)
    nodes = rooflight.cost(model, context=context, prefix=prefix, batch=2)["nodes"]
    found = sum(node["matmul_flops"] for node in nodes if node["op"] == "ssd_chunk_scan")
    assert found == flops.mamba2_scan(2, context - prefix, layers, heads, head, groups, state, chunk)


@pytest.mark.parametrize("model", MODELS)
def test_decode_follows_the_recurrence_unless_told_otherwise(model):
    def scans(decode):
        nodes = rooflight.cost(model, phase="decode", decode=decode)["nodes"]
        return {node["op"] for node in nodes if node["op"].startswith("ssd_")}

    assert (scans("variant"), scans("same")) == ({"ssd_step"}, {"ssd_chunk_scan"})


def test_work_of_state_space_layers_does_not_grow_with_the_context():
    config = hybrid("MMMM")
    steps = [rooflight.cost(config, phase="decode", context=context)["totals"] for context in (1, 100_000)]
    figures = ("matmul_flops", "other_flops", "kv_bytes", "activation_bytes", "cache_bytes_per_sequence")
    assert all(steps[0][figure] == steps[1][figure] for figure in figures)


@pytest.mark.parametrize("model", MODELS)
def test_a_gpu_holds_the_state_of_every_request(model):
    """On one GPU a request takes what a sequence holds; capacity follows."""
    bound, capacity = rooflight.load(model), 80 << 30
    found = memory(bound, Plan(), capacity, input_tokens=1000, output_tokens=500)
    assert found["kv_bytes_per_request"] == request_bytes(model, 1500)
    activations = found["activation_bytes_per_request"]["decode"]
    room = found["usable_bytes"] - found["weights_bytes"]
    assert found["max_batch_decode"] == room // (found["kv_bytes_per_request"] + activations)


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
@pytest.mark.parametrize("model", MODELS)
def test_states_are_cut_over_heads(model, tp):
    """The scan's state by heads; of the convolution's, channels of groups that several heads share repeat."""
    (layers, heads, head, groups, state, conv, _), (attending, kv_heads, width) = sizes(model)
    one = Deployed(rooflight.load(model), step_size(rooflight.load(model), "decode", context=1000), Plan(attn_tp=tp))
    found = sum(
        size * one.facts.group_copies[step.node.group]
        for step, size in zip(one.program.steps, one.device.cache_bytes, strict=True)
    )
    channels = heads // tp * head + 2 * max(groups // tp, 1) * state
    states = layers * (heads // tp * head * state * 4 + channels * (conv - 1) * 2)
    grown = attending * 2 * max(kv_heads // tp, 1) * width * 2 * 1000
    assert found == states + grown
