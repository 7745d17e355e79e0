"""Every scheme: names, dtypes, shapes and bytes of what stands in place of one matrix, against a table made by hand."""

from math import prod

import pytest
from storage_models import experts, llama, model, stored, table

import rooflight
from rooflight import api
from rooflight.derive import TensorRow
from rooflight.derive.storage import copy_bytes
from rooflight.values import BITS

CASES = [pytest.param(case, id=case["id"]) for case in table()]
KEY = "model.layers.{0-1}.self_attn.k_proj"
STACK = "model.layers.0.mlp.experts.gate_up_proj"


def beside(case):
    return {"scheme": case["scheme"]} if case.get("named") else None


def written(suffixes, module):
    """The table's suffixes as full names; ^ is the parent of the module."""
    return {
        (module.rpartition(".")[0] + suffix[1:] if suffix.startswith("^") else module + suffix): tuple(facts)
        for suffix, facts in suffixes.items()
    }


def of(tensors, module):
    """The tensors of one module, and those its parent has on its own."""
    parent = module.rpartition(".")[0]
    own = {n: f for n, f in tensors.items() if n.startswith((f"{module}.", f"{module}_")) and not n.endswith("bias")}
    scales = {n: f for n, f in tensors.items() if n == f"{parent}.k_scale"}
    return own | scales


@pytest.mark.parametrize("case", CASES)
def test_what_a_matrix_becomes(case):
    config = llama(quantization_config=case["config"])
    bound = model(config, beside(case))
    assert bound.storage.refused is None
    assert bound.storage.format.name == case["scheme"]
    assert of(stored(config, beside(case)), KEY) == written(case["linear"], KEY)


@pytest.mark.parametrize("case", CASES)
def test_bytes_of_a_matrix(case):
    bound = model(llama(quantization_config=case["config"]), beside(case))
    facts = api.reading(bound).numbers
    index = [step.node.id for step in facts.program.steps].index("layers.attention.k_proj")
    listed = sum(prod(shape) * BITS[dtype] // 8 for dtype, *shape in case["linear"].values())
    assert copy_bytes(facts, index) == case["linear_bytes"] == listed


@pytest.mark.parametrize("case", [case for case in CASES if "experts" in case.values[0]])
def test_what_stacked_experts_become(case):
    config = experts(quantization_config=case["config"])
    assert of(stored(config, beside(case)), STACK) == written(case["experts"], STACK)


def test_every_scheme_is_in_the_table(schemes):
    assert {case["scheme"] for case in table()} == set(schemes)
    assert {case["scheme"] for case in table() if "experts" in case} == set(schemes)


@pytest.mark.parametrize("case", CASES)
def test_formula_is_number(case):
    """The bytes of all weights as a formula, evaluated, are the sum over the tensors the checkpoint holds."""
    for config in (llama(quantization_config=case["config"]), experts(quantization_config=case["config"])):
        bound = model(config, beside(case))
        figure = api.quantity(bound, "weights.bytes")
        assert api.explain(bound, "weights.bytes")["value"] == figure.value
        rows = api.tensor_rows(bound, api.reading(bound).numbers)
        # A cache scale stands beside its module; everything else is a weight's.
        assert figure.value == sum(row.bytes for row in rows)


@pytest.mark.parametrize("case", CASES)
def test_nothing_else_changes(case):
    """Embedding, norms, router, biases and head stay in the checkpoint's own dtype, under every scheme."""
    for config in (llama(), experts()):
        plain = stored(config)
        packed = stored(config | {"quantization_config": case["config"]}, beside(case))
        # No scheme stores a matrix under a bare name in BF16: what is BF16 and has its plain shape was left alone.
        kept = {name for name in plain if packed.get(name) == plain[name]}
        changed = set(plain) - kept
        assert all(".self_attn." in name or ".mlp." in name for name in changed)
        assert not any("router" in name or name.endswith(("bias", "sinks", "norm.weight")) for name in changed)
        assert {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"} <= kept


@pytest.mark.parametrize("case", CASES)
def test_parameters_do_not_follow_the_storage(case):
    plain, packed = model(llama()), model(llama(quantization_config=case["config"]), beside(case))
    assert rooflight.show(packed)["params"] == rooflight.show(plain)["params"]


def test_a_width_that_is_no_multiple_of_the_block():
    """1408 = 11 · 128, but 1400 has a last block of 120: its scale is stored too."""
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
    tensors = stored(llama(intermediate_size=1400, quantization_config=fp8))
    assert tensors["model.layers.{0-1}.mlp.down_proj.weight_scale_inv"] == ("F32", 4, 11)
    assert tensors["model.layers.{0-1}.mlp.gate_proj.weight_scale_inv"] == ("F32", 11, 4)


@pytest.mark.parametrize(
    ("dtype", "name", "width"), [("float16", "F16", 2), ("bfloat16", "BF16", 2), ("float32", "F32", 4)]
)
def test_plain_checkpoints(dtype, name, width):
    tensors = stored(llama(dtype=dtype))
    assert {facts[0] for facts in tensors.values()} == {name}
    assert (
        api.quantity(model(llama(dtype=dtype)), "weights.bytes").value
        == width * rooflight.show(llama())["params"]["total"]
    )


def test_scales_follow_the_dtype_of_the_checkpoint():
    config = next(case["config"] for case in table() if case["id"] == "ct_fp8_channel")
    tensors = stored(llama(dtype="float16", quantization_config=config))
    assert tensors[f"{KEY}.weight_scale"] == ("F16", 256, 1)


def test_bytes_of_a_row_are_whole():
    assert TensorRow("a", (3, 5), "F8_E4M3", 4, "n").bytes == 60


@pytest.mark.parametrize("case", CASES)
def test_a_file_holds_no_fractions(case):
    """Widths that no word or block divides: the last one is not full, and is stored all the same."""
    tensors = stored(llama(intermediate_size=1401, quantization_config=case["config"]), beside(case))
    assert all(type(axis) is int for _, *shape in tensors.values() for axis in shape)
