"""Layers of one node that differ in format: exact totals, whichever layers a list names."""

from fractions import Fraction
from math import prod

import pytest
from storage_models import experts, llama, model, stored

import rooflight
from rooflight import api
from rooflight.derive import stored_bytes
from rooflight.values import BITS

FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
LAYERS = 11


def deep(listed, **more):
    return llama(num_hidden_layers=LAYERS, quantization_config=FP8 | {"modules_to_not_convert": listed}, **more)


def by_hand(listed_layers):
    """Bytes of every weight: layers listed in BF16, the other layers in FP8 with a scale per 128 × 128."""
    shapes = [(512, 512), (256, 512), (256, 512), (512, 512), (1408, 512), (1408, 512), (512, 1408)]
    plain = sum(2 * a * b for a, b in shapes)
    packed = sum(a * b + 4 * (-(-a // 128)) * (-(-b // 128)) for a, b in shapes)
    outside = 2 * (2 * 1000 * 512 + 512 + LAYERS * 2 * 512)
    return outside + listed_layers * plain + (LAYERS - listed_layers) * packed


@pytest.mark.parametrize("layers", [(), (3,), (0, 6), (0, 1, 2), (1, 3, 5), tuple(range(LAYERS))])
def test_totals_are_exact(layers):
    config = deep([f"model.layers.{i}" for i in layers])
    assert api.quantity(model(config), "weights.bytes").value == by_hand(len(layers))
    assert sum(row.bytes for row in api.tensor_rows(model(config), api.reading(model(config)).numbers)) == by_hand(
        len(layers)
    )


def test_patterns_say_which_layers():
    tensors = stored(deep(["model.layers.0.mlp.up_proj", "model.layers.4.mlp.up_proj"]))
    assert {n: f for n, f in tensors.items() if "up_proj" in n} == {
        "model.layers.{0,4}.mlp.up_proj.weight": ("BF16", 1408, 512),
        "model.layers.{1-3,5-10}.mlp.up_proj.weight": ("F8_E4M3", 1408, 512),
        "model.layers.{1-3,5-10}.mlp.up_proj.weight_scale_inv": ("F32", 11, 4),
    }


def test_formula_is_number():
    bound = model(deep(["model.layers.2"]))
    explained = api.explain(bound, "weights.bytes")
    assert explained["value"] == by_hand(1)


def test_an_average_that_is_no_whole_number_sums_to_one():
    """One layer of eleven differs, so a layer's average is a fraction; eleven of them are whole again."""
    bound = model(deep(["model.layers.2"]))
    facts = api.reading(bound).numbers
    averages = [value for value in stored_bytes(facts) if isinstance(value, Fraction)]
    assert averages
    assert all((value * LAYERS).denominator == 1 for value in averages)


def test_weights_read_follow_the_layers():
    """A prompt reads every matrix once, at the width each layer has."""
    mixed = rooflight.cost(model(deep(["model.layers.2"])), context=8)
    plain, packed = (rooflight.cost(model(c), context=8) for c in (llama(num_hidden_layers=LAYERS), deep([])))
    each = {
        k: next(n["weight_bytes"] for n in a["nodes"] if n["id"] == "layers.ffn.up_proj")
        for k, a in (("mixed", mixed), ("plain", plain), ("packed", packed))
    }
    assert LAYERS * each["mixed"] == (LAYERS - 1) * each["packed"] + each["plain"]


def test_a_block_schedule_beside_the_list():
    """Layers that alternate between two blocks, of which the list names one."""
    kinds = ["sliding_attention", "full_attention"] * 2
    config = experts(
        num_hidden_layers=4,
        layer_types=kinds,
        sliding_window=8,
        quantization_config=FP8 | {"modules_to_not_convert": ["model.layers.2.self_attn"]},
    )
    tensors = stored(config)
    assert {n: f for n, f in tensors.items() if "k_proj.weight" in n and "scale" not in n} == {
        "model.layers.{0-1,3}.self_attn.k_proj.weight": ("F8_E4M3", 32, 64),
        "model.layers.2.self_attn.k_proj.weight": ("BF16", 32, 64),
    }
    rows = api.tensor_rows(model(config), api.reading(model(config)).numbers)
    total = sum(prod(row.shape) * row.copies * BITS[row.dtype] // 8 for row in rows)
    assert api.quantity(model(config), "weights.bytes").value == total
