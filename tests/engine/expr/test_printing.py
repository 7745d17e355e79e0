from xml.etree import ElementTree as ET

import pytest

from rooflight.expr import (
    Space,
    and_,
    ceil_div,
    cmp_,
    floor_div,
    latex,
    math_element,
    mathml,
    max_,
    named,
    or_,
    power,
    text,
    where,
)

space = Space()
B, T, W, tp, n = (space.symbol(name) for name in ("B", "T", "W", "tp", "n_heads"))
NOPE, ROPE = space.symbol("d_nope"), space.symbol("d_rope")
INNER = space.symbol("config.text_config.d_head")

GOLDEN = {
    "a share": (
        2 * B * ceil_div(T, tp) * (NOPE + ROPE),
        "2·B·⌈T/tp⌉·(d_nope + d_rope)",
        (
            r"2 \cdot B \cdot \left\lceil \frac{T}{\mathrm{tp}} \right\rceil \cdot "
            r"\left(d_{\mathrm{nope}} + d_{\mathrm{rope}}\right)"
        ),
    ),
    "causal pairs": (T * (T + 1) / 2, "T·(T + 1)/2", r"\frac{T \cdot \left(T + 1\right)}{2}"),
    "a sum above the line": ((T + 1) / tp, "(T + 1)/tp", r"\frac{T + 1}{\mathrm{tp}}"),
    "a product below the line": (T / (2 * tp * B), "T/(2·tp·B)", r"\frac{T}{2 \cdot \mathrm{tp} \cdot B}"),
    "one above the line": (1 / T, "1/T", r"\frac{1}{T}"),
    "a window": (W * T - W * (W - 1) / 2, "W·T - W·(W - 1)/2", r"W \cdot T - \frac{W \cdot \left(W - 1\right)}{2}"),
    "a constant comes first to avoid a minus": (1 - T, "1 - T", "1 - T"),
    "a leading minus": (-T - 1, "-T - 1", "-T - 1"),
    "a negative product": (-2 * T * W, "-2·T·W", r"-2 \cdot T \cdot W"),
    "a negative fraction": (-T / 3, "-T/3", r"-\frac{T}{3}"),
    "a sum taken away twice": (T - 2 * (W - n), "T - 2·(W - n_heads)", None),
    "powers": ((T + 1) ** 2 * W**-2, "(T + 1)^2/W^2", r"\frac{{\left(T + 1\right)}^{2}}{{W}^{2}}"),
    "a symbolic power": ((1 - T / W) ** B, "(1 - T/W)^B", r"{\left(1 - \frac{T}{W}\right)}^{B}"),
    "a root of a product": (power(2 * T, 0.5), "(2·T)^(1/2)", r"{\left(2 \cdot T\right)}^{\frac{1}{2}}"),
    "a power of a power": (power(2, T) ** 2, "(2^T)^2", r"{\left({2}^{T}\right)}^{2}"),
    "a power of a fraction": (power(2, -1) ** T, "(1/2)^T", r"{\left(\frac{1}{2}\right)}^{T}"),
    "the larger": (max_(T, W * 2 - 3), "max(T, 2·W - 3)", r"\max\left(T, 2 \cdot W - 3\right)"),
    "rounded down": (
        floor_div(2 * T + 1, tp * B) ** 2,
        "⌊(2·T + 1)/(tp·B)⌋^2",
        r"{\left\lfloor \frac{2 \cdot T + 1}{\mathrm{tp} \cdot B} \right\rfloor}^{2}",
    ),
    "rounding a sum": (ceil_div(T / 2 + n / 3, 1), "⌈T/2 + n_heads/3⌉", None),
    "a choice": (
        where(cmp_("<=", T, W), T, W) + 1,
        "[T ≤ W ? T : W] + 1",
        r"\left(\begin{cases} T & \text{if } T \le W \\ W & \text{otherwise} \end{cases}\right) + 1",
    ),
    "joined conditions": (
        and_(or_(cmp_("<", T, W), cmp_("==", n, 4)), cmp_("!=", W, 2)),
        "(T < W or n_heads = 4) and W ≠ 2",
        r"\left(T < W \text{ or } n_{\mathrm{heads}} = 4\right) \text{ and } W \ne 2",
    ),
    "a name": (named("flops_dense", T * W) * 3, "3·flops_dense", r"3 \cdot \mathrm{flops}_{\mathrm{dense}}"),
    "a config value": (INNER * 2, "2·config.text_config.d_head", r"2 \cdot \mathrm{config.text\_config.d\_head}"),
    "a long integer": (T * 10**40, f"{10**40}·T", rf"{10**40} \cdot T"),
    "a number": (7, "7", "7"),
    "a negative number": (-7, "-7", "-7"),
    "a float": (0.75, "3/4", r"\frac{3}{4}"),
    "a truth": (True, "true", r"\mathrm{true}"),
}


