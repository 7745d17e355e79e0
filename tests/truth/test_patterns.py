"""Tensor lists as patterns: what is collapsed expands to the same tensors, and back to the same rows."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.truth import Row, collapse, expand
from rooflight.values import SpecError

WORDS = st.sampled_from(["layers", "experts", "w1", "w3", "mlp", "bias", "h", "2b", "01", "x-y", "a_b"])
NUMBERS = st.integers(0, 12).map(str)
NAMES = st.lists(st.one_of(WORDS, NUMBERS), min_size=1, max_size=6).map(".".join)
KINDS = st.sampled_from([("F32", (4, 2), ""), ("BF16", (4, 2), ""), ("F32", (2, 4), ""), ("F32", (4, 2), "scale")])


def row(name, dtype="F32", shape=(4, 2), role="", copies=1):
    return Row(name, dtype, shape, copies, "hub-headers", role)


@st.composite
def tensor_lists(draw):
    """Any names, with products of ranges among them."""
    named = draw(st.dictionaries(NAMES, KINDS, max_size=40))
    for _ in range(draw(st.integers(0, 3))):
        stem, kind = draw(WORDS), draw(KINDS)
        for i in draw(st.sets(st.integers(0, 9), max_size=6)):
            for j in draw(st.sets(st.integers(0, 4), max_size=4)) or {None}:
                named[f"{stem}.{i}.p" if j is None else f"{stem}.{i}.q.{j}"] = kind
    return [row(name, *kind) for name, kind in named.items()]


@given(tensor_lists())
def test_expand_undoes_collapse(rows):
    assert sorted(expand(collapse(rows, "x"), "x")) == sorted(rows)


@given(tensor_lists())
def test_collapse_undoes_expand(rows):
    collapsed = collapse(rows, "x")
    assert collapse(expand(collapsed, "x"), "x") == collapsed


@given(tensor_lists(), st.integers())
def test_order_decides_nothing(rows, seed):
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    assert collapse(shuffled, "x") == collapse(rows, "x")


@given(st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_product_is_one_row(ranges):
    names = ["x"]
    for numbers in ranges:
        names = [f"{name}.{n}.w" for name in names for n in numbers]
    (only,) = collapse([row(name) for name in names], "x")
    assert only.copies == len(names)


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        (["layers.0.w", "layers.1.w"], ["layers.{0-1}.w"]),
        (["layers.0.w", "layers.2.w", *(f"layers.{i}.w" for i in range(4, 10))], ["layers.{0,2,4-9}.w"]),
        (["layers.61.w"], ["layers.61.w"]),
        (["mlp.w1", "mlp.w3"], ["mlp.w1", "mlp.w3"]),
        (["h.01.w", "h.02.w"], ["h.01.w", "h.02.w"]),
        (["0", "1"], ["{0-1}"]),
        (["a..0", "a..1"], ["a..{0-1}"]),
        ([f"l.{i}.e.{j}" for i in (3, 4) for j in range(8)], ["l.{3-4}.e.{0-7}"]),
        # Not one product: layers with as many experts stand together.
        (["l.0.e.0", "l.1.e.0", "l.1.e.1", "l.2.e.0"], ["l.1.e.{0-1}", "l.{0,2}.e.0"]),
    ],
)
def test_the_form(names, patterns):
    assert [r.name for r in collapse([row(name) for name in names], "x")] == patterns


def test_shape_dtype_and_role_keep_rows_apart():
    rows = [row("l.0.w"), row("l.1.w", shape=(2, 4)), row("l.2.w", dtype="BF16"), row("l.3.w", role="scale")]
    assert sorted(collapse(rows, "x")) == sorted(rows)


def refusal(function, *arguments):
    with pytest.raises(SpecError) as caught:
        function(*arguments)
    return str(caught.value)


TWICE = """\
tensor-twice at here
  expected  every tensor once
  got       a.1 twice
  fix       remove one of the two"""

NAME = """\
tensor-name at here
  expected  a tensor's name: letters, digits and _ . : / + -, at most 512 of them
  got       'a b'
  fix       look into the file; no known framework writes such names"""

TOO_MANY = """\
too-many-tensors at here
  expected  at most 2,000,000 tensors
  got       100,000,000
  fix       check that this is the list of one checkpoint"""

RANGES = """\
bad-pattern at here
  expected  ranges as {0-31} or {0,2,4-9}: ascending, joined where they touch, two numbers or more
  got       {3-1} in l.{3-1}.w
  fix       write the numbers that way"""

COUNT = """\
bad-pattern at here l.{0-3}.w
  expected  count 4
  got       count 5
  fix       write 4"""

FIVE = """\
bad-pattern at here
  expected  at most 4 ranges in a name
  got       {0-1}.{0-1}.{0-1}.{0-1}.{0-1}
  fix       look into the file; no known framework nests deeper"""


def test_refusals():
    assert refusal(collapse, [row("a.1"), row("a.1", shape=(9,))], "here") == TWICE
    assert refusal(collapse, [row("a b")], "here") == NAME
    assert refusal(expand, [row("l.{0-99999999}.w", copies=100_000_000)], "here") == TOO_MANY
    assert refusal(expand, [row("l.{3-1}.w")], "here") == RANGES
    assert refusal(expand, [row("l.{0-3}.w", copies=5)], "here") == COUNT
    assert refusal(expand, [row("{0-1}.{0-1}.{0-1}.{0-1}.{0-1}", copies=32)], "here") == FIVE
    corners = [f"{i:05b}" for i in range(32)]
    assert refusal(collapse, [row(".".join(corner)) for corner in corners], "here") == FIVE


@pytest.mark.parametrize("name", ["", "a{0-1}", "{0-1}", "a\n", "a\0b", 'a"', "ü", "x" * 513, "a,b", "1." * 17 + "w"])
def test_names_no_tensor_has(name):
    assert refusal(collapse, [row(name)], "here").startswith("tensor-name at here")


@pytest.mark.parametrize(
    "pattern",
    [
        "l.{0}.w", "l.{}.w", "l.{0-1,2}.w", "l.{2,1}.w", "l.{1,1}.w", "l.{0-0}.w", "l.{00-1}.w", "l.{0-1", "l.{a-b}",
        "l.{0-1}x", "x{0-1}", "l.{0,}", "l.{-1-2}", "l.{0-1,1-3}", "l.{0 - 1}", "l.{0-9999999999}",
    ],
)  # fmt: skip
def test_patterns_that_collapse_would_not_write(pattern):
    assert refusal(expand, [row(pattern, copies=2)], "here").split(" at ")[0] in ("bad-pattern", "tensor-name")
