"""Snapshots of folders, and the writing of folders all at once."""

import json
import os

import pytest

from edge_snapshot.conftest import CONFIG, FIRST, SHARDS, sharded
from rooflight.edge import front
from rooflight.edge.snapshot import take as taking
from rooflight.edge.snapshot.take import take_from_path
from rooflight.edge.snapshot.write import code_folder, write_folder
from rooflight.truth import totals
from rooflight.values import SpecError
from truth.safetensors_files import file_of


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "tiny"
    place.mkdir()
    for name, data in sharded().items():
        (place / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return place


def take(path, progress=lambda *_: None):
    return take_from_path(path, "local/tiny", front.catalog(None).library, "2026-12-01", progress)


def refusal(path):
    with pytest.raises(SpecError) as caught:
        take(path)
    return str(caught.value).replace(str(path), "PATH")


def test_a_folder(folder):
    seen = []
    snapshot, warnings, code = take(folder, lambda *step: seen.append(step))
    assert seen == [(1, 2), (2, 2)]
    assert (warnings, code) == ((), {})
    assert totals(snapshot.tensors)["parameters"] == 148
    assert {row.strength for row in snapshot.tensors} == {"local-headers"}
    facts = snapshot.provenance
    assert (facts["strength"], facts["revision"], facts["source"]) == (
        "local-headers", None, "files in a local folder",
    )  # fmt: skip


def test_shards_without_an_index(folder):
    (folder / "model.safetensors.index.json").unlink()
    assert totals(take(folder).snapshot.tensors)["tensors"] == 5


def test_the_other_reader_is_asked_too(folder, monkeypatch):
    def blind(path, length, where, strength):
        return ()

    monkeypatch.setattr(taking, "read_header", blind)
    with pytest.raises(AssertionError, match="two readers"):
        take(folder)


def test_refusals(folder, tmp_path):
    (folder / SHARDS[1]).unlink()
    assert (
        refusal(folder)
        == f"""\
index-mismatch at PATH
  expected  every file that the index lists
  got       no {SHARDS[1]}
  fix       download the whole checkpoint, or fix the index"""
    )
    (folder / "config.json").unlink()
    assert (
        refusal(folder)
        == """\
no-config at PATH
  expected  a config.json beside the weights
  got       none
  fix       pass the folder that holds both"""
    )
    other = tmp_path / "bin"
    other.mkdir()
    (other / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    (other / "pytorch_model.bin").touch()
    assert refusal(other).startswith("no-safetensors at PATH\n")
    (other / "note.txt").write_text("x", "utf-8")
    assert refusal(other / "note.txt").startswith("header-size at PATH\n")


def test_a_file_that_is_too_short(folder):
    (folder / SHARDS[0]).write_bytes(file_of(FIRST)[:100])
    assert refusal(folder).startswith("header-size at PATH/")


FILES = {"b.json": "B", "sub/a.txt": "Ä\n"}


def test_a_folder_is_written(tmp_path):
    target = tmp_path / "deep" / "x--y"
    write_folder(target, FILES, replace=False)
    assert (target / "sub" / "a.txt").read_bytes() == "Ä\n".encode()
    assert [path.name for path in target.parent.iterdir()] == ["x--y"]
    assert target.stat().st_mode & 0o077 == 0o755 & 0o077 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_folder_that_is_there_stays(tmp_path):
    write_folder(tmp_path / "x", FILES, replace=False)
    with pytest.raises(SpecError) as caught:
        write_folder(tmp_path / "x", {"c": ""}, replace=False)
    assert str(caught.value).replace(str(tmp_path), "HERE") == (
        """\
snapshot-exists at HERE/x
  expected  no such folder yet
  got       one that is there
  fix       pass --replace to take its place, or --out for another folder"""
    )
    write_folder(tmp_path / "x", {"c": ""}, replace=True)
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["c"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(("replace", "at"), [(False, 1), (True, 1), (True, 2)])
def test_writing_that_breaks_off_leaves_what_was(tmp_path, monkeypatch, replace, at):
    target = tmp_path / "x"
    if replace:
        write_folder(target, {"old": ""}, replace=False)
    moves = os.replace
    left = [at]

    def failing(source, destination):
        left[0] -= 1
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        moves(source, destination)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(SpecError) as caught:
        write_folder(target, FILES, replace=replace)
    assert str(caught.value).replace(str(tmp_path), "HERE") == (
        """\
cannot-write at HERE/x
  expected  a place that can be written
  got       No space left on device
  fix       pass another folder with --out"""
    )
    assert [path.name for path in tmp_path.rglob("*")] == (["x", "old"] if replace else [])


def test_where_code_is_staged(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLIGHT_CACHE", "/named")
    assert str(code_folder("a/b", "c")) == "/named/remote-code/a--b/c"
    monkeypatch.delenv("ROOFLIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(code_folder("a/b", "c")) == "/caches/rooflight/remote-code/a--b/c"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert str(code_folder("a/b", "c")) == "/home/me/.cache/rooflight/remote-code/a--b/c"


def test_half_a_checkpoint_is_none(folder):
    (folder / "model.safetensors.index.json").unlink()
    (folder / SHARDS[1]).unlink()
    for target in (folder, folder / SHARDS[0]):
        assert (
            refusal(target)
            == f"""\
several-checkpoints at PATH
  expected  model.safetensors, one safetensors file, an index, or one complete set of shards
  got       {SHARDS[0]}
  fix       download the whole checkpoint, pass the file that is meant, or add the index"""
        )
    (folder / SHARDS[0]).rename(folder / "model-00001-of-00001.safetensors")
    assert totals(take(folder).snapshot.tensors)["tensors"] == 2


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_files_without_tensors(folder, metadata):
    (folder / "model.safetensors.index.json").unlink()
    (folder / "model.safetensors").write_bytes(file_of([], metadata))
    assert (
        refusal(folder)
        == """\
no-safetensors at local/tiny
  expected  safetensors files that hold tensors
  got       headers without a tensor
  fix       pass the files that hold the weights"""
    )


def test_an_index_of_nothing(folder):
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {}}')
    assert refusal(folder).startswith("index-mismatch at PATH/model.safetensors.index.json weight_map\n")


def test_a_header_with_a_number_that_is_none(folder):
    text = b'{"a": {"dtype": "F32", "shape": [1e999], "data_offsets": [0, 4]}}'
    (folder / SHARDS[0]).write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    assert "header-json at" in refusal(folder)
    assert "1e999 is larger than any number" in refusal(folder)