@pytest.mark.parametrize(("value", "expected", "_"), GOLDEN.values(), ids=GOLDEN)
def test_text(value, expected, _):
    assert text(value) == expected


@pytest.mark.parametrize(("value", "_", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_latex(value, _, expected):
    if expected is not None:
        assert latex(value) == expected


@pytest.mark.parametrize(("value", "expected", "_"), GOLDEN.values(), ids=GOLDEN)
def test_mathml_is_well_formed_and_keeps_its_text(value, expected, _):
    element = ET.fromstring(math_element(value))
    assert element.tag == "math"
    assert element.get("alttext") == expected
    allowed = {"mi", "mn", "mo", "mrow", "mfrac", "msub", "msup", "mtext", "mtable", "mtr", "mtd"}
    assert {part.tag for part in element.iter()} - {"math"} <= allowed
    arity = {"mfrac": 2, "msub": 2, "msup": 2}
    assert all(len(part) == arity.get(part.tag, len(part)) for part in element.iter())


MATHML = {
    "a symbol with an index": (NOPE, "<msub><mi>d</mi><mtext>nope</mtext></msub>"),
    "a fraction has no parentheses": (
        (T + 1) / tp,
        "<mfrac><mrow><mi>T</mi><mo>+</mo><mn>1</mn></mrow><mi>tp</mi></mfrac>",
    ),
    "fences": (
        ceil_div(T, 2),
        (
            '<mrow><mo fence="true" form="prefix">⌈</mo><mfrac><mi>T</mi><mn>2</mn></mfrac>'
            '<mo fence="true" form="postfix">⌉</mo></mrow>'
        ),
    ),
    "a minus in front": (-T, '<mrow><mo form="prefix">−</mo><mi>T</mi></mrow>'),
    "a relation is escaped": (cmp_("<", T, W), "<mrow><mi>T</mi><mo>&lt;</mo><mi>W</mi></mrow>"),
    "a choice is a table": (
        where(cmp_("<", T, W), T, 0),
        (
            '<mrow><mo fence="true" form="prefix">{</mo><mtable class="cases">'
            "<mtr><mtd><mi>T</mi></mtd><mtd><mtext>if\u00a0</mtext>"
            "<mrow><mi>T</mi><mo>&lt;</mo><mi>W</mi></mrow></mtd></mtr>"
            "<mtr><mtd><mn>0</mn></mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>"
        ),
    ),
}


@pytest.mark.parametrize(("value", "expected"), MATHML.values(), ids=MATHML)
def test_mathml(value, expected):
    assert mathml(value) == expected


def test_a_displayed_element():
    assert math_element(T, display=True) == '<math display="block" alttext="T"><mi>T</mi></math>'


def test_one_memo_serves_several_formulas():
    memo = {}
    assert text(B * n + 1, memo) == "B·n_heads + 1"
    assert memo[B * n][0] == "B·n_heads"
    assert text(B * n, memo) == "B·n_heads"


def test_repr_is_the_text():
    assert repr(B * n) == "B·n_heads"


def test_only_numbers_and_formulas_are_printed():
    with pytest.raises(TypeError, match=r"^a formula holds ints, floats and Fractions, not str$"):
        text("T")
