"""Configs of either transformers generation come to one form."""

import pytest

from rooflight.edge import front
from rooflight.truth import normal_config
from rooflight.values import SpecError

NAMED = {"architectures": ["A"], "model_type": "a"}


def normal(config):
    return normal_config(config, "here", front.catalog(None).library.config_keys)


def facts(**config):
    return {key: value for key, value in normal(NAMED | config).facts.items() if key not in NAMED}


def test_keys_come_sorted():
    assert list(normal({"z": 1, **NAMED, "b": 2}).facts) == ["architectures", "b", "model_type", "z"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (dict(torch_dtype="torch.bfloat16"), dict(dtype="bfloat16")),
        (dict(torch_dtype="float16", dtype="bfloat16"), dict(dtype="bfloat16")),
        (dict(bos_token_id=1, pad_token_id=None, image_token_index=3, eos_token_ids=[1]), {}),
        (dict(attention_dropout=0.0, attn_pdrop=0.1, hidden_dropout_prob=0, initializer_range=0.02), {}),
        (dict(router_aux_loss_coef=0.1, output_router_logits=False, router_z_loss_coef=0.1), {}),
        (dict(auto_map={"AutoModel": "m.M"}, transformers_version="5", _name_or_path="x", use_cache=True), {}),
        (
            dict(rope_theta=1e4, rms_norm_eps=1e-6, rope_scaling=None),
            dict(rope_theta=1e4, rms_norm_eps=1e-6, rope_scaling=None),
        ),
        (dict(head_dim=None, q_lora_rank=None), dict(head_dim=None, q_lora_rank=None)),
        (dict(draft_vocab_size=3, swiglu_limit=7.0), dict(draft_vocab_size=3, swiglu_limit=7.0)),
        (
            dict(rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
            dict(rope_theta=1e6, rope_scaling=None),
        ),
        (
            dict(rope_parameters={"rope_type": "yarn", "factor": 40, "rope_theta": 1e4, "partial_rotary_factor": 0.5}),
            dict(rope_theta=1e4, partial_rotary_factor=0.5, rope_scaling={"rope_type": "yarn", "factor": 40}),
        ),
        (
            dict(
                rope_parameters={
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                }
            ),
            dict(rope_theta=1e6, rope_local_base_freq=1e4, rope_scaling={"rope_type": "linear", "factor": 8.0}),
        ),
        (
            dict(text_config={"hidden_size": 8, "model_type": "a_text", "eos_token_id": 2}, hidden_size=9),
            dict(hidden_size=8),
        ),
        (
            dict(vision_config={"depth": 2, "attention_dropout": 0.0, "inner": {"initializer_range": 1, "k": 1}}),
            dict(vision_config={"depth": 2, "inner": {"k": 1}}),
        ),
        (
            dict(quantization_config={"quant_method": "x", "version": 1, "initializer_range": 1}),
            dict(quantization_config={"quant_method": "x", "version": 1, "initializer_range": 1}),
        ),
    ],
)
def test_forms(given, kept):
    assert facts(**given) == kept


def test_the_outer_names_stay_and_the_inner_ones_fill_in():
    outer = normal(NAMED | {"text_config": {"model_type": "b", "architectures": ["B"]}}).facts
    assert outer == NAMED
    assert normal({"text_config": NAMED}).facts == NAMED


def test_what_is_left_out_without_a_reason_is_told():
    assert normal(NAMED | {"Hidden": 1, "a-b": 2, "x": 3}).left_out == ("Hidden", "a-b")


def test_unknown_kinds_of_layers_keep_their_rope():
    found = normal(NAMED | {"rope_parameters": {"compress": {"rope_theta": 1}, "main": {"rope_theta": 2}}})
    assert found.facts["rope_scaling"] == {"compress": {"rope_theta": 1}, "main": {"rope_theta": 2}}
    assert found.notes


@pytest.mark.parametrize("given", [{}, {"architectures": []}, {"architectures": ["A", "B"]}, {"architectures": ["A"]}])
def test_without_a_name(given):
    with pytest.raises(SpecError) as caught:
        normal(given)
    assert caught.value.code == "config-no-architecture"
