"""Hints that do not block: residuals, activations, published totals, drafts that repeat a component."""

import findings
import pytest

from rooflight.checks import DIAGNOSTICS
from rooflight.checks.diagnostics import MAX_SOURCE

CHECKPOINTS = ("openai-community/gpt2", "meta-llama/Meta-Llama-3.1-8B", "openai/gpt-oss-20b")
LLAMA = "meta-llama/Meta-Llama-3.1-8B"
CASES = [pytest.param(name, *case, id=f"{name}-{case[0]}") for name in DIAGNOSTICS for case in findings.read(name)]


@pytest.mark.parametrize("model", CHECKPOINTS)
@pytest.mark.parametrize("diagnostic", DIAGNOSTICS)
def test_nothing_to_say(diagnostic, model):
    assert findings.of(diagnostic, findings.whole(model)) == ()


@pytest.mark.parametrize(("diagnostic", "name", "given", "expected"), CASES)
def test_what_it_says(diagnostic, name, given, expected):
    findings.expect(diagnostic, name, given, expected)


@pytest.mark.parametrize(("diagnostic", "name", "given", "expected"), CASES)
def test_it_does_not_block(diagnostic, name, given, expected):
    assert not any(finding.blocking for finding in findings.of(diagnostic, findings.subject_of(given)))


@pytest.mark.parametrize(
    "text",
    ["def broken(", "x = 1", "\0", "#" * (MAX_SOURCE + 1), "(" * 5000, "class ALayer:\n    pass\n"],
    ids=["syntax", "no-layer", "nul", "large", "deep", "no-forward"],
)
def test_a_source_that_says_nothing_gives_no_hint(text):
    subject = findings.subject_of({"fault": "llama-third-residual"})
    subject.sources = {subject.model.spec.source: text}
    assert findings.of("calls", subject) == ()


def test_additions_under_a_condition_may_count_or_not():
    """GPT-2's block attends to an encoder where it has one, which this model has not."""
    lines = ["class ABlock:", "    def forward(self, x):", "        x = x + residual", "        if self.cross:"]
    lines += ["            x = residual + x", "        x = residual + x"]
    subject = findings.whole(LLAMA)
    subject.sources = {subject.model.spec.source: "\n".join(lines)}
    assert findings.of("calls", subject) == ()
    subject.sources = {subject.model.spec.source: "\n".join(lines[:3])}
    assert [f.expected for f in findings.of("calls", subject)] == ["1 additions to the trunk in a layer"]


def test_an_activation_nobody_knows_is_no_difference():
    word = {"in": "config", "at": "hidden_act", "new": "relu2"}
    assert findings.of("activation", findings.whole(LLAMA, word)) == ()


def test_a_total_nobody_published_is_no_difference():
    subject = findings.subject_of({"fault": "gpt2-biases"})
    subject.published = None
    assert findings.of("totals", subject) == ()
