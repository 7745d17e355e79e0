"""Figures of deployments that others published; docs/validation.md shows the same rows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import published

ROWS = published.rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.of for row in ROWS])
def test_ours_is_as_near_as_asked(row):
    assert row.holds, f"published {row.published} {row.unit}, ours {row.ours}, within {row.within}"


def test_a_figure_that_is_off_does_not_hold():
    case = {"of": "x", "model": "openai-community/gpt2", "plan": "", "read": "memory.usable_bytes", "unit": "GiB"}
    gpu = str(published.ROOT / "tests" / "cases" / "b200-seed.yaml")
    assert published._row(case | {"published": 162, "exact": True}, gpu).holds
    assert not published._row(case | {"published": 163, "exact": True}, gpu).holds
    assert not published._row(case | {"published": 163, "tolerance": 0.001}, gpu).holds
    assert published._row(case | {"published": 163, "tolerance": 0.01}, gpu).holds
