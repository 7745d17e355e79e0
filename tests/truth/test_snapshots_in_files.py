"""Every snapshot of the project survives its reader and writer unchanged, and could be derived from headers alone."""

import json

import pytest

from oracles.material import TRUTH, checkpoints
from rooflight.edge import front
from rooflight.truth import (
    FILES,
    STRENGTHS,
    assign_roles,
    collapse,
    expand,
    folder_name,
    is_model_id,
    kinds_that_make,
    normal_config,
    read_snapshot,
    weakest,
    write_snapshot,
)
from rooflight.values import SpecError


def files_of(model):
    return {name: (TRUTH / folder_name(model) / name).read_bytes() for name in FILES}


@pytest.fixture(params=checkpoints())
def model(request):
    return request.param


@pytest.fixture
def snapshot(model):
    return read_snapshot(files_of(model), model)


def test_round_trip(model, snapshot):
    assert {name: text.encode() for name, text in write_snapshot(snapshot).items()} == files_of(model)


def test_rows_are_in_the_one_form(snapshot):
    assert collapse(expand(snapshot.tensors, "x"), "x") == snapshot.tensors


def test_roles_follow_from_names_dtypes_and_config(snapshot):
    bare = [row._replace(role="", part="", packing=1) for row in expand(snapshot.tensors, "x")]
    marked = assign_roles(bare, snapshot.config, front.catalog(None).library.schemes)
    assert collapse(marked, "x") == snapshot.tensors


def test_a_normal_config_stays_as_it_is(model, snapshot):
    normal = normal_config(dict(snapshot.config), model, front.catalog(None).library.config_keys)
    assert normal.facts == snapshot.config
    assert normal.left_out == ()


def test_provenance_follows_from_the_rows(snapshot):
    facts = snapshot.provenance
    assert weakest(snapshot.tensors) == facts["strength"]
    if facts["published_total_counts"] is not None:
        counted = [row for row in snapshot.tensors if row.name not in facts.get("published_total_leaves_out", ())]
        assert list(kinds_that_make(facts["published_total"], counted)) == facts["published_total_counts"]


def test_the_schemas_know_every_strength():
    for part in ("tensors", "provenance"):
        text = (TRUTH / "schema" / f"{part}.schema.json").read_text(encoding="utf-8")
        assert json.dumps(list(STRENGTHS)) in text
    readme = (TRUTH / "README.md").read_text(encoding="utf-8")
    assert [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `") and "`" in line][3:] == list(
        STRENGTHS
    )


def test_ids():
    for good in ("Qwen/Qwen3-0.6B", "a/b", "openai-community/gpt2", "A.b_c/d--e"):
        assert is_model_id(good)
        assert folder_name(good).replace("--", "/", 1) == good
    for bad in (
        "a",
        "a/b/c",
        "/b",
        "a/",
        "../b",
        "a/..",
        "a--b/c",
        "-a/b",
        "a b/c",
        "a/b\n",
        "x" * 97 + "/y",
        "ü/b",
        ".a/b",
    ):
        assert not is_model_id(bad), bad


GOOD = {
    "config.json": b'{"architectures": ["A"], "model_type": "a"}',
    "provenance.json": b"{}",
    "tensors.json": (
        b'{"tensors": [{"name": "w.{0-1}", "dtype": "F32", "shape": [2], "count": 2, "strength": "hub-headers"}],'
        b'"totals": {"tensors": 2, "elements": 4, "bytes": 16, "parameters": 4, "extras": {}}}'
    ),
}


def refusal(old, new):
    with pytest.raises(SpecError) as caught:
        read_snapshot(GOOD | {"tensors.json": GOOD["tensors.json"].replace(old, new)}, "here")
    return str(caught.value)


def test_a_good_one_is_read():
    assert len(read_snapshot(GOOD, "here").tensors) == 1


def test_totals_must_add_up():
    assert (
        refusal(b'"bytes": 16', b'"bytes": 17')
        == """\
bad-snapshot at here/tensors.json totals
  expected  sums over the rows: bytes 16
  got       17
  fix       take the snapshot again with `rooflight snapshot`"""
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"F32"', b'"F31"'),
        (b'"F32"', b"3"),
        (b"[2]", b"[true]"),
        (b"[2]", b"2"),
        (b"[2]", b"[-1]"),
        (b'"count": 2', b'"count": 0'),
        (b'"count": 2', b'"count": "2"'),
        (b'"hub-headers"', b'"seen"'),
        (b'"hub-headers"', b'"hub-headers", "role": "bias"'),
        (b'"hub-headers"', b'"hub-headers", "part": "main"'),
        (b'"hub-headers"', b'"hub-headers", "packing": 0'),
        (b'"hub-headers"', b'"hub-headers", "note": ""'),
        (b'"w.{0-1}"', b"null"),
        (b'"extras": {}', b'"extras": {}, "mtp": 0'),
        (b'"extras": {}', b'"extras": {"scale": 1}'),
        (b'"totals"', b'"total"'),
        (b'"totals": {', b'"totals": {"tensors": 2, '),
        (b'"tensors": [', b'"tensors": [3, '),
        (b'{"tensors"', b'["tensors"'),
    ],
)
def test_other_things_are_refused(old, new):
    assert refusal(old, new).split(" at ")[0] in ("bad-snapshot", "duplicate-key")


def test_a_wrong_count_is_refused():
    assert refusal(b'"count": 2', b'"count": 3').startswith("bad-pattern at here/tensors.json w.{0-1}\n")
