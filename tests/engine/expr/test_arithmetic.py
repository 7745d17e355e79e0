import re
from fractions import Fraction

import numpy as np
import pytest

from rooflight import expr
from rooflight.expr import ceil_div, cmp_, div, floor_div, max_, min_, mod, power, prod, total, where

HALF = Fraction(1, 2)

SCALARS = {
    "ceil_div up": (ceil_div(7, 2), 4),
    "ceil_div of a negative": (ceil_div(-7, 2), -3),
    "ceil_div beyond 2^53": (ceil_div(2**80 + 1, 2), 2**79 + 1),
    "ceil_div of a Fraction": (ceil_div(Fraction(7, 2), 2), 2),
    "ceil_div of floats": (ceil_div(7.0, 2), 4.0),
    "floor_div down": (floor_div(7, 2), 3),
    "floor_div of a Fraction": (floor_div(Fraction(9, 2), 2), 2),
    "floor_div of floats": (floor_div(7.0, 2), 3.0),
    "div that divides": (div(6, 3), 2),
    "div that does not": (div(1, 2), HALF),
    "div of Fractions to an int": (div(HALF, HALF), 1),
    "div of a float": (div(1.0, 2), 0.5),
    "mod": (mod(7, 4), 3),
    "mod of Fractions": (mod(Fraction(7, 2), HALF), 0),
    "min_": (min_(HALF, 1), HALF),
    "max_": (max_(HALF, 1), 1),
    "cmp_": (cmp_(">=", HALF, 0.5), True),
    "where": (where(True, 1, HALF), 1),
    "power": (power(2, 70), 2**70),
    "a negative power": (power(2, -1), HALF),
    "a root": (power(4, HALF), 2.0),
    "prod": (prod([2, HALF, 3]), 3),
    "prod of nothing": (prod([]), 1),
    "total": (total([HALF, HALF, 1.0]), 2.0),
    "total of nothing": (total([]), 0),
}


@pytest.mark.parametrize(("found", "expected"), SCALARS.values(), ids=SCALARS)
def test_scalars_are_exact_and_keep_their_kind(found, expected):
    assert found == expected
    assert type(found) is type(expected)


def test_arrays_give_arrays():
    x = np.array([1.0, 2.0, 7.0])
    assert ceil_div(x, 2).tolist() == [1, 1, 4]
    assert floor_div(7, x).tolist() == [7, 3, 1]
    assert div(1, x).tolist() == [1, 0.5, 1 / 7]
    assert mod(x, 2).tolist() == [1, 0, 1]
    assert min_(x, HALF * 4).tolist() == [1, 2, 2]
    assert max_(x, 2).tolist() == [2, 2, 7]
    assert cmp_("<", x, 2).tolist() == [True, False, False]
    assert where(cmp_("<", x, 2), x, HALF).tolist() == [1, 0.5, 0.5]
    assert power(x, 2).tolist() == [1, 4, 49]
    assert power(2, x).tolist() == [2, 4, 128]
    assert prod([2, x, HALF, x]).tolist() == [1, 4, 49]
    assert total([2, x, HALF, x]).tolist() == [4.5, 6.5, 16.5]
    assert prod([10**30, x]).dtype == np.float64


def test_scalars_are_multiplied_first():
    x = np.array([3.0])
    assert prod([0.1, x, 10.0]).tolist() == [3.0]


NOT_FLOAT64 = {
    "int64": (np.array([1]), "bind float64: an array of int64 was given"),
    "float32": (np.array([1], dtype="float32"), "bind float64: an array of float32 was given"),
    "a numpy int": (np.int64(1), "bind float64: an array of int64 was given"),
    "Fractions": (
        np.array([HALF]),
        "bind float64: an array of object was given, because a Fraction met an array outside prod(), total() and div()",
    ),
}


@pytest.mark.parametrize(("value", "message"), NOT_FLOAT64.values(), ids=NOT_FLOAT64)
def test_other_arrays_are_refused(value, message):
    for act in (
        lambda: ceil_div(value, 2),
        lambda: min_(1, value),
        lambda: prod([2, value]),
        lambda: total([2, value]),
        lambda: where(np.array([True]), value, 1),
        lambda: cmp_("<", value, 1),
    ):
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            act()


def test_an_array_and_a_formula_do_not_mix():
    T = expr.Space().symbol("T")
    x = np.array([1.0])
    for act in (lambda: x * T, lambda: T + x, lambda: max_(x, T), lambda: total([x, T]), lambda: where(x < 1, T, 1)):
        with pytest.raises(TypeError, match=r"ndarray|formula|condition"):
            act()


def test_other_values_are_refused():
    for value in ("1", None, 1j, [1]):
        name = type(value).__name__
        message = f"^a value is an int, float, Fraction, float64 array or formula, not {name}$"
        with pytest.raises(TypeError, match=message):
            max_(1, value)


def test_a_number_is_no_condition():
    for act in (lambda: where(1, 2, 3), lambda: expr.and_(1, 0), lambda: expr.or_(0, 1), lambda: expr.not_(1)):
        with pytest.raises(TypeError, match=r"^a condition is a bool, a bool array or a relation made with cmp_\(\)$"):
            act()


def test_an_unknown_comparison():
    with pytest.raises(ValueError, match=r"^cmp_ knows == != < <= > >=, not '='$"):
        cmp_("=", 1, 2)


def test_no_complex_numbers():
    with pytest.raises(ValueError, match=r"^-4 to the power 0.5 is not a real number$"):
        power(-4, 0.5)
