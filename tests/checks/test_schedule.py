"""The config's lists of layers and the spec's dims reach the layers."""

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
    assert findings.of("schedule", findings.whole(model)) == ()


@findings.each_case("schedule")
def test_what_it_says(name, given, expected):
    findings.expect("schedule", name, given, expected)


def test_words_that_say_nothing_of_masks_are_left_alone():
    words = ["sliding_attention", "linear_attention"] * 12
    blocks = {"sliding_attention": "sliding", "linear_attention": "full"}
    subject = findings.whole(
        "openai/gpt-oss-20b",
        {"in": "config", "at": "layer_types", "new": words},
        {"in": "models/gpt_oss", "at": "model.1.schedule.blocks.linear_attention", "new": "full"},
    )
    assert subject.model.layers["layers"] == tuple(blocks[word] for word in words)
    assert findings.of("schedule", subject) == ()


def test_a_list_that_the_spec_ignores_with_a_reason():
    listed = {"in": "config", "at": "no_rope_layers", "new": [1] * 28}
    why = {"in": "models/qwen3", "at": "config.ignores", "new": {"no_rope_layers": "every layer rotates"}}
    assert findings.of("schedule", findings.whole("Qwen/Qwen3-0.6B", listed, why)) == ()


def test_one_entry_lists_are_no_layers():
    one = {"in": "config", "at": "num_hidden_layers", "new": 1}
    listed = {"in": "config", "at": "fused_layers", "new": [1]}
    subject = findings.whole("Qwen/Qwen3-0.6B", one, listed)
    assert [f.code for f in findings.of("schedule", subject)] == []


def test_windows_that_the_config_turns_off_are_no_unused_dims():
    """Qwen2.5 has a window width and uses no window: the spec's other block does."""
    assert findings.of("schedule", findings.whole("Qwen/Qwen2.5-7B-Instruct")) == ()
