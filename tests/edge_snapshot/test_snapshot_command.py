"""`rooflight snapshot` as people run it: against a hub on this machine, and on folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from edge_snapshot.conftest import SHARDS, sharded
from edge_snapshot.fake_hub import COMMIT
from rooflight.edge.cli import main
from rooflight.truth import FILES, read_snapshot

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "specs" / "truth" / "schema"


@pytest.fixture
def rooflight(hub, tmp_path):
    """Runs the command in a process of its own, whose hub is the one on this machine."""

    def run(*arguments, **environment):
        settings = {"HF_ENDPOINT": hub.url, "PYTHONPATH": str(ROOT / "engine"), "HF_HOME": str(tmp_path / "hf")}
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "rooflight.edge.cli", *map(str, arguments)],
            env=os.environ | settings | environment, capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip

    return run


def read(folder):
    return read_snapshot({name: (folder / name).read_bytes() for name in FILES}, str(folder))


def test_from_the_hub(hub, rooflight, tmp_path):
    done = rooflight("snapshot", "org/tiny", "--out", tmp_path / "truth")
    assert (done.stderr, done.returncode) == ("", 0)
    folder = tmp_path / "truth" / "org--tiny"
    staged = tmp_path / "cache" / "remote-code" / "org--tiny" / COMMIT
    assert done.stdout == (
        f"org/tiny  hub-headers at {COMMIT}\n"
        "tensors     5 in 4 rows\n"
        "by dtype    BF16 4, F32 1\n"
        "bytes       304\n"
        "parameters  148\n"
        f"written to {folder}\n"
        f"remote code, as text to look things up in: {staged}\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [path.name for path in staged.iterdir()] == ["modeling_tiny.py"]
    for name in FILES:
        schema = json.loads((SCHEMAS / name.replace(".json", ".schema.json")).read_text(encoding="utf-8"))
        data = json.loads((folder / name).read_text(encoding="utf-8"))
        assert [error.message for error in Draft202012Validator(schema).iter_errors(data)] == []
    assert read(folder).provenance["revision"] == COMMIT


@pytest.mark.parametrize("fault", ["broken off", "gated", "gone"])
def test_what_goes_wrong_leaves_nothing(hub, rooflight, tmp_path, fault):
    if fault == "broken off":
        hub.models["org/tiny"][SHARDS[1]] = hub.models["org/tiny"][SHARDS[1]][:50]
    elif fault == "gated":
        hub.gated.add("org/tiny")
    arguments = ("snapshot", "org/none" if fault == "gone" else "org/tiny", "--out", tmp_path / "truth", "--json")
    done = rooflight(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    codes = {"broken off": "header-size", "gated": "hub-refused", "gone": "hub-not-found"}
    assert json.loads(done.stderr)["error"]["code"] == codes[fault]
    assert not (tmp_path / "truth").exists()
    assert not (tmp_path / "cache").exists()


def test_offline(rooflight):
    done = rooflight("snapshot", "org/tiny", HF_HUB_OFFLINE="1")
    assert done.returncode == 1
    assert (
        done.stderr
        == """\
hub-unreachable at org/tiny
  expected  an answer from the hub
  got       HF_HUB_OFFLINE is set
  fix       check the network and HF_ENDPOINT, or download the checkpoint's headers elsewhere and pass the folder
"""
    )


def test_without_the_library(rooflight, tmp_path):
    (tmp_path / "blind" / "huggingface_hub").mkdir(parents=True)
    (tmp_path / "blind" / "huggingface_hub" / "__init__.py").write_text(
        "raise ModuleNotFoundError(name='huggingface_hub')\n", "utf-8"
    )
    done = rooflight("snapshot", "org/tiny", PYTHONPATH=f"{tmp_path / 'blind'}:{ROOT / 'engine'}")
    assert (
        done.stderr
        == """\
no-hub-library at rooflight snapshot
  expected  huggingface_hub
  got       huggingface_hub is not installed
  fix       pip install 'rooflight[hub]'
