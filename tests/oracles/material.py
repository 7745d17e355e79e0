"""The tables the tests compare with: case files and snapshots, read once."""

import json
from functools import cache
from pathlib import Path

import yaml

TESTS = Path(__file__).parents[1]
TRUTH = TESTS.parent / "specs" / "truth"


@cache
def cases(name):
    """tests/cases/NAME, parsed."""
    path = TESTS / "cases" / name
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


@cache
def snapshot(model, part):
    """specs/truth/<org>--<name>/PART.json, parsed."""
    return json.loads((TRUTH / model.replace("/", "--") / f"{part}.json").read_text(encoding="utf-8"))


def checkpoints():
    """Ids of all snapshots."""
    return sorted(path.parent.name.replace("--", "/") for path in TRUTH.glob("*/provenance.json"))


def checkpoints_of(*model_types):
    """Ids of the snapshots of these architectures."""
    return [model for model in checkpoints() if snapshot(model, "config")["model_type"] in model_types]


def fault(case_id):
    """One of the public faults: its input and its right answer."""
    case = next(case for case in cases("public_faults.yaml") if case["id"] == case_id)
    return case["input"], case["expected"]


def elements(row):
    """Stored elements of one row of tensors.json."""
    count = row["count"]
    for length in row["shape"]:
        count *= length
    return count
