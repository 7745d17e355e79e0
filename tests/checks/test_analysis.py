"""Every figure of both phases, and weights of decode variants."""

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
    assert findings.of("analysis", findings.whole(model)) == ()


@findings.each_case("analysis")
def test_what_it_says(name, given, expected):
    findings.expect("analysis", name, given, expected)


def test_a_spec_that_cannot_be_walked_is_a_finding_once():
    """Whichever guard meets it first: a graph that does not hold together is one finding, not eight."""
    from rooflight.checks import examine
    from rooflight.values import SpecError

    subject = findings.whole("meta-llama/Meta-Llama-3.1-8B")

    class Broken(type(subject)):
        @property
        def programs(self):
            raise SpecError("graph-too-large", "here", "at most 1", "2", "less")

    broken = Broken(subject.model, subject.binding, subject.rows, subject.sources, subject.published)
    found = [f for f in examine(broken) if f.code == "graph-too-large"]
    assert [(f.guard, f.blocking, f.where) for f in found if f.blocking and f.guard == "analysis"] == [
        ("analysis", True, "here")
    ]


def test_draft_layers_count():
    """A weight that only the draft layer's decode variant forgets is seen too."""
    (finding,) = findings.of("analysis", findings.subject_of({"fault": "deepseek-v3-decode-narrow-queries"}))
    assert finding.code == "decode-params"
