"""The names that people have for storage schemes, told from what a scheme stores."""

from types import SimpleNamespace

import pytest

from rooflight.edge.library import open_catalog
from rooflight_site import packing

NAMES = {
    "awq": "awq",
    "ct_fp8_channel": "FP8",
    "ct_int4_group": "INT4",
    "ct_int8_packed": "INT8",
    "ct_mxfp4": "MXFP4",
    "ct_nvfp4": "NVFP4",
    "fp4_i8_e8m0": "MXFP4",
    "fp8_block": "FP8",
    "fp8_block_e8m0": "FP8",
    "gptq": "gptq",
    "modelopt_nvfp4": "NVFP4",
    "mxfp4_blocks": "MXFP4",
}


@pytest.fixture(scope="module")
def schemes():
    return open_catalog().library.schemes


@pytest.mark.parametrize("scheme", NAMES)
def test_a_scheme_of_the_library_has_the_name_people_know(schemes, scheme):
    assert packing.name(schemes[scheme]) == NAMES[scheme]


def test_the_name_does_not_come_from_the_schemes_own(schemes):
    assert packing.name(schemes["mxfp4_blocks"]._replace(name="other")) == "MXFP4"


def test_fp4_with_other_scales_is_only_fp4(schemes):
    other = schemes["mxfp4_blocks"]._replace(numbers={"group": SimpleNamespace(default=64)})
    assert packing.name(other) == "FP4"


def test_a_weight_without_a_common_name_keeps_the_schemes(schemes):
    assert packing.name(schemes["fp8_block"]._replace(weight="F6_E3M2")) == "fp8_block"


def test_names_stand_once_and_unknown_schemes_keep_theirs(schemes):
    assert packing.names(["fp8_block", "fp8_dynamic", "unheard_of"], schemes) == ["FP8", "unheard_of"]
