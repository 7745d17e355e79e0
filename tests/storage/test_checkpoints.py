"""Whole checkpoints: payload, tensors and their dtypes against header audits; public faults about packed weights."""

from collections import Counter
from math import prod

import pytest

from oracles.material import cases, fault, snapshot
from rooflight import api, show
from rooflight.derive.storage import stored_tensors
from rooflight.edge.front import catalog, load
from rooflight.spec import bind
from rooflight.spec.quant import scheme_numbers
from rooflight.spec.storage import format_from
from rooflight.truth import Row, collapse, expand
from rooflight.values import BITS

AUDITED = ("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1")
V2_LITE = "deepseek-ai/DeepSeek-V2-Lite"
GPT_OSS = ("openai/gpt-oss-20b", "openai/gpt-oss-120b")


def rows(target):
    bound = load(target)
    return api.tensor_rows(bound, api.reading(bound, drafts=True).numbers)


def by_dtype(found):
    return dict(sum((Counter({row.dtype: row.copies}) for row in found), Counter()))


@pytest.mark.parametrize("target", AUDITED)
def test_audited_checkpoints(target):
    """The figures of a public audit of the files' headers, written out."""
    found = rows(target)
    assert sum(row.bytes for row in found) == 688_574_839_360
    assert sum(row.copies for row in found) == 91_991
    assert by_dtype(found) == {"BF16": 316, "F8_E4M3": 45_808, "F32": 45_867}


@pytest.mark.parametrize(("target", "payload"), [(GPT_OSS[0], 13_761_264_768), (GPT_OSS[1], 65_248_815_744)])
def test_packed_experts(target, payload):
    found = rows(target)
    assert sum(row.bytes for row in found) == payload == snapshot(target, "tensors")["totals"]["bytes"]
    layers = {GPT_OSS[0]: 24, GPT_OSS[1]: 36}[target]
    # Each layer: 2 norms, 4 projections with biases, sinks, a router with a bias, 2 packed matrices with biases.
    assert sum(row.copies for row in found) == 3 + layers * 19
    assert by_dtype(found) == {"BF16": 3 + layers * 15, "U8": layers * 4}


@pytest.mark.parametrize("target", [*AUDITED, *GPT_OSS])
def test_rows_are_those_of_the_snapshot(target):
    theirs = {row["name"]: (row["dtype"], row["shape"], row["count"]) for row in snapshot(target, "tensors")["tensors"]}
    mine = {row.name: (row.dtype, list(row.shape), row.copies) for row in rows(target)}

    # The project writes a pattern per node and layer stack; snapshots one per product of ranges.
    def full(found):
        listed = tuple(Row(name, dtype, tuple(shape), count, "rule") for name, (dtype, shape, count) in found.items())
        return collapse(expand(listed, target), target)

    assert full(mine) == full(theirs)


@pytest.mark.parametrize("target", [*AUDITED, *GPT_OSS])
def test_values_behind_packed_elements(target):
    """Scales apart, the values that stored elements hold are the parameters, draft layers included."""
    totals = snapshot(target, "tensors")["totals"]
    params = show(target)["params"]
    assert params["total"] == totals["parameters"]
    assert params["mtp"] == totals.get("mtp", 0)


def one(scheme, axes, quantization=None, dtype="BF16"):
    """(dtype, shape, role) of what a scheme stores for one matrix."""
    record = catalog().library.schemes[scheme]
    made = format_from(record, scheme_numbers(record, quantization or {}, "here"))
    found = stored_tensors(made, axes, tuple(axes.values()), dtype)
    return {tensor.suffix: (tensor.dtype, tensor.shape, tensor.role) for tensor in found}


def size(tensor):
    dtype, shape, _ = tensor
    return prod(shape) * BITS[dtype] // 8


def fp8_scale_ceil(given):
    out, inner = given["shape"]
    found = one("fp8_block", {"out": out, "in": inner}, {"weight_block_size": given["block"]})
    return {
        "scale_shape": list(found[".weight_scale_inv"][1]),
        "weight_bytes": size(found[".weight"]),
        "scale_bytes": size(found[".weight_scale_inv"]),
        "total_bytes": sum(map(size, found.values())),
    }


