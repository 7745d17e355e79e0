"""Lengths that must be one are one formula."""

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
    assert findings.of("shape", findings.whole(model)) == ()


@findings.each_case("shape")
def test_what_it_says(name, given, expected):
    findings.expect("shape", name, given, expected)


def test_what_a_config_hides_is_said():
    """Key and value heads are 128 wide in this config: only formulas tell them apart."""
    (finding,) = findings.of("shape", findings.subject_of({"fault": "deepseek-v2-value-width"}))
    assert finding.got.endswith("(both are 2048 in this config, which hides it)")


def test_broken_invariants_are_anothers_business():
    assert findings.of("shape", findings.subject_of({"fault": "mixtral-parameters-said-wrong"})) == ()
