"""The command: what it prints where, and the codes it exits with: 0 done, 1 refused, 2 a wrong command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from engine import mini
from rooflight.edge.cli import main

SPECS = ("--specs", str(mini.FOLDER))
CONFIG = str(mini.FIXTURES / "tiny-config.json")
ENGINE = Path(__file__).parents[3] / "engine"


def run(*args):
    return CliRunner().invoke(main, args)


def refused(*args):
    """stderr of a command that was refused and printed nothing."""
    result = run(*args)
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    return result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("models",),
        (*SPECS, "show", CONFIG),
        (*SPECS, "cost", CONFIG, "--phase", "decode", "-B", "2", "-T", "16"),
        (*SPECS, "formula", CONFIG, "params.total"),
        (*SPECS, "formula", CONFIG, "params.total", "--format", "latex"),
        (*SPECS, "formula", CONFIG),
        (*SPECS, "tensors", CONFIG, "--buffers"),
        (*SPECS, "check", CONFIG),
        ("completion", "bash"),
        ("--version",),
        ("--help",),
        *((command, "--help") for command in main.commands),
    ],
    ids=" ".join,
)
def test_done(args):
    result = run(*args)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.parametrize("command", ["show", "cost", "tensors"])
def test_json_is_json(command):
    assert json.loads(run(*SPECS, command, CONFIG, "--json").stdout)


def test_refusal_is_four_lines_on_stderr():
    assert (
        refused("show", "nowhere/config.json")
        == """\
no-config at nowhere/config.json
  expected  a config.json
  got       no such file
  fix       check the path
"""
    )


def test_refusal_as_json_is_one_object_on_stderr():
    assert json.loads(refused("show", "nowhere/config.json", "--json")) == {
        "error": {
            "code": "no-config",
            "where": "nowhere/config.json",
            "expected": "a config.json",
            "got": "no such file",
            "fix": "check the path",
        }
    }


def test_markup_of_a_visitor_is_printed_as_it_stands():
    assert refused("show", "[red]x[/red].json").startswith("no-config at [red]x[/red].json\n")


@pytest.mark.parametrize(
    ("args", "first"),
    [
        (("cost", CONFIG, "-B", "0"), "bad-step at batch"),
        (("cost", CONFIG, "-T", "-1"), "bad-step at context"),
        (("formula", CONFIG, "params.totl"), "unknown-figure at params.totl"),
        (("formula", CONFIG, "params", "--node", "nowhere"), "unknown-node at nowhere"),
        (("tensors", "nowhere"), "unknown-model at nowhere"),
        (("graph", "nowhere"), "unknown-model at nowhere"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_every_command_refuses_alike(args, first):
    assert refused(*SPECS, *args).splitlines()[0] == first


def test_specs_folder_that_is_none(tmp_path):
    assert refused("--specs", str(tmp_path / "none"), "show", CONFIG).startswith(f"no-specs at {tmp_path}/none\n")


@pytest.mark.parametrize(
    "args",
    [
        ("shwo",),
        ("show",),
        ("show", "a", "b"),
        ("show", CONFIG, "--jsn"),
        ("cost", CONFIG, "--phase", "training"),
        ("cost", CONFIG, "-B", "two"),
        ("cost", CONFIG, "-T", "1e6"),
        ("formula", CONFIG, "params.total", "--format", "pdf"),
        ("completion", "tcsh"),
        ("serve", "--port", "70000"),
    ],
    ids=" ".join,
)
def test_wrong_command_line(args):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")


def test_check_finds_faults_and_goes_on(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**mini.CONFIG, "heads": 5}))
    result = run(*SPECS, "check", str(broken), CONFIG, "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert answer["checked"] == [str(broken), CONFIG]
    assert [(f["model"], f["code"]) for f in answer["findings"]] == [(str(broken), "broken-constraint")]


@pytest.mark.parametrize("args", [("models",), ("models", "--json"), ("show", CONFIG)], ids=" ".join)
def test_reader_that_went_away(args):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "rooflight.edge.cli", *SPECS, *args]
    if args[0] == "models":
        command = [sys.executable, "-m", "rooflight.edge.cli", *args]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ENGINE)}, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
