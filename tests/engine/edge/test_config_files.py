"""Targets that name no readable config: every one is refused with what is wrong with the file or the name."""

import json
import os
import shutil

import pytest

import rooflight
from engine import mini
from rooflight.edge import library
from rooflight.values import SpecError

SPECS = str(mini.FOLDER)


def refused(target):
    with pytest.raises(SpecError) as caught:
        rooflight.show(target, specs=SPECS)
    return str(caught.value)


@pytest.fixture
def config(tmp_path):
    """Write text or bytes as a config.json; return its path."""

    def write(content):
        path = tmp_path / "config.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


WHOLE = json.dumps(mini.CONFIG)
NOT_JSON = """\
config-not-json at {path}
  expected  JSON
  got       {reason}
  fix       fetch the file again, it may be truncated"""


def test_a_whole_config_is_read(config):
    assert rooflight.show(config(WHOLE), specs=SPECS)["architecture"] == "tiny"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("", "Expecting value: line 1 column 1 (char 0)", id="empty"),
        pytest.param(WHOLE[:-20], "Unterminated string starting at: line 1 column 137 (char 136)", id="truncated"),
        pytest.param(WHOLE + "}", "Extra data: line 1 column 163 (char 162)", id="more after the end"),
        pytest.param(
            "{'a': 1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", id="Python"
        ),
        pytest.param('{"width": NaN}', "NaN is not JSON", id="NaN"),
        pytest.param('{"width": -Infinity}', "-Infinity is not JSON", id="infinity"),
        pytest.param(
            b'{"a": "\xff"}', "'utf-8' codec can't decode byte 0xff in position 7: invalid start byte", id="not UTF-8"
        ),
        pytest.param("\x00", "Expecting value: line 1 column 1 (char 0)", id="NUL"),
        pytest.param("<!DOCTYPE html>", "Expecting value: line 1 column 1 (char 0)", id="a web page"),
        pytest.param(
            "version https://git-lfs.github.com/spec/v1", "Expecting value: line 1 column 1 (char 0)", id="a pointer"
        ),
    ],
)
def test_not_json(config, content, reason):
    path = config(content)
    assert refused(path) == NOT_JSON.format(path=path, reason=reason)


def test_nested_past_any_stack(config):
    path = config("[" * 100_000 + "]" * 100_000)
    assert refused(path).startswith(f"config-not-json at {path}\n  expected  JSON\n")


def test_number_longer_than_python_reads(config):
    path = config('{"width": 1' + "0" * 5_000 + "}")
    assert refused(path).startswith(f"config-not-json at {path}\n  expected  JSON\n  got       Exceeds the limit")


def test_number_longer_than_python_writes(config):
    path = config(json.dumps({**mini.CONFIG, "width": 1}).replace('"width": 1', '"width": 1' + "0" * 4_200))
    assert (
        refused(path)
        == f"""\
config-out-of-range at {path} width
  expected  d_model (width of the trunk) a whole number from 1 to 1099511627776
  got       config.width = a whole number of 13953 bits
  fix       correct width"""
    )


def test_key_twice(config):
    path = config('{"width": 64, "heads": 4, "width": 32}')
    assert (
        refused(path)
        == f"""\
duplicate-key at {path} width
  expected  every key once
  got       width twice
  fix       keep one of the two, or fetch the file again"""
    )


@pytest.mark.parametrize(
    ("content", "got"), [("[1, 2]", "[1, 2]"), ('"tiny"', "'tiny'"), ("null", "nothing"), ("1", "1")]
)
def test_not_an_object(config, content, got):
    path = config(content)
    assert (
        refused(path)
        == f"""\
config-not-object at {path}
  expected  a JSON object
  got       {got}
  fix       pass the model's config.json"""
    )


def test_file_too_large(config):
    path = config(" " * (library.MAX_CONFIG_BYTES + 1))
    assert (
        refused(path)
        == f"""\
config-too-large at {path}
  expected  at most 4,194,304 bytes
  got       4,194,305
  fix       pass the model's own config.json"""
    )


@pytest.mark.parametrize(
    ("more", "expected", "got"),
    [
        pytest.param({"deep": [[[[[[[[[[[[1]]]]]]]]]]]]}, "at most 12 levels", "more", id="levels"),
        pytest.param({f"key{i}": 0 for i in range(2_000)}, "at most 2000 keys", "2009", id="keys"),
        pytest.param({"kinds": ["full"] * 20_001}, "lists of at most 20000", "20001", id="list"),
    ],
)
def test_too_large_inside(more, expected, got):
    assert (
        refused({**mini.CONFIG, **more})
        == f"""\
config-too-large at config
  expected  {expected}
  got       {got}
  fix       pass the model's own config.json"""
    )


