"""A scheme is YAML; a faulty one is refused with file, line and the repair."""

import pytest

from rooflight.edge.yaml_text import read_yaml
from rooflight.spec import read_scheme
from rooflight.values import SpecError

ROLES = {"attention": "", "ffn": ""}
GOOD = """\
doc: Halves.
source: nowhere
recognized_by: { quant_method: halves }
numbers: { group: { key: group_size, default: 32 } }
ignored: [ignore]
roles: [ffn]
weight: I4
activation: BF16
tensors:
  - { suffix: .packed, dtype: U8, shape: [out, in / 2] }
  - { suffix: .scale, dtype: model, shape: [out, in / group], role: scale }
"""


def read(text):
    return read_scheme("halves", read_yaml(text, "specs/quant/halves.yaml"), "specs/quant/halves.yaml", ROLES)


def test_a_good_one():
    scheme = read(GOOD)
    assert scheme.recognized == {"quant_method": ("halves",)}
    assert scheme.numbers["group"] == ("group_size", 32, {})
    assert [rule.suffix for rule in scheme.stores] == [".packed", ".scale"]
    assert scheme.with_children


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "roles: [ffn]",
            "roles: [ffm]",
            (
                "unknown-role at specs/quant/halves.yaml:6 halves.roles\n  expected  roles of roles.yaml\n"
                "  got       ffm\n  fix       you may have intended ffn"
            ),
        ),
        (
            "in / 2",
            "inn / 2",
            (
                "undeclared-name at specs/quant/halves.yaml:10 halves.tensors[0].shape\n"
                "  expected  axes of the weight, or numbers of the scheme\n  got       inn\n"
                "  fix       you may have intended in"
            ),
        ),
        (
            "in / group",
            "in / block",
            (
                "undeclared-name at specs/quant/halves.yaml:11 halves.tensors[1].shape\n"
                "  expected  axes of the weight, or numbers of the scheme\n  got       block\n"
            ),
        ),
        (
            "dtype: U8",
            "dtype: U4",
            "unknown-word at specs/quant/halves.yaml:10 halves.tensors[0].dtype\n  expected  model, or one of F64, ",
        ),
        (
            "role: scale",
            "role: scales",
            (
                "unknown-word at specs/quant/halves.yaml:11 halves.tensors[1].role\n"
                "  expected  one of weight, scale, zero, order, shape, cache\n  got       'scales'\n"
            ),
        ),
        (
            "role: scale",
            "when: asymmetric",
            (
                "undeclared-name at specs/quant/halves.yaml:11 halves.tensors[1].when\n"
                "  expected  a number of the scheme\n  got       asymmetric\n  fix       declare it in numbers"
            ),
        ),
        ("weight: I4\n", "", "missing-key at specs/quant/halves.yaml:1 halves\n"),
        ("source: nowhere\n", "", "missing-key at specs/quant/halves.yaml:1 halves\n"),
        ("weight: I4", "weight: I4\nweights: I4", "unknown-key at specs/quant/halves.yaml:8 halves.weights\n"),
        (
            "default: 32 }",
            "default: 32, unit: elements }",
            "unknown-key at specs/quant/halves.yaml:4 halves.numbers.group",
        ),
        (
            "role: scale }",
            "role: scale, why: none }",
            "unknown-key at specs/quant/halves.yaml:11 halves.tensors[1].why",
        ),
        (
            "ignored: [ignore]",
            "ignored_with_children: some",
            "wrong-type at specs/quant/halves.yaml:5 halves.ignored_with",
        ),
        ("in / 2", "in //", "bad-expression at specs/quant/halves.yaml:10 halves.tensors[0].shape"),
    ],
)
def test_a_faulty_one(old, new, message):
    assert old in GOOD
    with pytest.raises(SpecError) as caught:
        read(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(message)
