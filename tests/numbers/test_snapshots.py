"""Every folder of specs/truth is well formed, adds up, and explains its published total."""

import json
import re
from collections import Counter

import pytest
from jsonschema import Draft202012Validator

from oracles.material import TRUTH, checkpoints, elements, snapshot

WIDTH = {"I64": 8, "F32": 4, "I32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "F8_E8M0": 1, "U8": 1, "I8": 1}
PARTS = ("config", "tensors", "provenance")
STRENGTHS = ("hub-headers", "audited", "local-headers", "meta-device", "rule", "inferred")


def kind(row):
    return row.get("role") or ("mtp" if row.get("part") else "parameter")


def values(rows):
    """How many values each kind of row holds, packed ones unpacked."""
    total = Counter()
    for row in rows:
        total[kind(row)] += elements(row) * row.get("packing", 1)
    return total


def test_there_are_snapshots_and_nothing_else():
    folders = {path.name for path in TRUTH.iterdir() if path.is_dir()} - {"schema"}
    assert folders == {model.replace("/", "--") for model in checkpoints()}
    assert len(folders) >= 19


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("model", checkpoints())
def test_schema(model, part):
    schema = json.loads((TRUTH / "schema" / f"{part}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(snapshot(model, part))]
    assert errors == []


def test_schema_refuses_run_time_keys():
    schema = json.loads((TRUTH / "schema" / "config.schema.json").read_text(encoding="utf-8"))
    good = snapshot("openai-community/gpt2", "config")
    for key in ("torch_dtype", "eos_token_id", "attention_dropout", "transformers_version", "text_config"):
        assert not Draft202012Validator(schema).is_valid(good | {key: 1})


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("model", checkpoints())
def test_keys_are_sorted(model, part):
    def hook(pairs):
        keys = [key for key, _ in pairs]
        assert keys == sorted(keys)
        assert len(keys) == len(set(keys))
        return dict(pairs)

    text = (TRUTH / model.replace("/", "--") / f"{part}.json").read_text(encoding="utf-8")
    json.loads(text, object_pairs_hook=hook)
    assert text.endswith("}\n")


@pytest.mark.parametrize("model", checkpoints())
def test_totals_are_sums_of_the_rows(model):
    rows, totals = (snapshot(model, "tensors")[key] for key in ("tensors", "totals"))
    held = values(rows)
    expected = {
        "tensors": sum(row["count"] for row in rows),
        "elements": sum(elements(row) for row in rows),
        "bytes": sum(elements(row) * WIDTH[row["dtype"]] for row in rows),
        "parameters": held["parameter"],
        "extras": {role: held[role] for role in ("buffer", "scale", "tied copy") if held[role]},
    }
    if held["mtp"]:
        expected["mtp"] = held["mtp"]
    assert totals == expected


@pytest.mark.parametrize("model", checkpoints())
def test_counts_follow_from_the_names(model):
    rows = snapshot(model, "tensors")["tensors"]
    assert [row["name"] for row in rows] == sorted({row["name"] for row in rows})
    for row in rows:
        named = 1
        for runs in re.findall(r"\{([^}]*)\}", row["name"]):
            numbers = []
            for run in runs.split(","):
                first, _, last = run.partition("-")
                numbers += range(int(first), int(last or first) + 1)
            assert numbers == sorted(set(numbers))
            assert len(numbers) > 1
            named *= len(numbers)
        assert row["count"] == named, row["name"]


@pytest.mark.parametrize("model", checkpoints())
def test_published_total_is_itemised(model):
    provenance, held = snapshot(model, "provenance"), values(snapshot(model, "tensors")["tensors"])
    assert provenance["id"] == model
    if provenance["published_total"] is None:
        assert provenance["published_total_counts"] is provenance["published_total_source"] is None
        return
    rows = {row["name"]: elements(row) for row in snapshot(model, "tensors")["tensors"]}
    aside = sum(rows[name] for name in provenance.get("published_total_leaves_out", ()))
    assert sum(held[item] for item in provenance["published_total_counts"]) - aside == provenance["published_total"]
    assert all(held[item] for item in provenance["published_total_counts"])


@pytest.mark.parametrize("model", checkpoints())
def test_strength_is_the_weakest_of_the_parameters(model):
    rows = [row for row in snapshot(model, "tensors")["tensors"] if "role" not in row]
    weakest = max((row["strength"] for row in rows), key=STRENGTHS.index)
    assert snapshot(model, "provenance")["strength"] == weakest


AUDITED = {"BF16": 316, "F8_E4M3": 45808, "F32": 45867}


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1"])
def test_audited_headers(model):
    """Figures of a public audit of the files' headers."""
    rows, totals = (snapshot(model, "tensors")[key] for key in ("tensors", "totals"))
    by_dtype = Counter()
    for row in rows:
        by_dtype[row["dtype"]] += row["count"]
    assert by_dtype == AUDITED
    assert (totals["tensors"], totals["bytes"]) == (91991, 688574839360)


@pytest.mark.parametrize(
    ("model", "total"),
    [
        pytest.param("meta-llama/Llama-2-7b-hf", 6738417664, id="rotary-buffers"),
        pytest.param("openai-community/gpt2", 137022720, id="masks"),
        pytest.param("openai-community/gpt2-medium", 379988992, id="masks-medium"),
        pytest.param("openai-community/gpt2-large", 811778816, id="masks-large"),
        pytest.param("Qwen/Qwen3-0.6B", 751632384, id="stored-tied-head"),
    ],
)
def test_stored_elements_equal_the_published_total(model, total):
    assert snapshot(model, "tensors")["totals"]["elements"] == total == snapshot(model, "provenance")["published_total"]


def test_payload_of_gpt_oss_120b():
    assert snapshot("openai/gpt-oss-120b", "tensors")["totals"]["bytes"] == 65248815744
