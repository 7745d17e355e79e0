"""Which tensors are scales, packed, buffers, tied copies or draft layers: told by schemes, names and the config."""

from math import prod

import pytest

from rooflight.edge import front
from rooflight.truth import Row, assign_roles, kinds_that_make, totals, unclaimed_scales, weakest


def marked(config, *tensors):
    """(role, part, packing) of each tensor, by name."""
    rows = [Row(name, dtype, shape, 1, "hub-headers") for name, dtype, shape in tensors]
    found = assign_roles(rows, config, front.catalog(None).library.schemes)
    assert [row.name for row in found] == [name for name, _, _ in tensors]
    return {
        row.name: (row.role, row.part, row.packing) for row in found if (row.role, row.part, row.packing) != ("", "", 1)
    }


def quantized(**config):
    return {"quantization_config": config}


def test_block_scales():
    config = quantized(quant_method="fp8", weight_block_size=[128, 128])
    assert marked(
        config,
        ("l.0.up.weight", "F8_E4M3", (256, 128)),
        ("l.0.up.weight_scale_inv", "F32", (2, 1)),
        ("l.0.norm.weight", "BF16", (128,)),
    ) == {"l.0.up.weight_scale_inv": ("scale", "", 1)}


def test_packed_words():
    config = quantized(quant_method="awq", bits=4, group_size=128)
    found = marked(
        config,
        ("up.qweight", "I32", (128, 32)),
        ("up.qzeros", "I32", (1, 32)),
        ("up.scales", "F16", (1, 256)),
    )
    assert found == {"up.qweight": ("", "", 8), "up.qzeros": ("scale", "", 1), "up.scales": ("scale", "", 1)}


def test_the_order_of_inputs_is_a_buffer():
    found = marked(
        quantized(quant_method="gptq", bits=4, group_size=128),
        ("up.qweight", "I32", (16, 256)),
        ("up.qzeros", "I32", (1, 32)),
        ("up.scales", "F16", (1, 256)),
        ("up.g_idx", "I32", (128,)),
    )
    assert found["up.g_idx"] == ("buffer", "", 1)
    assert found["up.qweight"] == ("", "", 8)


def test_a_norm_called_scale_stays_a_norm():
    config = quantized(quant_method="fp8", weight_block_size=[128, 128])
    assert marked(config, ("norm.scale", "F32", (128,)), ("up.weight", "F8_E4M3", (256, 128))) == {}


@pytest.mark.parametrize(
    ("name", "dtype", "called"),
    [
        ("up.weight_scale", "F32", True),
        ("up.weight_scale_inv", "F32", True),
        ("up.weight_global_scale", "F32", True),
        ("up.scales", "F16", True),
        ("experts.down_proj_scales", "BF16", True),
        ("up.scale", "F8_E8M0", True),
        ("norm.scale", "F32", False),
        ("layers.0.hc_attn_scale", "F32", False),
        ("up.weight", "BF16", False),
    ],
)
def test_scales_that_no_scheme_answers_for(name, dtype, called):
    assert unclaimed_scales([Row(name, dtype, (4,), 1, "hub-headers")]) == ((name,) if called else ())
    assert unclaimed_scales([Row(name, dtype, (4,), 1, "hub-headers", role="scale")]) == ()


def test_without_a_quantization_nothing_is_packed():
    assert marked({}, ("up.weight", "U8", (4, 4)), ("up.weight_scale", "F32", ())) == {"up.weight": ("buffer", "", 1)}


@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    [
        ("embeddings.position_ids", "I64", (1, 512)),
        ("layers.0.self_attn.rotary_emb.inv_freq", "F32", (64,)),
        ("h.0.attn.bias", "F32", (1, 1, 1024, 1024)),
        ("h.0.attn.masked_bias", "F32", ()),
        ("bn.num_batches_tracked", "I64", ()),
    ],
)
def test_buffers(name, dtype, shape):
    assert marked({}, (name, dtype, shape)) == {name: ("buffer", "", 1)}


def test_a_bias_of_attention_is_none():
    assert marked({}, ("h.0.attn.c_attn.bias", "F32", (2304,))) == {}


HEAD = ("lm_head.weight", "BF16", (10, 4))
TABLE = ("model.embed_tokens.weight", "BF16", (10, 4))


@pytest.mark.parametrize(
    ("config", "tensors", "tied"),
    [
        ({"tie_word_embeddings": True}, [HEAD, TABLE], True),
        ({"tie_word_embeddings": False}, [HEAD, TABLE], False),
        ({}, [HEAD, TABLE], False),
        ({"tie_word_embeddings": True}, [HEAD], False),
        ({"tie_word_embeddings": True}, [HEAD, ("model.embed_tokens.weight", "BF16", (10, 8))], False),
    ],
)
def test_tied_copies(config, tensors, tied):
    assert marked(config, *tensors) == ({"lm_head.weight": ("tied copy", "", 1)} if tied else {})


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("model.layers.2.enorm.weight", True),
        ("model.layers.1.mlp.weight", False),
        ("layers.2.w", True),
        ("model.language_model.layers.2.w", True),
        ("mtp.layers.0.w", True),
        ("model.mtp.fc.weight", True),
        ("vision_tower.encoder.layers.26.w", False),
        ("model.visual.layers.5.w", False),
        ("smtp.w", False),
    ],
)
def test_draft_layers(name, draft):
    assert marked({"num_hidden_layers": 2}, (name, "BF16", (4,))) == ({name: ("", "mtp", 1)} if draft else {})


def test_totals_and_what_makes_a_published_one():
    rows = [
        Row("w.{0-1}", "U8", (4, 2), 2, "hub-headers", packing=2),
        Row("s", "F32", (3,), 1, "inferred", role="scale"),
        Row("m", "BF16", (5,), 1, "audited", part="mtp"),
        Row("b", "I64", (7,), 1, "rule", role="buffer"),
    ]
    assert totals(rows) == {
        "tensors": 5, "elements": 16 + 3 + 5 + 7, "bytes": 16 + 12 + 10 + 56, "parameters": 32, "mtp": 5,
        "extras": {"buffer": 7, "scale": 3},
    }  # fmt: skip
    assert prod(rows[0].shape) * rows[0].copies == rows[0].elements
    assert weakest(rows) == "audited"
    assert kinds_that_make(32, rows) == ("parameter",)
    assert kinds_that_make(32 + 5 + 3, rows) == ("parameter", "mtp", "scale")
    assert kinds_that_make(33, rows) is None
