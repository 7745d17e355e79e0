"""One config in any of its forms is one model: flat or nested, written by transformers 4 or 5."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rooflight
from engine.model_strategies import configs
from oracles.material import snapshot
from rooflight import api
from rooflight.values import SpecError

quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
ROTARY = {"rope_theta": 1e6, "rope_type": "default"}


def facts(config):
    """Everything a command prints of a model."""
    model = rooflight.load(config)
    return api.show(model), api.cost(model, "prefill"), api.cost(model, "decode"), rooflight.tensors(model)


def older(config):
    """As transformers 4 wrote it."""
    config = dict(config)
    config["torch_dtype"] = config.pop("dtype", config.get("torch_dtype"))
    return {**config, "rope_theta": 1e6, "rope_scaling": None}


def newer(config):
    """As transformers 5 writes it."""
    config = dict(config)
    config["dtype"] = config.pop("torch_dtype", config.get("dtype"))
    return {**config, "rope_parameters": ROTARY}


def nested(config):
    """As multimodal models hold it, with the outer model's own words around it."""
    inner = {key: value for key, value in config.items() if key != "architectures"}
    return {"architectures": config["architectures"], "model_type": "outer_model", "text_config": inner}


@quick
@given(configs, st.permutations([older, newer]), st.booleans())
def test_every_form_is_one_model(config, writers, inside):
    plain = facts(config)
    for write in writers:
        written = write(config)
        assert facts(nested(written) if inside else written) == plain


@quick
@given(configs)
def test_what_transformers_fills_in_may_be_left_out(config):
    """A head as wide as its share of the trunk, as many key heads as query heads."""
    config = {key: value for key, value in config.items() if key != "layer_types"}
    heads = config.get("num_attention_heads")
    if heads is None:
        return
    config |= {"hidden_size": heads * 8, "head_dim": 8, "num_key_value_heads": heads}
    without = {**config, "head_dim": None, "num_key_value_heads": None}
    assert facts(without) == facts(config)


@quick
@given(configs, st.booleans())
def test_order_of_keys_does_not_matter(config, reverse):
    keys = sorted(config, reverse=reverse)
    assert facts({key: config[key] for key in keys}) == facts(config)


def test_the_text_section_wins_and_says_so():
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": 7,
        "text_config": {
            "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4, "vocab_size": 9,
        },
    }  # fmt: skip
    model = rooflight.load(config)
    assert model.dims["n_vocab"] == 9
    assert model.warnings == ("vocab_size is 9 in text_config but 7 outside it; text_config is used",)


GLM = "zai-org/GLM-4.5"
HUNYUAN = "tencent/Hunyuan-A13B-Instruct"


@pytest.mark.parametrize(("share", "rotated"), [(0.25, 32), (0.5, 64), (0.75, 96), (1, 128), (1.0, 128)])
def test_a_share_counts_exactly(share, rotated):
    """As decimals say: a tenth of ten is one, although no float is a tenth."""
    config = snapshot(GLM, "config")
    assert rooflight.load(config | {"partial_rotary_factor": share}).dims["d_rotary"] == rotated
    assert rooflight.load(config | {"head_dim": 10, "partial_rotary_factor": 0.1}).dims["d_rotary"] == 1


@pytest.mark.parametrize("share", [0.3, 1.5, "half", None])
def test_a_share_that_leaves_no_whole_length_is_refused(share):
    config = snapshot(GLM, "config") | {"partial_rotary_factor": share}
    with pytest.raises(SpecError, match=r"config-(out-of-range|wrong-type|missing-key)"):
        rooflight.cost(config)


def test_a_value_per_layer_is_the_value():
    config = snapshot(HUNYUAN, "config")
    alone = config | {"moe_topk": 8, "num_shared_expert": 1, "moe_intermediate_size": 3072}
    assert isinstance(config["moe_topk"], list)
    assert facts(alone) == facts(config)


@pytest.mark.parametrize("listed", [[], [8] * 31 + [4], [1, True]])
def test_layers_that_differ_are_refused(listed):
    with pytest.raises(SpecError) as caught:
        rooflight.load(snapshot(HUNYUAN, "config") | {"moe_topk": listed})
    assert str(caught.value).startswith(
        "config-wrong-type at config moe_topk\n  expected  one value, or a list of it for every layer\n"
    )


def test_shared_experts_have_the_width_of_the_network():
    """Whatever the routed ones have: transformers reads one key for both, SGLang two."""
    narrow = snapshot(HUNYUAN, "config") | {"moe_intermediate_size": 1024, "num_shared_expert": 2}
    found = rooflight.show(narrow)["params"]["by_role"]
    assert found["ffn"] == 32 * 2 * 3 * 4096 * 3072
    assert found["expert"] == 32 * 64 * 3 * 4096 * 1024