def nvfp4_packed_shape(given):
    out, inner = given["shape"]
    found = one("modelopt_nvfp4", {"out": out, "in": inner})
    assert list(found[".weight"][1]) == given["stored"]
    assert size(found[".weight_scale_2"]) + size(found[".input_scale"]) == given["extra_scale_bytes"]
    return {
        "params": out * inner,
        "weight_bytes": size(found[".weight"]),
        "scale_bytes": size(found[".weight_scale"]),
        "total_bytes": sum(map(size, found.values())),
    }


def gptq_packed_params(given):
    """The case knows scales in two bytes and neither zero points nor an order: compressed-tensors' symmetric INT4."""
    group = {"weights": {"num_bits": 4, "strategy": "group", "group_size": given["group"], "symmetric": True}}
    form = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": group}}
    config = snapshot(given["model"], "config") | {"quantization_config": form | {"ignore": ["lm_head"]}}
    bound = bind(catalog().library, config, "config.json", given["model"])
    found = api.tensor_rows(bound, api.reading(bound).numbers)
    packed = [row for row in found if row.name.endswith("weight_packed")]
    scales = [row for row in found if row.name.endswith("weight_scale")]
    shapes = [row for row in found if row.name.endswith("weight_shape")]
    assert all(row.dtype == "I32" for row in packed)
    elements = sum(prod(row.shape) * row.copies for row in packed)
    others = sum(prod(row.shape) * row.copies for row in found if row not in (*packed, *scales, *shapes))
    return {
        "params": show(bound)["params"]["total"],
        "packed_elements": elements,
        "elements_if_not_unpacked": elements + others,
        "weight_bytes": sum(row.bytes for row in packed),
        "scale_bytes": sum(row.bytes for row in scales),
        "total_bytes": sum(row.bytes for row in found if row not in shapes),
    }


def mxfp4_checkpoint_bytes(given):
    found = rows(given["model"])
    blocks = [row for row in found if row.name.endswith("_blocks")]
    scales = [row for row in found if row.name.endswith("_scales")]
    return {
        "params": show(given["model"])["params"]["total"],
        "expert_params": sum(2 * prod(row.shape) * row.copies for row in blocks),
        "block_bytes": sum(row.bytes for row in blocks),
        "scale_bytes": sum(row.bytes for row in scales),
        "other_bytes": sum(row.bytes for row in found if row not in (*blocks, *scales)),
        "checkpoint_bytes": sum(row.bytes for row in found),
    }


ANSWERS = {
    "fp8-scale-ceil": fp8_scale_ceil,
    "nvfp4-packed-shape": nvfp4_packed_shape,
    "gptq-packed-params": gptq_packed_params,
    "mxfp4-checkpoint-bytes": mxfp4_checkpoint_bytes,
}


@pytest.mark.parametrize("case_id", ANSWERS)
def test_public_fault(case_id):
    given, expected = fault(case_id)
    assert ANSWERS[case_id](given) == expected


def test_every_case_about_stored_bytes_is_answered():
    wanted = {
        case["id"]
        for case in cases("public_faults.yaml")
        if case["kind"] == "quant-bytes" or (case["kind"] == "params" and "quantised" in case["needs"])
    }
    assert wanted == set(ANSWERS)


def test_the_latent_projection_of_a_whole_model():
    """fp8-scale-ceil inside a checkpoint: 576 rows are four and a half blocks."""
    config = snapshot(V2_LITE, "config") | {
        "quantization_config": snapshot(AUDITED[0], "config")["quantization_config"]
    }
    bound = bind(catalog().library, config, "config.json", V2_LITE)
    found = {row.name: row for row in api.tensor_rows(bound, api.reading(bound).numbers)}
    assert found["model.layers.{0-26}.self_attn.kv_a_proj_with_mqa.weight_scale_inv"].shape == (5, 16)
