"""Names, shapes, dtypes and counts of stored tensors, against the snapshots and against real index files."""

import pytest

import rooflight
from oracles.material import cases, checkpoints_of, elements, snapshot
from readings import DENSE, stored

WIDTH = {"F32": 4, "F16": 2, "BF16": 2}
INDICES = cases("index_names.yaml")


@pytest.mark.parametrize("model", checkpoints_of(*DENSE))
def test_parameters_as_stored(model):
    rows = [row for row in snapshot(model, "tensors")["tensors"] if row.get("role", "scale") == "scale"]
    assert stored(model) == {row["name"]: (row["shape"], row["dtype"], row["count"]) for row in rows}


def parameters(index):
    """Its names without buffers and quantisation companions."""
    extra = tuple(index.get("extra", ()))
    return {name: count for name, count in index["names"].items() if not (extra and name.endswith(extra))}


@pytest.mark.parametrize("index", INDICES, ids=lambda index: index["id"])
def test_names_of_a_real_index(index):
    found = {name: count for name, (_, _, count) in stored(index["config"]).items()}
    assert found == parameters(index)
    assert sum(index["names"].values()) == index["tensors"]


@pytest.mark.parametrize(
    ("index", "buffer_bytes"),
    [
        pytest.param(index, 32 * 64 * 4 if index["id"] == "kailas-m--llama" else 0, id=index["id"])
        for index in INDICES
        if "quantization_config" not in index["config"]
    ],
)
def test_bytes_of_a_real_index(index, buffer_bytes):
    held = sum(elements(row) * WIDTH[row["dtype"]] for row in rooflight.tensors(index["config"]))
    assert held + buffer_bytes == index["total_size"]


@pytest.mark.parametrize("index", INDICES, ids=lambda index: index["id"])
def test_elements_are_the_parameters(index):
    held = sum(elements(row) for row in rooflight.tensors(index["config"]))
    assert held == rooflight.show(index["config"])["params"]["total"]
