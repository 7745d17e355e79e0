"""What people see on the screen: figures in words, tables that hold their facts."""

import json

import pytest
from click.testing import CliRunner

from engine import mini
from rooflight.edge import screen
from rooflight.edge.cli import main

CONFIG = str(mini.FIXTURES / "tiny-config.json")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (999, "999"), (1_000, "1 K"), (999_499, "999 K"), (8_030_261_248, "8.03 B"), (405_853_388_800, "406 B")],
)
def test_count(value, words):
    assert screen.count(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 B"),
        (1_023, "1,023 B"),
        (1_024, "1 KiB"),
        (131_072, "128 KiB"),
        (1023 * 1024**2, "1,023 MiB"),
        (15 * 1024**3, "15 GiB"),
    ],
)
def test_size(value, words):
    assert screen.size(value) == words


def test_show_holds_its_facts():
    out = CliRunner().invoke(main, ["--specs", str(mini.FOLDER), "show", CONFIG]).stdout
    for fact in (
        "tiny-config",
        "MHA",
        "BF16",
        "last 8 tokens",
        "per token",
        "0, 2",
        "1, 3",
        "published context 64 tokens",
    ):
        assert fact in out


def test_show_warns_on_stderr(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**mini.CONFIG, "act": "relu", "colour": "red", "draft_vocab_size": 9}))
    result = CliRunner().invoke(main, ["--specs", str(mini.FOLDER), "show", str(config)])
    assert (
        result.stderr
        == """\
warning config key draft_vocab_size = 9 is neither bound nor knowingly ignored by the spec tiny
warning config key act = 'relu', but the spec tiny was written for 'silu' or 'gelu'
"""
    )
    assert "warning" not in result.stdout
