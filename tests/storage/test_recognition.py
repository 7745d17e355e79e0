"""Which scheme a quantization_config means: exactly one, or a refusal that says why."""

import pytest
from storage_models import llama, model, table

import rooflight
from rooflight import api
from rooflight.checks import Subject, examine
from rooflight.edge.yaml_text import read_yaml
from rooflight.spec.quant import read_scheme, recognizes, scheme_numbers
from rooflight.spec.storage import read_storage
from rooflight.values import SpecError

CASES = [pytest.param(case, id=case["id"]) for case in table()]


@pytest.mark.parametrize("case", CASES)
def test_exactly_one_scheme_answers(schemes, case):
    answering = [s.name for s in schemes.values() if s.recognized and recognizes(s, case["config"])]
    # V4 says the same as V3 and stores otherwise: its scheme is named beside the config.
    assert answering == (["fp8_block"] if case.get("named") else [case["scheme"]])


def test_those_that_no_config_names_say_so(schemes):
    assert {s.name for s in schemes.values() if not s.recognized} == {c["scheme"] for c in table() if c.get("named")}


def blocking(config, storage=None):
    bound = model(config, storage)
    subject = Subject(bound, api.numbers(bound, api.step_size(bound)))
    return bound, [f for f in examine(subject, frozenset({"source"})) if f.blocking]


@pytest.mark.parametrize(
    ("config", "got"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "quant_method 'bitsandbytes'"),
        ({"quant_method": "compressed-tensors", "format": "marlin-24"}, "quant_method 'compressed-tensors'"),
        ({"quant_method": "awq", "version": "gemv"}, "quant_method 'awq'"),
        ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "quant_method 'gptq'"),
        ({"bits": 4}, "quant_method nothing"),
        ("int4", "quant_method nothing"),
        ([], "quant_method nothing"),
    ],
    ids=["bitsandbytes", "other-format", "awq-gemv", "gptq-marlin", "no-method", "text", "list"],
)
def test_an_unknown_form_is_shown_said_and_not_published(config, got):
    bound, findings = blocking(llama(quantization_config=config))
    assert bound.storage.format is None
    assert [f.as_json() for f in findings] == [
        {
            "code": "unknown-scheme",
            "guard": "packing",
            "blocking": True,
            "where": "config.json quantization_config",
            "expected": "a scheme of specs/quant that answers to it",
            "got": got,
            "fix": "write the scheme as YAML in specs/quant",
        }
    ]
    shown = rooflight.show(bound)
    assert any("quantization_config" in warning for warning in shown["warnings"])
    assert shown["params"]["total"] == rooflight.show(llama())["params"]["total"]


def test_two_that_answer_are_refused(schemes):
    twins = {**schemes, "twin": schemes["awq"]._replace(name="twin")}
    config = model(llama(quantization_config={"quant_method": "awq"})).config
    storage = read_storage(config, "BF16", twins)
    assert str(storage.refused) == (
        "ambiguous-scheme at config.json quantization_config\n"
        "  expected  one scheme that answers to it\n"
        "  got       awq, twin\n"
        "  fix       name the scheme in storage.yaml beside the config"
    )


def test_compression_config_is_another_name():
    config = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    assert model(llama(compression_config=config)).storage.format.name == "fp8_dynamic"


def test_a_null_is_no_quantization():
    assert model(llama(quantization_config=None)).storage.format is None


def test_a_config_without_one_stores_plain():
    storage = model(llama()).storage
    assert (storage.format, storage.refused, storage.overrides) == (None, None, ())


@pytest.mark.parametrize(
    ("value", "got"),
    [("128", "'128'"), (1.5, "1.5"), (-2, "-2"), ({}, "an object"), ([], "a list"), (1 << 21, "2097152")],
)
def test_a_number_that_is_none(value, got):
    with pytest.raises(SpecError) as caught:
        model(llama(quantization_config={"quant_method": "awq", "bits": 4, "group_size": value}))
    assert str(caught.value).splitlines()[0] == "config-wrong-type at config.json quantization_config.group_size"
    assert "  expected  a whole number, group of the scheme awq" in str(caught.value)


