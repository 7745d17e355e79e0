"""In which format a product runs, and what falls back with it."""

import pytest

from cost.machines import chip
from plans.deployed import GPT2, GPT_OSS, LLAMA, QWEN, V3, model
from rooflight import api
from rooflight.edge.front import load
from rooflight.edge.machines import open_gpu
from rooflight.layout import Plan
from rooflight.pricing import deployed_precision, rates, runs_in, wider
from rooflight.spec import Precision
from rooflight.values import SpecError

BF16, F16, F8 = ("BF16", 1e15), ("F16", 1e15), ("F8_E4M3", 2e15)
NARROW = Precision("narrow", "Everything in FP8.", "fp8_block", "F8_E4M3", None)


def step_on(name, gpu, precision, plan=None, phase="decode"):
    return api.timed(model(name), api.step_size(model(name), phase, batch=4, precision=precision), plan or Plan(), gpu)


def ran(timed):
    """(operand formats, format the product runs in) of every kernel with a product."""
    return {(line.work.operands, line.work.runs_in) for line in timed.lines if line.work and line.work.operands}


@pytest.mark.parametrize(
    ("matmul", "wanted", "sixteen", "found"),
    [
        ([BF16, F8], "F8_E4M3", "BF16", "F8_E4M3"),
        ([BF16, F8], "F8_E5M2", "BF16", "F8_E4M3"),
        ([BF16], "F8_E4M3", "BF16", "BF16"),
        ([F16], "F8_E4M3", "BF16", "F16"),
        ([BF16, F16], "F8_E4M3", "F16", "F16"),
        ([BF16], "F16", "F16", "BF16"),
        ([F16], "BF16", "BF16", "F16"),
        ([BF16, F16], "F16", "F16", "F16"),
        ([BF16, F8], "F4_E2M1", "BF16", "BF16"),
        ([BF16], "I4", "BF16", "BF16"),
        ([BF16], "F32", "BF16", "F32"),
        ([BF16, ("F32", 5e14)], "F32", "BF16", "F32"),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(form for form, _ in value),
)
def test_the_format_a_product_runs_in(matmul, wanted, sixteen, found):
    assert runs_in(chip(matmul), wanted, sixteen) == found


def test_without_a_vector_rate_f32_runs_in_sixteen_bits():
    assert runs_in(chip([BF16], vector=None), "F32", "F16") == "BF16"


@pytest.mark.parametrize(
    ("matmul", "got"), [([], "no rate"), ([("I8", 1e15), ("F32", 1e14)], "one of I8, F32")], ids=["none", "others"]
)
def test_no_rate_is_an_error(matmul, got):
    with pytest.raises(SpecError) as caught:
        runs_in(chip(matmul), "F8_E4M3", "F16")
    assert str(caught.value) == (
        "missing-fact at gpu Made up\n"
        "  expected  the rate of matrix products in F8_E4M3 or BF16, in FLOP/s\n"
        f"  got       {got}\n"
        "  fix       add it under matmul, with its source"
    )


@pytest.mark.parametrize(
    ("formats", "found"),
    [
        (("I4", "BF16"), "BF16"),
        (("BF16", "I4"), "BF16"),
        (("F4_E2M1", "F8_E4M3"), "F8_E4M3"),
        (("F8_E4M3", "F4_E2M1"), "F8_E4M3"),
        (("BF16", "F16"), "F16"),
        (("F32", "BF16"), "F32"),
        (("F4_E2M1", "F4_E2M1"), "F4_E2M1"),
    ],
    ids=str,
)
def test_a_product_runs_in_its_wider_format(formats, found):
    assert wider(formats) == found


@pytest.mark.parametrize(
    ("name", "precision", "gpu", "found"),
    [
        (V3, "factory", "h100", (("F8_E4M3", "F8_E4M3"), "F8_E4M3")),
        (V3, "factory", "a100-80g", (("F8_E4M3", "F8_E4M3"), "BF16")),
        (LLAMA, "int4", "h100", (("I4", "BF16"), "BF16")),
        (LLAMA, "int4", "a100-80g", (("I4", "BF16"), "BF16")),
        (LLAMA, "nvfp4", "b200", (("F4_E2M1", "F4_E2M1"), "F4_E2M1")),
        (LLAMA, "nvfp4", "h100", (("F4_E2M1", "F4_E2M1"), "BF16")),
        (GPT_OSS, "factory", "b200", (("F4_E2M1", "BF16"), "BF16")),
    ],
)
def test_weights_of_models_on_gpus(name, precision, gpu, found):
    """What is not in the profile's format stays in the checkpoint's 16 bits."""
    assert ran(step_on(name, open_gpu(gpu), precision)) == {found, (("BF16", "BF16"), "BF16")}


def test_weights_in_four_bits_and_inputs_in_eight():
    """F4 × F8 runs at the F8 rate where there is one, and in 16 bits where not, whatever the F4 rate."""
    mixed = Precision("w4a8", "", "modelopt_nvfp4", None, None, "F8_E4M3")
    four = ("F4_E2M1", 4e15)
    for matmul, form in (([BF16, F8, four], "F8_E4M3"), ([BF16, four], "BF16"), ([BF16, F8], "F8_E4M3")):
        assert (("F4_E2M1", "F8_E4M3"), form) in ran(step_on(LLAMA, chip(matmul), mixed))


def test_f32_runs_on_the_vector_units():
    """GPT-2 is published in F32: its products take the vector rate, unless the matrix units have one for F32."""
    slow, quick = chip([BF16], memory_bandwidth=1e18), chip([BF16, ("F32", 1e15)], memory_bandwidth=1e18)
    for gpu, rate in ((slow, 1e14), (quick, 1e15)):
        timed = step_on(GPT2, gpu, "factory")
        assert ran(timed) == {(("F32", "F32"), "F32")}
        work = next(line for line in timed.lines if line.id == "h.ffn.c_proj")
        flops, other = float(work.work.matmul_flops), float(work.work.other)
        alone = other / 1e14  # what no matrix unit can do shares the vector units with products they lack
        expected = max(flops / rate, alone) if rate > 1e14 else flops / rate + alone
        assert work.spent.compute == pytest.approx(expected)


def test_layers_of_several_formats_share_their_flops_out():
    """Three of four layers in FP8 and one in BF16: three quarters of the FLOPs at the FP8 rate, one at half of it."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 4,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "intermediate_size": 1408,
        "vocab_size": 1000,
        "hidden_act": "silu",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "torch_dtype": "bfloat16",
        "quantization_config": {
            "quant_method": "fp8",
            "weight_block_size": [128, 128],
            "activation_scheme": "dynamic",
            "modules_to_not_convert": ["model.layers.2"],
        },
    }
    bound = load(config)
    timed = api.timed(bound, api.step_size(bound, "decode"), Plan(), chip([BF16, F8]))
    line = next(one for one in timed.lines if one.id.endswith("up_proj"))
    flops = 2 * 512 * 1408
    assert dict(line.work.matmul) == {"F8_E4M3": flops * 3 / 4, "BF16": flops / 4}
    assert line.spent.compute == pytest.approx(flops * (0.75 / 2e15 + 0.25 / 1e15))


@pytest.mark.parametrize("name", [LLAMA, QWEN, V3])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_activations_fall_back_together(name, phase):
    """Without F8 products activations are 16 bits wide: twice the time, twice the bytes read, twice the bytes sent."""
    plan = Plan(attn_dp=2, attn_tp=4, ep=8) if name == V3 else Plan(attn_tp=4)
    having, lacking = (step_on(name, chip(matmul), NARROW, plan, phase) for matmul in ([BF16, F8], [BF16]))
    assert having.deployed.step.precision.activations == "F8_E4M3"
    assert lacking.deployed.step.precision.activations == "BF16"
    assert [line.id for line in having.lines] == [line.id for line in lacking.lines]
    sent = products = 0
    for narrow, wide in zip(having.lines, lacking.lines, strict=True):
        if narrow.move is not None:
            assert (wide.move.bytes, wide.move.sent) == (2 * narrow.move.bytes, 2 * narrow.move.sent), narrow.id
            assert wide.spent.communication == 2 * narrow.spent.communication
            sent += 1
        if narrow.work is not None:
            assert wide.work.activation_bytes == 2 * narrow.work.activation_bytes, narrow.id
            assert wide.work.weight_bytes == narrow.work.weight_bytes
            assert wide.work.kv_bytes == narrow.work.kv_bytes, "the cache keeps its own format"
            assert wide.work.matmul_flops == narrow.work.matmul_flops
            assert wide.work.runs_in in {"", "BF16"}
            products += narrow.work.runs_in == "F8_E4M3"
    assert sent > 2
    assert products > 2


@pytest.mark.parametrize("matmul", [[BF16], [BF16, F8]], ids=["without", "with"])
@pytest.mark.parametrize(
    ("between", "dtype", "without"),
    [
        ("F8_E4M3", "BF16", "BF16"),
        ("F8_E4M3", "F32", "BF16"),
        ("F8_E5M2", "BF16", "BF16"),
        ("BF16", "F32", "BF16"),
        ("F32", "BF16", "F32"),
        (None, "F32", None),
    ],
)
def test_only_what_is_narrower_than_sixteen_bits_falls_back(between, dtype, without, matmul):
    asked = NARROW._replace(activations=between)
    expected = between if F8 in matmul else without
    assert deployed_precision(asked, dtype, chip(matmul)) == asked._replace(activations=expected)


def test_links_without_latency_have_none_and_without_bandwidth_are_none():
    found = rates(chip(scale_up_latency=1e-6, scale_out_bandwidth=None, scale_out_latency=1e-6))
    assert (found.up, found.out) == ((450e9, 1e-6), None)
    assert rates(chip()).up.latency == 0


def test_memory_must_say_how_fast_it_is():
    with pytest.raises(SpecError) as caught:
        rates(chip(memory_bandwidth=None))
    assert str(caught.value) == (
        "missing-fact at gpu Made up\n"
        "  expected  memory_bandwidth in B/s, to say how long a kernel reads\n"
        "  got       no such figure in its file\n"
        "  fix       add memory_bandwidth with its source"
    )
