"""Files that are no spec at all: too large, too deep, not text. Each is refused before it costs anything."""

import pytest

from rooflight.edge.library import open_catalog
from rooflight.edge.yaml_text import MAX_BYTES, MAX_DEPTH, MAX_NODES, read_yaml
from rooflight.values import SpecError


def refused(text):
    with pytest.raises(SpecError) as caught:
        read_yaml(text, "doc.yaml")
    return str(caught.value)


TOO_LARGE = """\
yaml-too-large at doc.yaml:{line}
  expected  at most 40 levels and 100,000 values
  got       more
  fix       split the file"""


def test_limits_are_far_above_any_spec():
    nested = "".join("  " * level + "k:\n" for level in range(MAX_DEPTH - 1)) + "  " * MAX_DEPTH + "v"
    assert read_yaml(nested, "doc.yaml")
    assert (MAX_BYTES, MAX_DEPTH, MAX_NODES) == (1 << 20, 40, 100_000)


def test_too_many_bytes():
    assert (
        refused("a: " + "x" * MAX_BYTES)
        == """\
yaml-too-large at doc.yaml
  expected  at most 1,048,576 bytes
  got       1,048,579 characters
  fix       split the file"""
    )


def test_too_many_values():
    assert refused("a: [" + "1," * MAX_NODES + "]") == TOO_LARGE.format(line=1)


@pytest.mark.parametrize("text", ["[" * 41 + "]" * 41, "{a: " * 41 + "}" * 41], ids=["lists", "mappings"])
def test_too_deep(text):
    assert refused(f"# deep\na: {text}") == TOO_LARGE.format(line=2)


@pytest.mark.parametrize("levels", [2_000, 100_000])
def test_far_too_deep_is_no_crash(levels):
    assert refused("a: " + "[" * levels + "]" * levels).startswith(
        ("yaml-too-large at doc.yaml", "yaml-syntax at doc.yaml")
    )


def test_billion_laughs():
    lines = [
        "a: &a [x, x]",
        *(f"{new}: &{new} [*{old}, *{old}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
    assert (
        refused("\n".join(lines))
        == """\
yaml-alias at doc.yaml:1
  expected  no anchors or aliases
  got       &a or *a
  fix       write the value out; quote a text that starts with & or *"""
    )


def test_nul_byte():
    assert (
        refused("a: 1\nb: \x00\n")
        == """\
yaml-syntax at doc.yaml
  expected  YAML
  got       unacceptable character #x0000: control characters are not allowed
  fix       correct the syntax"""
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# only words\n"], ids=["empty", "blank", "comment"])
def test_empty(text):
    assert (
        refused(text)
        == """\
yaml-empty at doc.yaml
  expected  a mapping
  got       an empty file
  fix       write the spec"""
    )


@pytest.mark.parametrize(("text", "got"), [("- a", "a list of 1"), ("a", "'a'"), ("12", "12"), ("null", "nothing")])
def test_root_that_is_no_mapping(text, got):
    assert (
        refused(f"# first\n{text}")
        == f"""\
wrong-type at doc.yaml:2
  expected  a mapping
  got       {got}
  fix       write key: value lines"""
    )


def test_not_utf8(tmp_path):
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "dims.yaml").write_bytes(b"kinds: { a: \xff }\n")
    with pytest.raises(SpecError) as caught:
        _ = open_catalog(folder).library
    assert (
        str(caught.value)
        == """\
yaml-syntax at specs/dims.yaml
  expected  UTF-8 text
  got       'utf-8' codec can't decode byte 0xff in position 12: invalid start byte
  fix       save the file as UTF-8"""
    )


def test_missing_table(tmp_path):
    (tmp_path / "specs").mkdir()
    with pytest.raises(SpecError) as caught:
        _ = open_catalog(tmp_path / "specs").library
    assert (
        str(caught.value)
        == """\
missing-file at specs/dims.yaml
  expected  a file of the specs folder
  got       no such file
  fix       restore it"""
    )
