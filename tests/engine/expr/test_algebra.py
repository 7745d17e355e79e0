import subprocess
import sys

import pytest
import sympy

from rooflight.expr import (
    Space,
    and_,
    ceil_div,
    cmp_,
    equal,
    floor_div,
    max_,
    min_,
    named,
    power,
    prod,
    to_sympy,
    where,
)

space = Space()
T, W, n = (space.symbol(name) for name in ("T", "W", "n"))
ZERO_OR_MORE = space.symbol("z", minimum=0)
RATE = space.symbol("rate", minimum=0, whole=False)
t, w = sympy.symbols("T W", positive=True, integer=True)

WRITTEN = {
    "a sum": (2 * T + W - 3, 2 * t + w - 3),
    "a product": (T * (W + 1) / 2, t * (w + 1) / 2),
    "the larger": (max_(T, W), sympy.Max(t, w)),
    "rounded up": (ceil_div(T, W), sympy.ceiling(t / w)),
    "rounded down": (floor_div(T, W), sympy.floor(t / w)),
    "a power": (power(2, T), 2**t),
    "a name": (named("x", T * W), t * w),
    "a choice": (where(cmp_("<", T, W), T, 0), sympy.Piecewise((t, t < w), (0, True))),
    "conditions": (and_(cmp_("<=", T, W), cmp_("!=", W, 3)), sympy.And(t <= w, sympy.Ne(w, 3))),
    "a float": (0.5, sympy.Rational(1, 2)),
}


@pytest.mark.parametrize(("value", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_to_sympy(value, expected):
    assert to_sympy(value) == expected


def test_symbols_carry_what_is_known_of_them():
    assert to_sympy(T).is_positive
    assert to_sympy(T).is_integer
    assert to_sympy(ZERO_OR_MORE).is_nonnegative
    assert not to_sympy(ZERO_OR_MORE).is_positive
    assert to_sympy(RATE).is_integer is None


EQUAL = {
    "expanding proves it": ((T + W) ** 2, T**2 + 2 * T * W + W**2, "expand"),
    "against sympy": (T * (T + 1) / 2, sympy.Symbol("T") * (sympy.Symbol("T") + 1) / 2, "expand"),
    "against a number": (prod([T, 1 / T, 3]), 3, "expand"),
    "simplifying proves it": (power(2, T + 1) / (T + 1) - 2 * power(2, T) / (T + 1), 0, None),
    "cancelling proves it": ((T**2 - 1) / (T - 1), T + 1, "simplify"),
    "rounding is compared": (ceil_div(T, W), floor_div(T + W - 1, W), "equal at 200 random points, not proved"),
    "a root is compared in floats": (
        max_(power(T, 0.5), power(W, 0.5)),
        power(max_(T, W), 0.5),
        "equal at 200 random points, not proved",
    ),
    "a choice is compared": (min_(T, W) + max_(T, W), T + W, "equal at 200 random points, not proved"),
}


@pytest.mark.parametrize(("left", "right", "how"), EQUAL.values(), ids=EQUAL)
def test_equal(left, right, how):
    verdict = equal(left, right)
    assert verdict
    assert how is None or verdict.how == how
    assert repr(verdict) == f"<equal: {verdict.how}>"


def test_a_difference_comes_with_its_point():
    verdict = equal(ceil_div(T, W), floor_div(T, W))
    assert not verdict
    point = verdict.counterexample
    assert -(-point["T"] // point["W"]) != point["T"] // point["W"]
    assert verdict.how == f"differs where T = {point['T']}, W = {point['W']}"


def test_values_below_a_minimum_are_not_tried():
    bounded = Space().symbol("W", minimum=5)
    assert equal(max_(bounded * 2, 10), 2 * bounded)


def test_different_without_rounding():
    assert not equal(T * W, T + W)
    assert not equal(RATE * 2, RATE * 3)


def test_nothing_is_known_where_nothing_is_defined():
    verdict = equal(1 / floor_div(1, 1 + T), n)
    assert not verdict
    assert verdict.how == "undefined at every random point"


def test_neither_sympy_nor_numpy_is_imported_with_the_room():
    code = "import sys, rooflight.expr; print(sorted({'numpy', 'sympy', 'fractions'} & set(sys.modules)))"
    paths = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=paths)
    assert done.stdout == "[]\n"
