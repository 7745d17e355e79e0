import re
from fractions import Fraction

import numpy as np
import pytest

from rooflight.expr import (
    Space,
    Split,
    and_,
    ceil_div,
    cmp_,
    compile_python,
    decide,
    evaluate,
    expand_lets,
    latex,
    mathml,
    max_,
    not_,
    or_,
    text,
    to_json,
    where,
)
from rooflight.expr.printing import MAX_PRINTED


@pytest.fixture
def symbols():
    space = Space()
    return [space.symbol(name) for name in ("T", "W", "n")]


def test_a_symbol_without_a_value(symbols):
    T, W, _ = symbols
    with pytest.raises(KeyError) as caught:
        evaluate(T + W, {"T": 1})
    assert caught.value.args == ("no value is bound for symbol 'W'",)


def test_one_memo_serves_several_formulas(symbols):
    T, W, _ = symbols
    memo = {}
    assert evaluate(T * W, {"T": 2, "W": 3}, memo) == 6
    assert evaluate(T * W + 1, {}, memo) == 7


def test_values_of_every_kind(symbols):
    T, W, n = symbols
    whole = T / W + ceil_div(n, 2)
    assert evaluate(whole, {"T": 3, "W": 2, "n": 5}) == Fraction(9, 2)
    assert evaluate(whole, {"T": Fraction(1, 2), "W": Fraction(1, 4), "n": 5}) == 5
    assert evaluate(whole, {"T": 3.0, "W": 2, "n": 5}) == 4.5
    assert evaluate(whole, {"T": np.array([3.0, 4.0]), "W": 2, "n": 5}).tolist() == [4.5, 5.0]
    assert text(evaluate(whole, {"T": T, "W": 2 * W, "n": 5})) == "T/(2·W) + 3"
    assert evaluate(7, {}) == 7


def test_conditions_over_values_of_every_kind(symbols):
    T, W, n = symbols
    both = and_(cmp_("<", T, W), not_(cmp_("==", n, 3)))
    assert text(both) == "T < W and n ≠ 3"
    assert text(not_(both)) == "W ≤ T or n = 3"
    assert evaluate(both, {"T": 1, "W": 2, "n": 4}) is True
    mask = evaluate(or_(both, cmp_("==", n, 3)), {"T": np.array([1.0, 9.0]), "W": 2, "n": 4})
    assert mask.tolist() == [True, False]
    assert and_(True, both) is both
    assert or_(True, both) is True


def test_decide(symbols):
    T, W, _ = symbols
    relation = cmp_("<", T, W)
    log = []
    assert decide(True) is True
    assert decide(relation, {"T": 1, "W": 2}, log) is True
    assert decide(not_(relation), {"T": 1, "W": 2}, log) is False
    assert [(text(condition), truth) for condition, truth in log] == [("T < W", True), ("W ≤ T", False)]
    assert decide(np.array([True, True])) is True
    assert decide(np.array([False])) is False
    assert decide(np.bool_(True)) is True


def test_decide_splits_a_mixed_array():
    mask = np.array([True, False])
    with pytest.raises(Split, match=r"^a structural decision differs between points: ") as caught:
        decide(mask)
    assert caught.value.mask is mask


def test_decide_needs_shadow_numbers(symbols):
    T, W, _ = symbols
    with pytest.raises(
        TypeError, match=r"^a structural decision about a formula needs shadow numbers for its symbols$"
    ):
        decide(cmp_("<", T, W))
    with pytest.raises(TypeError, match=r"^a condition is expected here"):
        decide(T, {"T": 1})


def test_deep_formulas_do_not_meet_the_stack(symbols):
    T, W, n = symbols
    whole = T
    for i in range(2000):
        whole = max_(ceil_div(whole * W + i, n), T) if i % 2 else where(cmp_("<", whole, W), whole + 1, n)
    values = {"T": 5, "W": 2, "n": 3}
    expected = evaluate(whole, values)
    assert compile_python({"it": whole})(**values) == {"it": expected}
    assert expand_lets(whole) is whole
    assert len(to_json({"it": whole})["nodes"]) > 2000


def test_deep_formulas_print(symbols):
    T, W, _ = symbols
    whole = T
    for i in range(2000):
        whole = ceil_div(whole + i, W)
    assert text(whole).count("⌈") == 2000
    assert mathml(whole).count("<mfrac>") == 2000
    assert latex(whole).count("lceil") == 2000


def test_a_formula_too_long_to_print(symbols):
    whole = symbols[0]
    for _ in range(40):
        whole = max_(whole * 2, 3) * (whole + symbols[1])
    with pytest.raises(
        ValueError, match=f"^{re.escape('a formula too long to print: give its parts names with named()')}$"
    ):
        text(whole)
    assert MAX_PRINTED == 4_000_000