"""
    )


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "my tiny.v1"
    place.mkdir()
    for name, data in sharded().items():
        (place / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return place


def invoke(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_from_a_folder(folder, tmp_path):
    done = invoke("snapshot", folder, "--out", tmp_path / "truth", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["id"], report["strength"], report["revision"]) == ("local/my-tiny.v1", "local-headers", None)
    assert report["written"] is True
    assert report["by_dtype"] == {"BF16": 4, "F32": 1}
    assert read(Path(report["folder"])).provenance["id"] == "local/my-tiny.v1"


def test_a_dry_run_prints_what_it_would_write(folder, tmp_path):
    done = invoke("snapshot", folder, "--id", "org/tiny", "--out", tmp_path / "truth", "--dry-run")
    assert done.exit_code == 0
    assert not (tmp_path / "truth").exists()
    invoke("snapshot", folder, "--id", "org/tiny", "--out", tmp_path / "truth")
    written = tmp_path / "truth" / "org--tiny"
    assert done.stdout == "".join(f"== {written / name}\n{(written / name).read_text('utf-8')}" for name in FILES)


def test_replacing_keeps_what_only_people_know(folder, tmp_path):
    again = ("snapshot", folder, "--id", "org/tiny", "--out", tmp_path)
    assert invoke(*again).exit_code == 0
    path = tmp_path / "org--tiny" / "provenance.json"
    facts = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(facts | {"lab": "Lab", "released": "2026-01-01"}), "utf-8")
    assert "snapshot-exists at " in invoke(*again).stderr
    assert invoke(*again, "--replace").exit_code == 0
    facts = json.loads(path.read_text("utf-8"))
    assert (facts["lab"], facts["released"]) == ("Lab", "2026-01-01")


def test_warnings_go_to_standard_error(folder, tmp_path):
    index = json.loads((folder / "model.safetensors.index.json").read_text("utf-8"))
    index["metadata"]["total_size"] = 1
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    done = invoke("snapshot", folder, "--out", tmp_path / "truth")
    assert done.stderr == "warning the index declares total_size 1; the payload is 304 bytes\n"
    assert "total_size" not in done.stdout


@pytest.mark.parametrize("target", ["nothing", "a/b/c", "--b/c/", "", "x" * 5000, "a\0b", "org--x/name", "./none"])
def test_targets_that_are_none(target):
    done = invoke("snapshot", "--", target)
    assert done.exit_code == 1
    assert done.stderr.startswith("no-checkpoint at")


def test_a_target_that_is_none_by_its_whole_message():
    assert (
        invoke("snapshot", "nothing").stderr
        == """\
no-checkpoint at nothing
  expected  ORG/NAME as on the hub, or the path of a folder or safetensors file
  got       neither
  fix       check the path, or the spelling of ORG/NAME
"""
    )


def test_options_that_do_not_belong(folder):
    for arguments in ((folder, "--revision", "main"), ("org/tiny", "--id", "a/b"), ("org/tiny", "--revision", "")):
        assert invoke("snapshot", *arguments).exit_code == 2


def test_an_id_that_is_none(folder):
    assert invoke("snapshot", folder, "--id", "../x").stderr.startswith("no-checkpoint at ../x\n")


@pytest.mark.parametrize("content", ["[]", "5", "null", '{"lab": 7}'])
def test_replace_reads_what_people_wrote_or_refuses(folder, tmp_path, content):
    place = tmp_path / "truth" / "org--tiny"
    arguments = ("snapshot", folder, "--id", "org/tiny", "--out", tmp_path / "truth")
    assert invoke(*arguments).exit_code == 0
    (place / "provenance.json").write_text(content)
    done = invoke(*arguments, "--replace")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"bad-snapshot at {place}/provenance.json")
    assert (place / "provenance.json").read_text() == content


def test_replace_keeps_how_weights_are_stored(folder, tmp_path):
    arguments = ("snapshot", folder, "--id", "org/tiny", "--out", tmp_path / "truth")
    invoke(*arguments)
    beside = tmp_path / "truth" / "org--tiny" / "storage.yaml"
    beside.write_text("scheme: awq\n")
    assert invoke(*arguments, "--replace").exit_code == 0
    assert beside.read_text() == "scheme: awq\n"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_replace_removes_nothing_but_a_snapshot(folder, tmp_path, what):
    place = tmp_path / "truth" / "org--tiny"
    place.parent.mkdir()
    if what == "folder":
        place.mkdir()
        (place / "thesis.txt").touch()
    else:
        place.touch()
    done = invoke("snapshot", folder, "--id", "org/tiny", "--out", tmp_path / "truth", "--replace")
    assert done.exit_code == 1
    got = "thesis.txt in it" if what == "folder" else "no folder"
    assert done.stderr == (
        f"""\
snapshot-exists at {place}
  expected  a snapshot to replace: a folder of config.json, tensors.json, provenance.json, storage.yaml alone
  got       {got}
  fix       move it away, or pass --out for another folder
"""
    )
    assert place.exists()


@pytest.mark.parametrize("option", ["--out", "--id"])
def test_empty_options_are_no_wish_for_the_default(folder, option):
    done = invoke("snapshot", folder, option, "", "--dry-run")
    assert done.exit_code == 2
    assert "it is empty" in done.stderr
