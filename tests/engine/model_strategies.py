"""Random configs, small specs folders and steps, for every property of a whole model."""

from functools import cache

from hypothesis import strategies as st

import rooflight
from rooflight.edge.front import catalog

DTYPES = ("bfloat16", "float16", "float32")

sizes = st.integers(1, 300)
switches = st.booleans()


@cache
def shipped():
    """Every model whose facts ship with the project, by id."""
    return {model.id: model for model in catalog().models()}


def _heads(draw):
    """Query heads, and key heads that share them evenly."""
    kv_heads = draw(st.integers(1, 6))
    return kv_heads * draw(st.integers(1, 5)), kv_heads


@st.composite
def gated(draw):
    """A config of the decoders with grouped queries: sizes that no checkpoint has, windows by rule or by list."""
    kind = draw(st.sampled_from(["llama", "mistral", "qwen2", "qwen3"]))
    names = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    heads, kv_heads = _heads(draw)
    layers = draw(st.integers(1, 7))
    config = {
        "architectures": [f"{names[kind]}ForCausalLM"],
        "model_type": kind,
        "dtype": draw(st.sampled_from(DTYPES)),
        "hidden_size": draw(sizes),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.integers(1, 64)),
        "intermediate_size": draw(sizes),
        "vocab_size": draw(sizes),
        "max_position_embeddings": draw(st.integers(1, 10**6)),
        "tie_word_embeddings": draw(switches),
    }
    if kind in ("llama", "qwen3"):
        config["attention_bias"] = draw(switches)
    if kind == "llama":
        config["mlp_bias"] = draw(switches)
        return config
    config["sliding_window"] = draw(st.none() | st.integers(1, 600))
    if kind == "mistral":
        return config
    config["use_sliding_window"] = draw(switches)
    config["max_window_layers"] = draw(st.integers(0, 8))
    if config["sliding_window"] and draw(switches):
        words = st.sampled_from(["full_attention", "sliding_attention"])
        config["layer_types"] = draw(st.lists(words, min_size=layers, max_size=layers))
    return config


@st.composite
def fused(draw):
    """A config of the decoders with learned positions and one projection for query, key and value."""
    heads = draw(st.integers(1, 12))
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "torch_dtype": draw(st.sampled_from(DTYPES)),
        "n_embd": heads * draw(st.integers(1, 40)),
        "n_head": heads,
        "n_layer": draw(st.integers(1, 5)),
        "n_inner": draw(st.none() | sizes),
        "n_positions": draw(st.integers(1, 5_000)),
        "vocab_size": draw(sizes),
        "tie_word_embeddings": draw(switches),
    }


configs = gated() | fused()
targets = st.sampled_from(sorted(shipped())) | configs  # as a failing example prints them


def load(target):
    """The bound model of a target."""
    return shipped()[target] if isinstance(target, str) else rooflight.load(target)


_lengths = st.integers(1, 40) | st.integers(1, 5_000) | st.integers(1, 10**6)


@st.composite
def steps(draw, phases=("prefill", "decode")):
    """The knobs of a step that a model can take."""
    phase = draw(st.sampled_from(phases))
    context = draw(_lengths)
    knobs = {
        "phase": phase,
        "batch": draw(st.integers(1, 300)),
        "context": context,
        "attention": draw(st.sampled_from(["exact", "square"])),
        "head": draw(st.sampled_from(["last", "all"])),
    }
    if phase == "prefill":
        knobs["prefix"] = draw(st.just(0) | st.integers(0, context - 1))
    else:
        knobs["new_tokens"] = draw(st.just(1) | st.integers(1, min(context, 64)))
    return knobs