def test_words_stand_for_numbers(schemes):
    group = {"weights": {"symmetric": False, "group_size": 32}}
    found = scheme_numbers(schemes["ct_int4_group"], {"config_groups": {"group_0": group}}, "here")
    assert found == {"group": 32, "asymmetric": 1}
    group["weights"]["symmetric"] = True
    assert scheme_numbers(schemes["ct_int4_group"], {"config_groups": {"group_0": group}}, "here")["asymmetric"] == 0


def test_what_a_matrix_product_works_on(schemes):
    """Weight and activation of every scheme, as its name says."""
    assert {name: (s.weight, s.activation) for name, s in schemes.items()} == {
        "awq": ("I4", "F16"),
        "gptq": ("I4", "F16"),
        "ct_fp8_channel": ("F8_E4M3", "F8_E4M3"),
        "ct_fp8_tensor": ("F8_E4M3", "F8_E4M3"),
        "ct_int4_channel": ("I4", "BF16"),
        "ct_int4_group": ("I4", "BF16"),
        "ct_int8_channel": ("I8", "I8"),
        "ct_int8_packed": ("I8", "BF16"),
        "ct_mxfp4": ("F4_E2M1", "BF16"),
        "ct_nvfp4": ("F4_E2M1", "F4_E2M1"),
        "fp4_i8_e8m0": ("F4_E2M1", "F8_E4M3"),
        "fp8_block": ("F8_E4M3", "F8_E4M3"),
        "fp8_block_e8m0": ("F8_E4M3", "F8_E4M3"),
        "fp8_dynamic": ("F8_E4M3", "F8_E4M3"),
        "fp8_static": ("F8_E4M3", "F8_E4M3"),
        "modelopt_nvfp4": ("F4_E2M1", "F4_E2M1"),
        "mxfp4_blocks": ("F4_E2M1", "BF16"),
    }


def test_a_source_is_written_down_for_every_scheme(schemes):
    assert all(len(scheme.source) > 20 for scheme in schemes.values())


@pytest.mark.parametrize(
    ("quantization", "key"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "group_size"),
        ({"quant_method": "gptq", "bits": 0, "group_size": 128}, "bits"),
        ({"quant_method": "fp8", "weight_block_size": [0, 0]}, "weight_block_size.0"),
        ({"quant_method": "fp8", "weight_block_size": [128, -1]}, "weight_block_size.1"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": [128, None]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": []}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": "x"}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": 128}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": {"0": 128}}, "weight_block_size"),
    ],
)
def test_numbers_that_no_blocks_have(quantization, key):
    with pytest.raises(SpecError) as caught:
        model(llama(quantization_config={"activation_scheme": "dynamic", **quantization}))
    assert str(caught.value).splitlines()[0] == f"config-wrong-type at config.json quantization_config.{key}"


def test_what_stands_where_an_object_is_read(schemes):
    with pytest.raises(SpecError) as caught:
        scheme_numbers(schemes["ct_fp8_channel"], {"kv_cache_scheme": "fp8"}, "here")
    assert (
        str(caught.value)
        == """\
config-wrong-type at here quantization_config.kv_cache_scheme
  expected  an object
  got       'fp8'
  fix       correct the config"""
    )
    assert scheme_numbers(schemes["ct_fp8_channel"], {"kv_cache_scheme": None}, "here") == {"kv": 0}


def test_a_scheme_cannot_divide_by_nothing(schemes):
    text = "doc: A.\nsource: b\nrecognized_by: {}\nnumbers: { group: 0 }\nroles: [ffn]\nweight: I4\nactivation: F16\n"
    text += 'tensors: [{ suffix: .w, dtype: I8, shape: [out, "ceil_div(in, group)"] }]\n'
    with pytest.raises(SpecError) as caught:
        read_scheme("odd", read_yaml(text, "odd.yaml"), "odd.yaml", {"ffn": ""})
    assert (
        str(caught.value)
        == """\
wrong-type at odd.yaml:4 odd.numbers.group
  expected  a whole number from 1 to 1048576
  got       0
  fix       correct group"""
    )
