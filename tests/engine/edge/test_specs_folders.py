"""Folders that are no specs folder, and specs without checkpoints: none of them passes for one that holds."""

import json
import shutil

import pytest
from click.testing import CliRunner

from engine import mini
from rooflight.edge import front
from rooflight.edge.cli import main
from rooflight.edge.library import open_catalog
from rooflight.values import SpecError


def run(*arguments):
    front.catalog.cache_clear()
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def specs(tmp_path):
    folder = tmp_path / "specs"
    shutil.copytree(mini.FOLDER, folder)
    return folder


@pytest.mark.parametrize("command", ["validate", "check", "models"])
@pytest.mark.parametrize("fault", ["nothing", "file", "empty name", "empty folder", "no models", "models a file"])
def test_a_folder_without_specs_is_refused(specs, command, fault):
    shutil.rmtree(specs / "models")
    place = {"nothing": specs / "none", "file": specs / "dims.yaml", "empty name": ""}.get(fault, specs)
    if fault == "empty folder":
        place = specs / "truth"
        place.mkdir()
    elif fault == "models a file":
        (specs / "models").touch()
    done = run("--specs", place, command)
    assert (done.exit_code, done.stdout) == (1, "")
    known = {"empty folder": "missing-file at truth/dims.yaml"}
    whole = "no-specs at " if fault in ("nothing", "file", "empty name") else "missing-file at specs/models"
    assert done.stderr.startswith(known.get(fault, whole))


def test_what_a_missing_folder_is_refused_with():
    with pytest.raises(SpecError) as caught:
        open_catalog("/nowhere/specs")
    assert (
        str(caught.value)
        == """\
no-specs at /nowhere/specs
  expected  a folder with dims.yaml, roles.yaml, config_keys.yaml, components/ and models/
  got       no folder '/nowhere/specs'
  fix       check the path, or leave --specs out for the project's own"""
    )


def test_validate_with_nothing_to_hold_against_is_refused(specs):
    assert run("--specs", specs, "check").exit_code == 0
    done = run("--specs", specs, "validate")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        done.stderr
        == """\
no-config at specs/truth
  expected  the config.json of a checkpoint that a spec covers
  got       none
  fix       name a TARGET, or take a snapshot with `rooflight snapshot`
"""
    )


def test_sources_that_are_no_folder_are_refused(specs):
    done = run("--specs", specs, "validate", "--sources", specs / "none")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"missing-file at {specs}/none\n")


FACTS = {"tensors.json": ["[]", "5", "{}", '{"tensors": [], "totals": {}}'], "provenance.json": ["[]", "5", "null"]}
FACTS["provenance.json"] += [
    f'{{"{key}": {value}}}'
    for key, values in {
        "published_total": ['"x"', "[1]", "0", "1.5", "true", "1" + "0" * 4000],
        "published_total_counts": ["5", '["all"]', "[[]]"],
        "lab": ["1", '""', "[]"],
        "source": ["{}"],
        "strength": ["7", '"strong"', "[]"],
        "released": ["2025", '"soon"', '"20250101"'],
        "config_state": ['"fine"', "{}"],
        "notes": ["null", "[1]", '"x"'],
    }.items()
    for value in values
]


@pytest.mark.parametrize(("name", "content"), [(name, text) for name, texts in FACTS.items() for text in texts])
def test_broken_facts_are_refused(specs, name, content):
    folder = specs / "truth" / "lab--tiny"
    folder.mkdir(parents=True)
    shutil.copy(mini.FIXTURES / "tiny-config.json", folder / "config.json")
    (folder / name).write_text(content)
    place = f"specs/truth/lab--tiny/{name}"
    shown = run("--specs", specs, "show", "lab/tiny")
    assert shown.exit_code == 1
    assert shown.stderr.startswith(f"bad-snapshot at {place}")
    assert "got       \n" not in shown.stderr
    found = run("--specs", specs, "validate", "lab/tiny", "--json")
    assert found.exit_code == 1
    assert [f["code"] for f in json.loads(found.stdout)["findings"]] == ["bad-snapshot"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"width": 1e999}', "1e999 is larger than any number of a config"),
        ('{"width": [-1.5E400]}', "-1.5E400 is larger than any number of a config"),
        (
            r'{"width": "a\ud800"}',
            r"'utf-8' codec can't encode character '\ud800' in position 12: surrogates not allowed",
        ),
        (
            r'{"\udc00": 1}',
            r"'utf-8' codec can't encode character '\udc00' in position 2: surrogates not allowed",
        ),
    ],
)
def test_values_that_no_file_can_hold(tmp_path, text, reason):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        front.show(path)
    assert (
        str(caught.value)
        == f"""\
config-not-json at {path}
  expected  JSON
  got       {reason}
  fix       fetch the file again, it may be truncated"""
    )


def test_half_characters_in_a_key_that_stands_twice(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(r'{"\ud800": 1, "\ud800": 2}')
    with pytest.raises(SpecError) as caught:
        front.show(path)
    str(caught.value).encode()


def test_whole_pairs_are_read(tmp_path):
    (tmp_path / "config.json").write_text(
        mini.FIXTURES.joinpath("tiny-config.json").read_text().replace("{", r'{"note": "\ud83d\ude00 \\ud800",', 1)
    )
    assert front.show(tmp_path, specs=str(mini.FOLDER))["architecture"] == "tiny"
