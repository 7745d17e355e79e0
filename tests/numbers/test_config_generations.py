"""One architecture, written as transformers 4 and 5 write it, flat and nested: the figures are the same."""

import pytest

import rooflight
from oracles.material import checkpoints_of, snapshot

ROPED = checkpoints_of("llama", "mistral", "qwen2", "qwen3")
SECTION_LEFT_OUTSIDE = ("architectures", "model_type")


def as_transformers_4(config):
    """`torch_dtype`, and the run-time keys every hub file has."""
    written = dict(config)
    written["torch_dtype"] = written.pop("dtype")
    return (
        written
        | {"use_cache": True, "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.02}
        | {
            "attention_dropout": 0.0,
            "transformers_version": "4.43.0",
        }
    )


def as_transformers_5(config):
    """`dtype`, and all rotary facts in `rope_parameters`."""
    written = dict(config)
    rope = {"rope_type": "default"} | (written.pop("rope_scaling", None) or {})
    written["rope_parameters"] = rope | {"rope_theta": written.pop("rope_theta", 10000.0)}
    return written | {"transformers_version": "5.24.0"}


def nested(config):
    """The text model's facts under `text_config`."""
    outside = {key: config[key] for key in SECTION_LEFT_OUTSIDE}
    return outside | {"text_config": {key: value for key, value in config.items() if key not in outside}}


WRITINGS = {
    "transformers-4": as_transformers_4,
    "transformers-5": as_transformers_5,
    "nested": nested,
    "nested-5": lambda config: nested(as_transformers_5(config)),
}


def figures(config):
    """What must not depend on the spelling."""
    shown = rooflight.show(config)
    priced = [rooflight.cost(config, phase=phase, context=5000)["totals"] for phase in ("prefill", "decode")]
    return shown["architecture"], shown["params"], shown["cache"], priced


@pytest.mark.parametrize("write", WRITINGS.values(), ids=WRITINGS.keys())
@pytest.mark.parametrize("model", ROPED)
def test_same_figures(model, write):
    config = snapshot(model, "config")
    assert figures(write(config)) == figures(config)


@pytest.mark.parametrize("write", WRITINGS.values(), ids=WRITINGS.keys())
@pytest.mark.parametrize("model", ROPED)
def test_no_key_is_unaccounted_for(model, write):
    assert rooflight.show(write(snapshot(model, "config")))["warnings"] == []


@pytest.mark.parametrize("model", ROPED)
def test_a_snapshot_is_its_config(model):
    assert figures(model) == figures(snapshot(model, "config"))


def test_an_unlisted_key_is_named():
    config = snapshot("meta-llama/Meta-Llama-3.1-8B", "config") | {"draft_vocab_size": 32000}
    assert any("draft_vocab_size" in str(warning) for warning in rooflight.show(config)["warnings"])
