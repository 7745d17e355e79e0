"""Names, elements and bytes of every stored tensor."""

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
    assert findings.of("weight", findings.whole(model)) == ()


@findings.each_case("weight")
def test_what_it_says(name, given, expected):
    findings.expect("weight", name, given, expected)


def test_without_a_tensor_list_there_is_nothing_to_compare():
    subject = findings.subject_of({"fault": "gpt2-biases"})
    subject.rows = None
    assert findings.of("weight", subject) == ()


def test_a_tied_head_may_be_stored_or_not():
    """Qwen3-0.6B stores the copy; taken out of its files, nothing is missing."""
    model = "Qwen/Qwen3-0.6B"
    assert findings.of("weight", findings.whole(model)) == ()
    assert findings.of("weight", findings.whole(model, {"in": "snapshot", "at": "lm_head.weight"})) == ()


def test_buffers_may_be_stored_or_not():
    gone = {"in": "snapshot", "at": "h.{0-11}.attn.bias"}
    assert findings.of("weight", findings.whole("openai-community/gpt2", gone)) == ()
