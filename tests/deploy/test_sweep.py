"""Ranges: how axes are written, and that a row says what an estimate says."""

import csv
import io
import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from rooflight.api import SWEEP_AXES, SWEEP_COLUMNS, Request, parse_axis
from rooflight.api.sweep import MAX_POINTS, points
from rooflight.edge.cli import main
from rooflight.values import SpecError

SMALL, MOE = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-30B-A3B"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("batch=1,2,4", (1, 2, 4)),
        ("batch=1..8", (1, 2, 4, 8)),
        ("batch=1..10", (1, 2, 4, 8)),
        ("batch=1..64*4", (1, 4, 16, 64)),
        ("input=512..2048+512", (512, 1024, 1536, 2048)),
        ("context=4k,1m", (4_096, 1_048_576)),
        ("context=4k..16K", (4_096, 8_192, 16_384)),
        ("batch=3,1..4,3", (3, 1, 2, 4)),
        ("gpu=h100, b200", ("h100", "b200")),
        ("plan=attn_dp=8,ep=8; attn_tp=8", ("attn_dp=8,ep=8", "attn_tp=8")),
        ("usable=0.5,1", (0.5, 1)),
        ("usable=0.1..1+0.1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)),
        ("acceptance=0..1+0.05", tuple(n / 20 for n in range(21))),
        ("batch=max,4", (None, 4)),
        ("acceptance=0..1+0.5", (0.0, 0.5, 1.0)),
        ("ep-load-factor=1,1.25", (1.0, 1.25)),
        ("speculative=0..3+1", (0, 1, 2, 3)),
    ],
)
def test_an_axis_as_it_is_written(text, values):
    assert parse_axis(text) == (text.partition("=")[0], values)


@pytest.mark.parametrize(
    ("text", "where", "got"),
    [
        ("batches=1", "axis", "'batches'"),
        ("", "axis", "''"),
        ("batch", "axis batch", "none"),
        ("batch=", "axis batch", "none"),
        ("batch=,", "axis batch", "0"),
        ("batch=x", "axis batch", "'x'"),
        ("batch=1.5", "axis batch", "'1.5'"),
        ("batch=-1", "axis batch", "'-1'"),
        ("batch=٣", "axis batch", "'٣'"),
        ("batch=1..", "axis batch", "''"),
        ("batch=8..1", "axis batch", "'8..1'"),
        ("batch=0..8", "axis batch", "'0..8'"),
        ("batch=1..8*1", "axis batch", "'1..8*1'"),
        ("batch=1..8+0", "axis batch", "'1..8+0'"),
        ("usable=2", "axis usable", "'2'"),
        ("usable=nan", "axis usable", "'nan'"),
        ("acceptance=0.²", "axis acceptance", "'0.²'"),
        ("batch=1..9999+1", "axis batch", "4097"),
        ("batch=" + "9" * 30, "axis batch", repr("9" * 30)),
    ],
)
def test_what_is_no_axis(text, where, got):
    with pytest.raises(SpecError) as caught:
        parse_axis(text)
    assert (caught.value.code, caught.value.where, caught.value.got) == ("bad-axis", where, got)


def test_a_refusal_as_it_is_printed():
    with pytest.raises(SpecError) as caught:
        parse_axis("batc=1")
    known = ", ".join(SWEEP_AXES)
    assert str(caught.value) == (
        f"bad-axis at axis\n  expected  one of {known}\n  got       'batc'\n  fix       you may have intended batch"
    )


def test_axes_multiply_and_the_last_changes_fastest():
    found = points(Request("h100"), [("batch", (1, 2)), ("input", (8, 16))])
    assert [values for values, _ in found] == [
        {"batch": 1, "input": 8},
        {"batch": 1, "input": 16},
        {"batch": 2, "input": 8},
        {"batch": 2, "input": 16},
    ]
    assert [(one.ask.batch, one.ask.input_tokens) for _, one in found] == [(1, 8), (1, 16), (2, 8), (2, 16)]


