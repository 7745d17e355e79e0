"""Authors' invariants, caches against masks and windows, routing."""

import findings
import pytest

CHECKPOINTS = (
    "openai-community/gpt2",
    "meta-llama/Meta-Llama-3.1-8B",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V2-Lite",
)


@pytest.mark.parametrize("model", CHECKPOINTS)
def test_nothing_to_say(model):
    assert findings.of("axiom", findings.whole(model)) == ()


@findings.each_case("axiom")
def test_what_it_says(name, given, expected):
    findings.expect("axiom", name, given, expected)


def test_a_window_that_the_config_turns_off():
    """Qwen2 names a window of 131,072 and says not to use it; Mistral 3 has none."""
    for model in ("Qwen/Qwen2.5-7B-Instruct", "mistralai/Mistral-Small-24B-Instruct-2501"):
        assert findings.of("axiom", findings.whole(model)) == ()


def test_a_window_that_the_config_turns_on_is_used():
    on = {"in": "config", "at": "use_sliding_window", "new": True}
    first = {"in": "config", "at": "max_window_layers", "new": 4}
    subject = findings.whole("Qwen/Qwen2.5-7B-Instruct", on, first)
    assert set(subject.model.layers["layers"]) == {"full", "sliding"}
    assert findings.of("axiom", subject) == ()


def test_a_window_that_begins_behind_the_last_layer():
    on = {"in": "config", "at": "use_sliding_window", "new": True}
    first = {"in": "config", "at": "max_window_layers", "new": 28}
    assert findings.of("axiom", findings.whole("Qwen/Qwen2.5-7B-Instruct", on, first)) == ()


def test_latents_are_followed_to_what_is_kept():
    """Scores read heads rebuilt from the latent: what is kept stands three nodes above them."""
    assert findings.of("axiom", findings.whole("deepseek-ai/DeepSeek-V2-Lite")) == ()


def test_a_window_that_no_listed_layer_uses():
    """A default names a window even where the list of layers has full attention only."""
    full = {"in": "config", "at": "layer_types", "new": ["full_attention"] * 24}
    assert findings.of("axiom", findings.whole("openai/gpt-oss-20b", full)) == ()
