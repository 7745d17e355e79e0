"""What a guard says, whole: a fault, and every finding it must make, in a text file beside the test of the guard.

    === a name
    fault: llama-mask-dropped
    ---
    mask-not-causal (blocks) at specs/components/…
      expected  …

`fault` is an id of tests/ablation/faults.yaml; `model` and `change` plant one of the case's own, as a row there would.
UPDATE_GOLDEN=1 in the environment writes the findings that come out: read the diff before committing.
"""

import os
from pathlib import Path

import planted
import pytest
import yaml

from rooflight.checks import DIAGNOSTICS, GUARDS, examine

HERE = Path(__file__).parent
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
EVERYONE = frozenset({*GUARDS, *DIAGNOSTICS})


def text_of(findings):
    """Findings as they stand in the files."""
    return "\n".join(
        f"{f.code} ({'blocks' if f.blocking else 'a hint'}) at {f.where}\n"
        f"  expected  {f.expected}\n  got       {f.got}\n  fix       {f.fix}"
        for f in findings
    )


def of(guard, subject):
    """What one guard or diagnostic finds."""
    found = examine(subject, EVERYONE - {guard})
    assert all(finding.guard == guard for finding in found)
    return found


def subject_of(given):
    """The subject of a case."""
    if "fault" in given:
        return planted.plant(next(fault for fault in planted.faults() if fault.id == given["fault"]))
    return whole(given["model"], *given["change"])


def whole(model, *change):
    """A checkpoint as it is, with changes if any."""
    return planted.plant(planted.Fault("case", model, "", change, (), ()))


def read(guard):
    """(name, what to plant, expected text) of every case of a guard."""
    cases = []
    for block in (HERE / f"{guard}.txt").read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, message = f"{block}\n".partition("\n---\n")
        name, _, given = head.partition("\n")
        cases.append((name, yaml.safe_load(given), message.strip("\n")))
    return cases


def each_case(guard):
    """Parametrize a test over a guard's file."""
    return pytest.mark.parametrize(
        ("name", "given", "expected"), [pytest.param(*case, id=case[0]) for case in read(guard)]
    )


def expect(guard, name, given, expected):
    """Hold a guard's findings against the file, or write them down under UPDATE_GOLDEN."""
    said = text_of(of(guard, subject_of(given)))
    if UPDATE:
        path = HERE / f"{guard}.txt"
        before = path.read_text(encoding="utf-8")
        start = before.index(f"\n=== {name}\n")
        body = before.index("\n---\n", start) + len("\n---\n")
        end = before.find("\n=== ", body - 1)
        path.write_text(before[:body] + f"{said}\n" + (before[end:] if end >= 0 else ""), encoding="utf-8")
        return
    assert said == expected
