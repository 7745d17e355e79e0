"""A site appears whole or not at all."""

import pytest

from rooflight_site import write
from rooflight_site.errors import NotOurs


def put(folder, text):
    write.text(folder / "index.html", text)
    write.data(folder / write.MARK, {})


def build(target, text):
    with write.staged(target) as stage:
        put(stage, text)


def build_half(target, stop):
    with write.staged(target) as stage:
        put(stage, "half")
        raise stop


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_build_replaces_the_previous_one(tmp_path):
    target = tmp_path / "site"
    build(target, "one")
    (target / "stale.html").write_text("old")
    build(target, "two")
    assert listing(target) == sorted(["index.html", write.MARK])
    assert (target / "index.html").read_text() == "two"
    assert listing(tmp_path) == ["site"]


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_a_build_that_stops_leaves_the_previous_one(tmp_path, stop):
    target = tmp_path / "site"
    build(target, "one")
    with pytest.raises(stop):
        build_half(target, stop)
    assert (target / "index.html").read_text() == "one"
    assert listing(tmp_path) == ["site"]


def test_a_swap_cut_short_is_undone_by_the_next_build(tmp_path):
    target = tmp_path / "site"
    build(target, "one")
    target.rename(tmp_path / ".site.previous")  # what a kill between the two renames leaves
    with pytest.raises(RuntimeError), write.staged(target):
        raise RuntimeError
    assert (target / "index.html").read_text() == "one"


def test_a_failed_rename_brings_the_previous_one_back(tmp_path, monkeypatch):
    target = tmp_path / "site"
    build(target, "one")
    rename = type(target).rename

    def refuse_stage(path, place):
        if ".building-" in path.name:
            raise OSError("no space left")
        return rename(path, place)

    monkeypatch.setattr(type(target), "rename", refuse_stage)
    with pytest.raises(OSError, match="no space left"):
        build(target, "two")
    assert (target / "index.html").read_text() == "one"
    assert listing(tmp_path) == ["site"]


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(NotOurs, match=r"home is not empty and holds no build\.json of an earlier build"):
        build(tmp_path / "home", "site")
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"
    assert listing(tmp_path) == ["home"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "site").mkdir()
    build(tmp_path / "site", "one")
    assert (tmp_path / "site" / "index.html").read_text() == "one"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_file_holds_a_number_that_json_lacks(tmp_path, value):
    with pytest.raises(ValueError, match="JSON compliant"):
        write.data(tmp_path / "x.json", {"x": value})
