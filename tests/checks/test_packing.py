"""Dtype and shape of every stored tensor, and storage settings that nothing follows."""

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
    assert findings.of("packing", findings.whole(model)) == ()


@findings.each_case("packing")
def test_what_it_says(name, given, expected):
    findings.expect("packing", name, given, expected)


def test_a_payload_can_agree_where_the_packing_does_not():
    subject = findings.subject_of({"fault": "gpt2-two-dtypes-that-cancel"})
    assert findings.of("weight", subject) == ()
    assert len(findings.of("packing", subject)) == 3


def test_settings_are_looked_at_without_a_tensor_list():
    subject = findings.subject_of({"fault": "deepseek-v2-override-hits-nothing"})
    subject.rows = None
    assert [f.code for f in findings.of("packing", subject)] == ["override-unused"]
