"""All guards together: what they find in every checkpoint, how long it takes, and that every code is tested."""

import ast
import re
import time
from pathlib import Path

import findings
import pytest

import rooflight
from rooflight.checks import DIAGNOSTICS, GUARDS, Subject, examine
from rooflight.edge.front import catalog, validate

CHECKS = Path(rooflight.__file__).parent / "checks"
FIELDS = ("code", "guard", "blocking", "where", "expected", "got", "fix")


def codes_in(folder):
    """Every code that a guard writes into a finding itself."""
    found = set()
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in ("Finding", "_finding") and node.args and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return found


def test_every_code_is_asserted_whole():
    text = "".join(path.read_text(encoding="utf-8") for path in findings.HERE.glob("*.txt"))
    asserted = set(re.findall(r"^([a-z-]+) \((?:blocks|a hint)\) at ", text, re.MULTILINE))
    asserted |= {"source-not-checked"}  # in test_source.py
    written = codes_in(CHECKS)
    assert len(written) > 20
    assert written <= asserted
    # Codes of refusals that guards pass on are those of spec errors.
    from rooflight.values.error_codes import CODES

    assert asserted - written <= set(CODES)


def test_every_guard_has_a_file_of_its_own():
    for name in GUARDS:
        assert (findings.HERE / f"test_{name}.py").is_file()
        assert findings.read(name)
    assert all(findings.read(name) for name in DIAGNOSTICS)


def test_skipped_guards_say_nothing():
    subject = findings.subject_of({"fault": "gpt2-biases"})
    assert {f.guard for f in examine(subject)} == {"weight", "totals"}
    assert {f.guard for f in examine(subject, frozenset({"weight"}))} == {"totals"}
    assert examine(subject, frozenset({"weight", "totals"})) == ()


def test_guards_run_in_the_order_they_are_listed():
    found = [f.guard for f in examine(findings.subject_of({"fault": "gpt2-positions"}))]
    assert found == sorted(found, key=[*GUARDS, *DIAGNOSTICS].index)


def test_a_finding_as_json():
    (finding,) = findings.of("structural", findings.subject_of({"fault": "llama-mask-dropped"}))
    assert finding.as_json() == {
        "code": "mask-not-causal",
        "guard": "structural",
        "blocking": True,
        "where": finding.where,
        "expected": "a causal mask in a decoder",
        "got": "bidirectional",
        "fix": "set mask: causal, or sliding with a window",
    }
    assert tuple(finding.as_json()) == FIELDS


@pytest.mark.parametrize("model", catalog().ids())
def test_every_checkpoint_that_ships_passes(model):
    """Without the texts the quotes are not checked; everything else is."""
    found = validate(model)["findings"]
    assert [f for f in found if f["blocking"]] == []
    assert {f["code"] for f in found} <= {"source-not-checked"}


def test_the_largest_takes_seconds():
    start = time.process_time()
    assert not any(f["blocking"] for f in validate("deepseek-ai/DeepSeek-V3")["findings"])
    assert time.process_time() - start < 5


def test_a_wrong_spec_of_the_largest_takes_seconds():
    subject = findings.subject_of({"fault": "deepseek-v3-draft-forgotten"})
    start = time.process_time()
    found = examine(subject)
    assert time.process_time() - start < 5
    assert 0 < len(found) < 100


def test_a_subject_without_facts_is_examined_too():
    """A config that somebody brings: no tensor list, no texts, no published total."""
    bare = findings.whole("Qwen/Qwen3-0.6B")
    subject = Subject(bare.model, bare.binding)
    assert {f.code for f in examine(subject)} == {"source-not-checked"}
