"""GPU files: what is no file, and facts that are none."""

import os

import pytest

from rooflight.edge.library import open_gpu
from rooflight.values import SpecError

GOOD = 'name: G\nmemory: { value: 1000, unit: B, source: sheet, date: "2025-01-31" }\n'


def refusal(path):
    with pytest.raises(SpecError) as caught:
        open_gpu(str(path))
    return str(caught.value).replace(str(path), "PATH")


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (os.mkfifo, "neither a file nor a folder"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
        (lambda path: path.symlink_to(path.parent / "none"), "a link to nothing"),
    ],
    ids=["nothing", "folder", "pipe", "loop", "dangling"],
)
def test_what_is_no_file(tmp_path, make, got):
    path = tmp_path / "gpu.yaml"
    make(path)
    assert (
        refusal(path) == f"missing-file at PATH\n  expected  a GPU file\n  got       {got}\n  fix       check the path"
    )


def test_a_good_one(tmp_path):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD + "scale_up_latency: { value: 2.0e-6, unit: s, copied_from: a test }\n")
    gpu = open_gpu(str(path))
    assert (gpu.memory_bytes, gpu.facts["memory"].date, gpu.facts["scale_up_latency"].value) == (
        1000,
        "2025-01-31",
        2e-6,
    )


@pytest.mark.parametrize(
    ("old", "new", "key", "expected"),
    [
        ("name: G", 'name: ""', "name", "printable text on one line"),
        ("name: G", r'name: "a\tb"', "name", "printable text on one line"),
        ("source: sheet", 'source: ""', "memory.source", "printable text on one line"),
        ("source: sheet", 'copied_from: " "', "memory.copied_from", "printable text on one line"),
        ("value: 1000", "value: 0", "memory.value", "a whole number of B from 1"),
        ("value: 1000", "value: 0.5", "memory.value", "a whole number of B from 1"),
        ("value: 1000", "value: 1000.5", "memory.value", "a whole number of B from 1"),
        ('"2025-01-31"', "nonsense", "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '"2025-02-31"', "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '"20250131"', "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '""', "memory.date", "a date, YYYY-MM-DD"),
    ],
)
def test_facts_that_are_none(tmp_path, old, new, key, expected):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD.replace(old, new))
    first, said, *_ = refusal(path).splitlines()
    assert first.startswith("wrong-type at gpu.yaml:")
    assert first.endswith(f" {key}")
    assert said == f"  expected  {expected}"
