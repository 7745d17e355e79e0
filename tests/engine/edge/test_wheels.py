"""Wheels that broke on the way give no texts, and keep nothing from being read out of the others."""

import zipfile

import pytest

from rooflight.edge.sources import read_sources


def wheel(path, name, text):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)


def entry(raw):
    """Where the one file's record in the archive's directory begins."""
    return raw.index(b"PK\x01\x02")


def spoil(raw, fault):
    if fault == "deflate":
        raw[30 + 4 : 30 + 12] = b"\xff" * 8
    elif fault == "encrypted":
        raw[6] |= 1
        raw[entry(raw) + 8] |= 1
    elif fault == "method":
        raw[8] = raw[entry(raw) + 10] = 99
    elif fault == "truncated":
        del raw[len(raw) // 2 :]
    elif fault == "moved":
        raw[entry(raw) + 42] = 7


@pytest.mark.parametrize("fault", ["deflate", "encrypted", "method", "truncated", "moved"])
def test_a_broken_wheel(tmp_path, fault):
    wheel(tmp_path / "a.whl", "a.py", "x = 1\n" * 100)
    wheel(tmp_path / "b.whl", "b.py", "y = 2\n")
    assert set(read_sources(frozenset(["a.py", "b.py"]), tmp_path)) == {"a.py", "b.py"}
    raw = bytearray((tmp_path / "a.whl").read_bytes())
    spoil(raw, fault)
    (tmp_path / "a.whl").write_bytes(raw)
    assert read_sources(frozenset(["a.py", "b.py"]), tmp_path) == {"b.py": "y = 2\n"}
