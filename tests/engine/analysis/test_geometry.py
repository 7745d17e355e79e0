"""Wrong specs that a config's numbers hide: every check holds at the config, and none hides from random dims."""

import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from engine import mini
from engine.cases import each_case, expect, read_cases
from engine.model_strategies import load, shipped, targets
from rooflight import api
from rooflight.analysis.geometry import check_geometry, random_dims
from rooflight.expr import names
from rooflight.graph import PHASES
from rooflight.spec import bind
from rooflight.values import SpecError
from rooflight.walk import walk

TABLE = "geometry_bugs.txt"
FOLDER = Path(__file__).parents[3] / "specs"
# `truth/` holds facts; the rest is specs.
TEXTS = {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.yaml")}

COINCIDING = {
    "dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 8,
    "head_dim": 8, "intermediate_size": 64, "vocab_size": 64, "max_position_embeddings": 8,
}  # fmt: skip
BASES = {
    "llama": {**COINCIDING, "architectures": ["LlamaForCausalLM"]},
    "mistral": {**COINCIDING, "architectures": ["MistralForCausalLM"], "sliding_window": 8},
    "qwen3": {**COINCIDING, "architectures": ["Qwen3ForCausalLM"]},
    "gpt2": {
        "architectures": ["GPT2LMHeadModel"], "dtype": "bfloat16", "n_embd": 64, "n_head": 8, "n_layer": 2,
        "n_inner": 64, "n_positions": 64, "vocab_size": 64,
    },
}  # fmt: skip


def read(case, phase="prefill"):
    """The changed specs, bound to their config."""
    config = BASES[case.config_of({})["base"]]
    model = bind(mini.library(case.texts(TEXTS)), config, "config.json", "model")
    return api.reading(model, phase, context=8)


def failing_checks(reading):
    """Checks that do not hold at the config's numbers."""
    slots = walk(reading.program, api.numbers(reading.model, reading.step))
    checks = (*reading.program.checks, *reading.program.invariants)
    return [check for check in checks if slots[check.want] != slots[check.have]]


@each_case(__file__, TABLE)
def test_hidden_by_the_config_and_found(case):
    reading = read(case)
    assert failing_checks(reading) == []
    with pytest.raises(SpecError) as caught:
        check_geometry(reading.program, reading.model.spec.dims, api.numbers(reading.model, reading.step))
    message = str(caught.value)
    # Lines move with every edit of a component: what stands there is what matters.
    file, line = re.search(r" at specs/(\S+):(\d+)", message).groups()
    named = case.texts(TEXTS)[file].splitlines()[int(line) - 1].strip().partition(":")[0]
    assert named in message.partition("\n")[0]
    expect(case, re.sub(r"(\.yaml):\d+", r"\1", message), __file__, TABLE)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("phase", PHASES)
def test_without_a_bug_nothing_is_found(base, phase):
    model = bind(mini.library(TEXTS), BASES[base], "config.json", "model")
    reading = api.reading(model, phase, context=8)
    assert failing_checks(reading) == []
    check_geometry(reading.program, model.spec.dims, api.numbers(model, reading.step))


@settings(deadline=None, max_examples=60)
@given(targets)
def test_every_model_holds_together(target):
    api.check(load(target))


def test_random_dims_follow_their_formulas():
    """Dims that follow from others must, or right specs would be refused; the rest must differ from one another."""
    dims = shipped()["openai-community/gpt2"].spec.dims
    values = random_dims(dims, Random(1))
    follow = {name for name, tree in dims.items() if names(tree) and all(used in dims for used in names(tree))}
    assert "d_head" in follow
    assert values["d_head"] == values["d_model"] / values["n_heads"]
    free = [value for name, value in values.items() if name not in follow]
    assert len(set(free)) == len(free)
    assert all(isinstance(value, Fraction) for value in values.values())


def test_the_verdict_does_not_change():
    case = next(iter(read_cases(Path(__file__).with_name(TABLE)).values()))
    messages = set()
    for _ in range(3):
        reading = read(case)
        with pytest.raises(SpecError) as caught:
            check_geometry(reading.program, reading.model.spec.dims, api.numbers(reading.model, reading.step))
        messages.add(str(caught.value))
    assert len(messages) == 1
