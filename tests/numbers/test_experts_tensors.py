"""Names, shapes and counts of the tensors of models with experts, against the snapshots, tensor by tensor."""

import re
from collections import Counter
from itertools import product

import pytest

import rooflight
from oracles.material import checkpoints_of, elements, snapshot
from readings import EXPERTS, V3

MODELS = checkpoints_of(*EXPERTS)
QUANTISED = {model for model in MODELS if "quantization_config" in snapshot(model, "config")}
RANGES = re.compile(r"\{([\d,-]+)\}")


def numbers(words):
    for word in words.split(","):
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def spelt_out(name):
    """Every name that a pattern such as `layers.{0-2,5}.experts.{0-7}.w1` stands for."""
    pieces = RANGES.split(name)
    chosen = [list(numbers(words)) for words in pieces[1::2]]
    for indices in product(*chosen):
        yield "".join(text + str(index) for text, index in zip(pieces[::2], (*indices, ""), strict=True))


def each_tensor(rows, *, dtypes):
    """Every single tensor by its name. Raises where one is named twice or a count is not that of its names."""
    found = {}
    for row in rows:
        names = list(spelt_out(row["name"]))
        assert row["count"] == len(names), row["name"]
        assert not found.keys() & set(names), row["name"]
        found |= dict.fromkeys(names, (tuple(row["shape"]), row["dtype"] if dtypes else None))
    return found


def unpacked(row):
    """A row of MXFP4 blocks [experts, out, blocks, 16 bytes] as the tensor it packs, other rows as they are."""
    if not row["name"].endswith("_blocks"):
        return row
    experts, out, blocks, stored = row["shape"]
    logical = [experts, out, blocks * stored * 2]  # two values a byte
    return row | {"name": row["name"].removesuffix("_blocks"), "shape": logical}


def parameters(rows):
    """The rows of parameters, unpacked: what a checkpoint holds beside them is left out."""
    return [unpacked(row) for row in rows if row.get("role", "weight") == "weight"]


def stored_parameters(model, part=None):
    rows = snapshot(model, "tensors")["tensors"]
    return parameters([row for row in rows if part is None or row.get("part") == part])


def engine_parameters(model):
    return parameters(rooflight.tensors(model))


def test_spelling_out():
    assert list(spelt_out("norm")) == ["norm"]
    assert list(spelt_out("a.{0-1,3}.b.{7}")) == ["a.0.b.7", "a.1.b.7", "a.3.b.7"]


def test_the_quantised_ones():
    """FP8 and MXFP4 checkpoints are compared by what they pack; every other one by dtype, too."""
    assert {model.split("/")[1] for model in QUANTISED} == {
        "DeepSeek-V3", "DeepSeek-R1", "gpt-oss-20b", "gpt-oss-120b",
    }  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_every_tensor(model):
    dtypes = model not in QUANTISED
    truth = each_tensor(stored_parameters(model), dtypes=dtypes)
    assert each_tensor(engine_parameters(model), dtypes=dtypes) == truth


@pytest.mark.parametrize("model", MODELS)
def test_counts_by_shape(model):
    """The same from the rows alone: nothing depends on how names are spelt out."""

    def by_shape(rows):
        total = Counter()
        for row in rows:
            total[tuple(row["shape"])] += row["count"]
        return total

    assert by_shape(engine_parameters(model)) == by_shape(stored_parameters(model))


@pytest.mark.parametrize("model", MODELS)
def test_elements_are_the_parameters_and_the_drafts(model):
    held = sum(elements(row) for row in engine_parameters(model))
    found = rooflight.show(model)["params"]
    assert held == found["total"] + found["mtp"]


def test_draft_tensors_are_those_marked_as_draft():
    marked = each_tensor(stored_parameters(V3, "mtp"), dtypes=False)
    found = each_tensor(engine_parameters(V3), dtypes=False)
    assert set(marked) == {name for name in found if ".layers.61." in name}
    assert sum(elements(row) for row in stored_parameters(V3, "mtp")) == 13463426304


def test_one_row_per_kind_of_tensor():
    """Layers of the main model and of the drafts whose tensors are alike stand in one row."""
    names = [row["name"] for row in engine_parameters(V3)]
    assert "model.layers.{0-61}.self_attn.kv_b_proj.weight" in names
    assert "model.layers.{3-61}.mlp.experts.{0-255}.down_proj.weight" in names
    assert len(names) == len(set(names))
