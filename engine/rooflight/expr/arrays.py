"""The arithmetic helpers on float64 arrays; imported when the first array is seen, because numpy is optional."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rooflight.expr.scalars import Value

_COMPARE = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def number(value: Value) -> Value:
    """A float64 array as it is, a scalar as a float.

    Raises TypeError for any other array: int64 overflows silently (4·B·h·s²·d·L passes 2^63 at s = 1M), float32 is
    off by 1e-6, and an object array means that a Fraction met an array outside the helpers.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return float(value)
    if dtype != np.float64:
        why = ", because a Fraction met an array outside prod(), total() and div()" if dtype.hasobject else ""
        raise TypeError(f"bind float64: an array of {dtype} was given{why}")
    return value


def ceil_div(over: Value, under: Value) -> Value:
    """⌈over/under⌉."""
    return np.ceil(np.true_divide(number(over), number(under)))


def floor_div(over: Value, under: Value) -> Value:
    """⌊over/under⌋."""
    return np.floor(np.true_divide(number(over), number(under)))


def div(over: Value, under: Value) -> Value:
    """The quotient over / under."""
    return np.true_divide(number(over), number(under))


def mod(over: Value, under: Value) -> Value:
    """The rest over - under·⌊over/under⌋."""
    return number(over) - number(under) * floor_div(over, under)


def min_(left: Value, right: Value) -> Value:
    """The smaller at each point."""
    return np.minimum(number(left), number(right))


def max_(left: Value, right: Value) -> Value:
    """The larger at each point."""
    return np.maximum(number(left), number(right))


def cmp_(op: str, left: Value, right: Value) -> Value:
    """A bool array: left op right at each point."""
    return _COMPARE[op](number(left), number(right))


def and_(left: Value, right: Value) -> Value:
    """Both, at each point."""
    return np.logical_and(left, right)


def or_(left: Value, right: Value) -> Value:
    """Either, at each point."""
    return np.logical_or(left, right)


def not_(condition: Value) -> Value:
    """The opposite at each point."""
    return np.logical_not(condition)


_where: Any = np.where  # numpy declares it for arrays only


def where(condition: Value, then: Value, otherwise: Value) -> Value:
    """`then` at the points where the condition holds, else `otherwise`."""
    return _where(condition, number(then), number(otherwise))


def power(base: Value, exponent: Value) -> Value:
    """The power base ** exponent."""
    result: Value = np.power(number(base), number(exponent))
    return result


def product(scalar: Value, values: Iterable[Value]) -> Value:
    """The product scalar · Π values."""
    result = number(scalar)
    for value in values:
        result = result * number(value)
    return result


def total(scalar: Value, values: Iterable[Value]) -> Value:
    """The sum scalar + Σ values."""
    result = number(scalar)
    for value in values:
        result = result + number(value)
    return result


def uniform(condition: Value) -> bool | None:
    """The one truth of all points, or None where they differ."""
    if condition.all():
        return True
    return None if condition.any() else False
