"""Random formulas as recipes, which are built from values of any kind and worked out exactly without the engine."""

import math
import operator
from fractions import Fraction

from hypothesis import strategies as st

from rooflight import expr

# name → least value; `z` may be 0. `small` is only an exponent.
MINIMUM = {"a": 1, "b": 1, "n_heads": 2, "z": 0, "small": 0}
OPERANDS = ("a", "b", "n_heads", "z")
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

integers = st.integers(-9, 99)
numbers = integers | st.fractions(-5, 5, max_denominator=6)
leaves = st.sampled_from(OPERANDS) | numbers


def _grow(inner):
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["/", "ceil_div", "floor_div", "%"]), inner, inner),
        st.tuples(st.sampled_from(["total", "prod"]), st.lists(inner, max_size=4)),
        st.tuples(st.just("power"), inner, st.integers(-2, 3)),
        st.tuples(st.just("raise"), inner, st.just("small")),
        st.tuples(st.just("where"), st.tuples(st.sampled_from(sorted(COMPARE)), inner, inner), inner, inner),
        st.tuples(st.just("named"), st.sampled_from(["part", "rest_of_it"]), inner),
        st.tuples(st.just("neg"), inner),
    )


recipes = st.recursive(leaves, _grow, max_leaves=12)


@st.composite
def bindings(draw):
    """Values for all symbols, within their minimum, ints and exact."""
    large = draw(st.sampled_from([2, 10, 10**6]))
    values = {name: draw(st.integers(least, least + large)) for name, least in MINIMUM.items()}
    return {**values, "small": values["small"] % 4}


def symbols(space):
    return {name: space.symbol(name, minimum=least) for name, least in MINIMUM.items()}


def build(recipe, values):
    """The recipe over values of any kind, with the engine's helpers."""
    if isinstance(recipe, str):
        return values[recipe]
    if not isinstance(recipe, tuple):
        return recipe
    name, *rest = recipe
    if name in ("total", "prod"):
        return getattr(expr, name)([build(part, values) for part in rest[0]])
    if name == "named":
        return expr.named(rest[0], build(rest[1], values))
    if name == "where":
        op, left, right = rest[0]
        condition = expr.cmp_(op, build(left, values), build(right, values))
        return expr.where(condition, build(rest[1], values), build(rest[2], values))
    parts = [build(part, values) for part in rest]
    return _ENGINE[name](*parts)


def exactly(recipe, values):
    """The recipe in Fractions, without the engine. Raises ZeroDivisionError where it is undefined."""
    if isinstance(recipe, str):
        return Fraction(values[recipe])
    if not isinstance(recipe, tuple):
        return Fraction(recipe)
    name, *rest = recipe
    if name == "total":
        return sum([exactly(part, values) for part in rest[0]], Fraction(0))
    if name == "prod":
        return math.prod([exactly(part, values) for part in rest[0]], start=Fraction(1))
    if name == "named":
        return exactly(rest[1], values)
    if name == "where":
        op, left, right = rest[0]
        holds = COMPARE[op](exactly(left, values), exactly(right, values))
        branches = [exactly(part, values) for part in rest[1:]]
        return branches[0] if holds else branches[1]
    return _EXACT[name](*[exactly(part, values) for part in rest])


_ENGINE = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": expr.div,
    "%": expr.mod,
    "neg": operator.neg,
    "min": expr.min_,
    "max": expr.max_,
    "ceil_div": expr.ceil_div,
    "floor_div": expr.floor_div,
    "power": expr.power,
    "raise": expr.power,
}
_EXACT = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "neg": operator.neg,
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: Fraction(math.ceil(a / b)),
    "floor_div": lambda a, b: Fraction(math.floor(a / b)),
    "power": lambda a, b: a ** int(b),
    "raise": lambda a, b: a ** int(b),
}
