"""Laws that hold of every model of any size: how cache, work and traffic grow, and what does not change them."""

from math import prod

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rooflight
from engine.model_strategies import configs, load, steps, targets
from rooflight import api

quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
contexts = st.integers(1, 3_000) | st.integers(1, 10**6)


def figure(model, key, **knobs):
    return api.quantity(model, key, **knobs).value


def longest_window(model):
    facts = api.reading(model).numbers
    return max([entry.window or 0 for entry in facts.cache.values if entry is not None], default=0)


@quick
@given(targets, contexts)
def test_cache_is_a_line_past_every_window(target, more):
    model = load(target)
    context = longest_window(model) + more
    line = figure(model, "cache.bytes_per_token") * context + figure(model, "cache.constant_bytes")
    for phase in ("prefill", "decode"):
        assert figure(model, "cache.bytes", phase=phase, context=context) == line


@quick
@given(targets, contexts)
def test_cache_grows_less_and_less(target, context):
    """From what the first token adds, down to what a token of a long sequence adds; never shrinking."""
    model = load(target)
    sizes = [figure(model, "cache.bytes", context=T) for T in (context, context + 1, context + 2)]
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert figure(model, "cache.first_token_bytes") >= first >= second >= figure(model, "cache.bytes_per_token") >= 0
    assert figure(model, "cache.bytes", context=1) == figure(model, "cache.first_token_bytes")


@quick
@given(targets, contexts, st.integers(1, 40))
def test_cache_is_of_one_sequence(target, context, batch):
    model = load(target)
    assert figure(model, "cache.bytes", context=context, batch=batch) == figure(model, "cache.bytes", context=context)


@quick
@given(configs, contexts, st.integers(1, 40))
def test_a_decoding_step_reads_the_cache_and_writes_one_position(config, context, batch):
    model = rooflight.load(config)
    kept = figure(model, "cache.bytes", context=context) + figure(model, "cache.first_token_bytes")
    assert figure(model, "decode.kv_bytes", context=context, batch=batch) == batch * kept


def exact_rows(model, **knobs):
    """(matmul, other) FLOPs of each node, all its copies."""
    return {row["id"]: (row["matmul_flops"], row["other_flops"]) for row in api.cost(model, **knobs)["nodes"]}


@quick
@given(configs, st.data())
def test_a_prompt_in_two_parts_is_the_prompt(config, data):
    model = rooflight.load(config)
    context = data.draw(st.integers(2, 2_000))
    prefix = data.draw(st.integers(1, context - 1))
    knobs = dict(phase="prefill", head="all", batch=data.draw(st.integers(1, 9)))
    first = exact_rows(model, context=prefix, **knobs)
    second = exact_rows(model, context=context, prefix=prefix, **knobs)
    whole = exact_rows(model, context=context, **knobs)
    assert {node: tuple(map(sum, zip(first[node], second[node], strict=True))) for node in first} == whole


@quick
@given(configs, st.data())
def test_decoding_is_a_prompt_of_the_new_tokens(config, data):
    """The same work either way, where every new position gets logits."""
    model = rooflight.load(config)
    context = data.draw(st.integers(2, 2_000))
    new = data.draw(st.integers(1, min(context - 1, 50)))
    batch = data.draw(st.integers(1, 9))
    decode = exact_rows(model, phase="decode", context=context, new_tokens=new, batch=batch)
    prompt = exact_rows(model, phase="prefill", context=context, prefix=context - new, batch=batch, head="all")
    assert decode == prompt


@quick
@given(configs, steps(), st.integers(1, 50))
def test_batches_add_up(config, knobs, more):
    """Work and cache are each sequence's own; weights and learned positions are read once for all of them."""
    model = rooflight.load(config)

    def totals(batch):
        return api.cost(model, **{**knobs, "batch": batch})["totals"]

    one, two, mine, theirs, both = map(totals, (1, 2, knobs["batch"], more, knobs["batch"] + more))
    for key in ("matmul_flops", "other_flops", "kv_bytes"):
        assert mine[key] + theirs[key] == both[key], key
    shared = 2 * one["activation_bytes"] - two["activation_bytes"]
    assert mine["activation_bytes"] + theirs["activation_bytes"] - shared == both["activation_bytes"]
    assert shared >= 0
    assert max(mine["weight_bytes"], theirs["weight_bytes"]) <= both["weight_bytes"]
    assert both["weight_bytes"] <= mine["weight_bytes"] + theirs["weight_bytes"]


@quick
@given(targets, steps())
def test_nothing_is_negative(target, knobs):
    for row in api.cost(load(target), **knobs)["nodes"]:
        assert row["copies"] >= 0
        assert min(row["shape"]) >= 0, row["id"]
        for key in ("params", "matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes"):
            assert row[key] >= 0, (row["id"], key)


@quick
@given(targets, steps())
def test_square_counting_only_adds(target, knobs):
    model = load(target)
    exact, square = (api.cost(model, **{**knobs, "attention": way})["totals"] for way in ("exact", "square"))
    assert square["matmul_flops"] >= exact["matmul_flops"]
    assert square["other_flops"] >= exact["other_flops"]
    for key in ("weight_bytes", "activation_bytes", "kv_bytes", "cache_bytes_per_sequence"):
        assert square[key] == exact[key], key


@quick
@given(configs, steps())
def test_a_tied_head_costs_parameters_and_nothing_else(config, knobs):
    """It multiplies by the embedding table all the same, and reads all of it."""
    tied, untied = (rooflight.load({**config, "tie_word_embeddings": tie}) for tie in (True, False))
    width, vocabulary = tied.dims["d_model"], tied.dims["n_vocab"]
    assert figure(untied, "params.total") - figure(tied, "params.total") == width * vocabulary
    assert figure(untied, "weights.bytes") > figure(tied, "weights.bytes")
    mine, other = api.cost(tied, **knobs), api.cost(untied, **knobs)
    assert mine["totals"] == other["totals"]
    head = {row["id"]: row["params"] for row in mine["nodes"]}["lm_head.proj"]
    assert head == 0
    assert "lm_head.weight" not in {row["name"] for row in rooflight.tensors(tied)}


@quick
@given(configs)
def test_stored_tensors_hold_the_parameters(config):
    rows = rooflight.tensors(config)
    elements = sum(row["count"] * prod(row["shape"]) for row in rows)
    assert elements == figure(rooflight.load(config), "params.total")
    assert len({row["name"] for row in rows}) == len(rows)
