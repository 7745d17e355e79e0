"""Quotes against the texts they come from."""

import hashlib
import re
import zipfile
from pathlib import Path

import findings
import planted
import pytest

from rooflight.checks.source import squeezed
from rooflight.edge.sources import MAX_TEXT, read_sources, sources_folder

ROOT = Path(__file__).resolve().parents[2]

CHECKPOINTS = (
    "openai-community/gpt2",
    "meta-llama/Meta-Llama-3.1-8B",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V2-Lite",
)


@pytest.mark.parametrize("model", CHECKPOINTS)
def test_nothing_to_say(model):
    assert findings.of("source", findings.whole(model)) == ()


@findings.each_case("source")
def test_what_it_says(name, given, expected):
    findings.expect("source", name, given, expected)


def test_a_text_that_is_not_at_hand_is_said_and_does_not_block():
    subject = findings.whole("openai/gpt-oss-20b")
    subject.sources = {}
    found = findings.of("source", subject)
    assert [(f.code, f.blocking) for f in found] == [("source-not-checked", False)] * 3
    assert findings.text_of(found[:1]) == (
        "source-not-checked (a hint) at specs/models/gpt_oss.yaml:76 gpt_oss.anchors[0]\n"
        "  expected  the text of transformers/models/gpt_oss/modeling_gpt_oss.py\n"
        "  got       not at hand\n"
        "  fix       run `make sources`, which fetches the pinned texts"
    )


def test_line_breaks_of_a_formatter_change_nothing():
    subject = findings.whole("meta-llama/Meta-Llama-3.1-8B")
    (file,) = {anchor.file for anchor in subject.model.spec.anchors}
    subject.sources = {file: "hidden_states   =\n\tdecoder_layer(\nhidden_states = residual\n    + hidden_states"}
    assert findings.of("source", subject) == ()


def test_words_that_run_together_are_others():
    subject = findings.whole("meta-llama/Meta-Llama-3.1-8B")
    (file,) = {anchor.file for anchor in subject.model.spec.anchors}
    subject.sources = {file: "hidden_states=decoder_layer( hidden_states = residual + hidden_states"}
    assert [f.code for f in findings.of("source", subject)] == ["source-mismatch"]


WHEELS = sorted(sources_folder().glob("*.whl"))


@pytest.mark.skipif(not WHEELS, reason="no texts at hand: run `make sources`")
@pytest.mark.parametrize("spec", sorted(planted.library().models))
def test_quotes_stand_in_the_pinned_texts(spec):
    model = planted.library().models[spec]
    texts = read_sources(frozenset(anchor.file for anchor in model.anchors))
    for anchor in model.anchors:
        assert squeezed(anchor.quote) in squeezed(texts[anchor.file]), anchor


@pytest.mark.skipif(not WHEELS, reason="no texts at hand: run `make sources`")
def test_both_frameworks_are_at_hand():
    wanted = frozenset({"transformers/models/llama/modeling_llama.py", "sglang/srt/models/deepseek_v2.py"})
    assert set(read_sources(wanted)) == wanted


def test_a_broken_wheel_holds_no_texts(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(tmp_path / "b.whl", "w") as archive:
        archive.writestr("pack/model.py", "x = 1\n")
        archive.writestr("pack/large.py", "#" * (MAX_TEXT + 1))
    wanted = frozenset({"pack/model.py", "pack/large.py", "pack/none.py"})
    assert read_sources(wanted, tmp_path) == {"pack/model.py": "x = 1\n"}
    assert read_sources(wanted, tmp_path / "nowhere") == {}


def test_the_wheels_are_those_the_lock_names():
    lock = (ROOT / "requirements" / "sources.txt").read_text(encoding="utf-8")
    assert re.findall(r"^(\w+)==", lock, re.MULTILINE) == ["sglang", "transformers"]
    for wheel in WHEELS:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        assert digest in lock, f"{wheel.name} is not the pinned one: run `make sources`"