def test_too_many_values_inside():
    wide = {f"key{i}": [0] * 200 for i in range(600)}
    assert (
        refused({**mini.CONFIG, **wide})
        == """\
config-too-large at config
  expected  at most 100,000 values
  got       more
  fix       pass the model's own config.json"""
    )


def test_config_that_holds_itself():
    loop = dict(mini.CONFIG)
    loop["self"] = loop
    assert refused(loop).startswith("config-too-large at config\n  expected  at most 12 levels\n")


def test_keys_that_are_no_text():
    assert (
        refused({**mini.CONFIG, 7: "seven"})
        == """\
config-wrong-type at config
  expected  text as keys
  got       7
  fix       write the key as text"""
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_floats_that_no_json_holds(value):
    assert (
        refused({**mini.CONFIG, "width": value})
        == f"""\
config-wrong-type at config width
  expected  a whole number
  got       {value}
  fix       correct width"""
    )


def test_folder_without_config(tmp_path):
    assert (
        refused(str(tmp_path))
        == f"""\
no-config at {tmp_path}
  expected  a folder with a config.json
  got       none in it
  fix       pass a model's folder"""
    )


def test_folder_with_config_is_read(config, tmp_path):
    config(WHOLE)
    assert rooflight.show(tmp_path, specs=SPECS)["model"] == tmp_path.name


@pytest.mark.parametrize("target", ["nowhere/config.json", "./nowhere", "/nowhere", "~/nowhere"])
def test_no_such_path(target):
    assert (
        refused(target)
        == f"""\
no-config at {target}
  expected  a config.json
  got       no such file
  fix       check the path"""
    )


@pytest.mark.parametrize("target", ["", "tiny", "a\0b", "a" * 5_000])
def test_no_such_model(target):
    assert (
        refused(target)
        == f"""\
unknown-model at {target}
  expected  a model id of `rooflight models`, a config.json, or a folder that holds one
  got       neither
  fix       `rooflight models` lists the ids"""
    )


def test_nearest_model():
    with pytest.raises(SpecError) as caught:
        rooflight.show("openai-community/gpt-2")
    assert (
        str(caught.value)
        == """\
unknown-model at openai-community/gpt-2
  expected  a model id of `rooflight models`, a config.json, or a folder that holds one
  got       neither
  fix       you may have intended openai-community/gpt2"""
    )


def test_nearest_architecture():
    with pytest.raises(SpecError) as caught:
        rooflight.show({"architectures": ["Llama4ForCausalLM"]})
    assert (
        str(caught.value)
        == """\
no-spec at config
  expected  an architecture that a spec covers
  got       no spec covers architecture 'Llama4ForCausalLM'
  fix       nearest: LlamaForCausalLM; docs/adding-a-model.md says how to write a spec"""
    )


@pytest.mark.parametrize(
    ("content", "got"),
    [("[]", "list"), ('"x"', "str")],
    ids=["list", "text"],
)
def test_provenance_that_is_no_record(tmp_path, content, got):
    folder = tmp_path / "specs"
    shutil.copytree(mini.FOLDER, folder)
    snapshot = folder / "truth" / "lab--tiny"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(WHOLE)
    (snapshot / "provenance.json").write_text(content)
    with pytest.raises(SpecError) as caught:
        library.open_catalog(folder).model("lab/tiny")
    assert (
        str(caught.value)
        == f"""\
bad-snapshot at specs/truth/lab--tiny/provenance.json
  expected  a JSON object
  got       {got}
  fix       correct the file, or remove it"""
    )


def test_no_specs_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "__file__", str(tmp_path / "a" / "b" / "edge" / "library.py"))
    with pytest.raises(SpecError) as caught:
        library.specs_folder()
    assert (
        str(caught.value)
        == f"""\
no-specs at {tmp_path}/a/b
  expected  a folder specs/ beside engine/, or inside the package
  got       neither
  fix       reinstall rooflight, or pass the folder with --specs"""
    )


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "config.json"
    os.mkfifo(path)
    assert (
        refused(str(path))
        == f"""\
no-config at {path}
  expected  a config.json
  got       neither a file nor a folder
  fix       check the path"""
    )