@pytest.mark.parametrize(
    "axes",
    [[("batch", (1,)), ("batch", (2,))], [("batch", range(1, 4_000)), ("input", range(1, 4_000))]],
    ids=["twice", "many"],
)
def test_axes_that_do_not_go_together(axes):
    with pytest.raises(SpecError) as caught:
        points(Request("h100"), axes)
    assert caught.value.code == "bad-axis"
    assert caught.value.got in ("twice", f"{3_999 * 3_999:,}")
    assert MAX_POINTS < 3_999 * 3_999


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from([SMALL, MOE]),
    st.sampled_from(["h100", "b200", "tpu-v6e", "mi300x"]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 32, None]),
    st.sampled_from([2_048, 40_000]),
)
def test_a_row_is_what_estimate_says(name, gpu, gpus, batch, context):
    (row,) = rooflight.sweep(name, "a100-80g", [f"gpu={gpu}", f"gpus={gpus}", f"context={context}"], batch=batch)
    whole = rooflight.estimate(name, gpu, gpus=gpus, batch=batch, context=context)
    assert (row["gpu"], row["gpus"], row["context"]) == (gpu, gpus, context)
    assert row["deployed"] == whole["deployment"]["plan"]
    for column, path in SWEEP_COLUMNS.items():
        said = whole
        for part in path:
            said = said[part]
        assert row[column] == said, column
    assert row["beyond_published_context"] == (context > 32_768 + 8_192)


def test_what_cannot_be_priced_says_why_and_the_rest_goes_on():
    rows = rooflight.sweep(SMALL, "vr-nvl72", ["plan=attn_dp=8;attn_dp=128"])
    assert rows[0]["error"] is None
    assert rows[0]["step_s"] > 0
    assert rows[1]["error"].startswith("missing-fact: gpu VR NVL72: scale_out_bandwidth")
    assert rows[1]["step_s"] is None


def test_what_cannot_run_is_priced_and_says_so():
    (row,) = rooflight.sweep(SMALL, "h100", ["plan=attn_tp=3"])
    assert row["step_s"] > 0
    assert row["error"].startswith("plan-heads")


def run(*arguments):
    result = CliRunner().invoke(main, ["sweep", SMALL, "--gpu", "h100", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_csv_and_json_hold_the_same():
    axes = ("--over", "batch=1,2", "--over", "context=1k,2k")
    _, text, _ = run(*axes)
    _, data, _ = run(*axes, "--json")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 4
    for shown, row in zip(rows, json.loads(data), strict=True):
        assert shown == {name: "" if value is None else str(value) for name, value in row.items()}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "Missing option '--over'"),
        (("--over", "batch=x"), 1, "bad-axis at axis batch"),
        (("--over", "gpu=h1000"), 1, "unknown-gpu at h1000"),
        (("--over", "batch=1..1e9"), 1, "whole numbers, such as 4096 or 4k"),
        (("--over", "precision=fp9"), 0, ""),
    ],
)
def test_exit_codes(arguments, code, said):
    found, out, err = run(*arguments)
    assert found == code
    assert said in err
    if not code:
        assert "bad-step: precision" in out


def test_an_axis_of_gpus_names_the_gpu():
    axes = ["--over", "gpu=h100,b200", "--over", "batch=max,4"]
    result = CliRunner().invoke(main, ["sweep", SMALL, *axes, "--json"])
    rows = json.loads(result.stdout)
    assert [(row["gpu"], row["batch"]) for row in rows] == [("h100", "max"), ("h100", 4), ("b200", "max"), ("b200", 4)]
    assert rows[0]["batch_decode"] == rows[0]["max_batch_decode"]
    lacking = CliRunner().invoke(main, ["sweep", SMALL, "--over", "batch=1"])
    assert (lacking.exit_code, "name a --gpu" in lacking.stderr) == (2, True)
