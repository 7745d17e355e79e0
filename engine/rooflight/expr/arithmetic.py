"""The only functions that ask what kind of number they hold: every rule uses these and + - *."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from rooflight.expr.formula import Expr
from rooflight.expr.scalars import Value, exact, exact_power, ratio

EXACT_POWER = 256  # a broken number to a higher power has thousands of digits that nobody asks for
# Kinds by exact type, not by isinstance: np.float64 is a float, and the table is the faster of the two.
SCALAR, ARRAY, FORMULA = 0, 1, 2
_KINDS: dict[type[Any], int] = {int: SCALAR, float: SCALAR, bool: SCALAR, Expr: FORMULA}


def ceil_div(over: Value, under: Value) -> Value:
    """⌈over/under⌉: an int for ints and Fractions."""
    if type(over) is int and type(under) is int:
        return -(-over // under)
    kind = _kind(over, under)
    if kind == SCALAR:
        return float(math.ceil(float(over / under))) if _has_float(over, under) else -(-over // under)
    return _arrays().ceil_div(over, under) if kind == ARRAY else _space(over, under).ceil_div(over, under)


def floor_div(over: Value, under: Value) -> Value:
    """⌊over/under⌋: an int for ints and Fractions."""
    if type(over) is int and type(under) is int:
        return over // under
    kind = _kind(over, under)
    if kind == SCALAR:
        return float(math.floor(float(over / under))) if _has_float(over, under) else over // under
    return _arrays().floor_div(over, under) if kind == ARRAY else _space(over, under).floor_div(over, under)


def div(over: Value, under: Value) -> Value:
    """The quotient over / under: an int where ints divide, a Fraction where they do not, never a silent float."""
    if type(over) is int and type(under) is int:
        return ratio(over, under)
    kind = _kind(over, under)
    if kind == SCALAR:
        return over / under if _has_float(over, under) else exact(over / under)
    return _arrays().div(over, under) if kind == ARRAY else _space(over, under).div(over, under)


def mod(over: Value, under: Value) -> Value:
    """What whole parts of `under` leave of `over`: over - under·⌊over/under⌋."""
    kind = _kind(over, under)
    if kind == SCALAR:
        rest = over % under
        return rest if type(rest) is float else exact(rest)
    return _arrays().mod(over, under) if kind == ARRAY else _space(over, under).mod(over, under)


def min_(left: Value, right: Value) -> Value:
    """The smaller of two; at each point for arrays."""
    kind = _kind(left, right)
    if kind == SCALAR:
        return min(left, right)
    return _arrays().min_(left, right) if kind == ARRAY else _space(left, right).min_(left, right)


def max_(left: Value, right: Value) -> Value:
    """The larger of two; at each point for arrays."""
    kind = _kind(left, right)
    if kind == SCALAR:
        return max(left, right)
    return _arrays().max_(left, right) if kind == ARRAY else _space(left, right).max_(left, right)


def cmp_(op: str, left: Value, right: Value) -> Value:
    """Whether left op right, op one of == != < <= > >=: a bool, a bool array, or a relation that bounds do not settle.

    Raises ValueError for another op.
    """
    if op not in _COMPARE:
        raise ValueError(f"cmp_ knows == != < <= > >=, not {op!r}")
    kind = _kind(left, right)
    if kind == SCALAR:
        return _COMPARE[op](left, right)
    return _arrays().cmp_(op, left, right) if kind == ARRAY else _space(left, right).cmp_(op, left, right)


def and_(left: Value, right: Value) -> Value:
    """Whether both conditions hold."""
    if type(left) is bool:
        return right if left else False
    if type(right) is bool:
        return left if right else False
    return _arrays().and_(left, right) if _kind(left, right) == ARRAY else _space(left, right).and_(left, right)


def or_(left: Value, right: Value) -> Value:
    """Whether either condition holds."""
    if type(left) is bool:
        return True if left else right
    if type(right) is bool:
        return True if right else left
    return _arrays().or_(left, right) if _kind(left, right) == ARRAY else _space(left, right).or_(left, right)


def not_(condition: Value) -> Value:
    """The opposite condition."""
    if type(condition) is bool:
        return not condition
    return _arrays().not_(condition) if _kind(condition) == ARRAY else _space(condition).not_(condition)


def where(condition: Value, then: Value, otherwise: Value) -> Value:
    """`then` where the condition holds, else `otherwise`; a bool picks one of them as it is."""
    if type(condition) is bool:
        return then if condition else otherwise
    kind = _kind(condition, then, otherwise)
    if kind == ARRAY:
        return _arrays().where(condition, then, otherwise)
    return _space(condition, then, otherwise).where(condition, then, otherwise)


def power(base: Value, exponent: Value) -> Value:
    """The power base ** exponent: exact for an int base, or a Fraction to a small power, and an int exponent; else a
    float.

    Raises ValueError where the result is not a real number.
    """
    kind = _kind(base, exponent)
    if kind == SCALAR:
        if type(exponent) is int and type(base) is not float and (type(base) is int or abs(exponent) <= EXACT_POWER):
            return exact_power(base, exponent)
        result = float(base) ** float(exponent)
        if type(result) is complex:
            raise ValueError(f"{base} to the power {exponent} is not a real number")
        return result
    return _arrays().power(base, exponent) if kind == ARRAY else _space(base, exponent).power(base, exponent)


def prod(values: Iterable[Value]) -> Value:
    """The product of all values, 1 for none. Scalars are multiplied first: one array operation per array."""
    scalar: Value = 1
    others: list[Value] = []
    for value in values:
        if type(value) is int or _kind(value) == SCALAR:
            scalar *= value
        else:
            others.append(value)
    if not others:
        return scalar if type(scalar) is int or type(scalar) is float else exact(scalar)
    if _kind(*others) == ARRAY:
        return _arrays().product(scalar, others)
    return _space(*others).product([(scalar, 1), *[(value, 1) for value in others]])


def total(values: Iterable[Value]) -> Value:
    """The sum of all values, 0 for none. One call for many terms: adding formulas one by one is quadratic."""
    scalar: Value = 0
    others: list[Value] = []
    for value in values:
        if type(value) is int or _kind(value) == SCALAR:
            scalar += value
        else:
            others.append(value)
    if not others:
        return scalar if type(scalar) is int or type(scalar) is float else exact(scalar)
    if _kind(*others) == ARRAY:
        return _arrays().total(scalar, others)
    return _space(*others).total([*others, scalar])


def named(name: str, value: Value) -> Value:
    """A formula under a name, printed as the name and evaluated as before; any other value as it is."""
    return value.space.named(name, value) if type(value) is Expr else value


def uniform(condition: Value) -> bool | None:
    """The one truth of a bool or bool array, or None for an array whose points differ."""
    return bool(condition) if _kind(condition) == SCALAR else _arrays().uniform(condition)


def is_array(value: Value) -> bool:
    """Whether the value is an array or one of numpy's scalars."""
    return _kind(value) == ARRAY


_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _kind(*values: Value) -> int:
    kind = SCALAR
    for value in values:
        found = _KINDS.get(value.__class__)
        if found is None:
            found = _learn(value.__class__)
        if found > kind:  # noqa: PLR1730 - a call of max() costs as much as the rest of this loop
            kind = found
    return kind


def _learn(kind: type[Any]) -> int:
    package = kind.__module__.partition(".")[0]
    if package == "fractions":
        found = SCALAR
    elif package == "numpy":
        found = ARRAY
    else:
        raise TypeError(f"a value is an int, float, Fraction, float64 array or formula, not {kind.__name__}")
    _KINDS[kind] = found
    return found


def _has_float(left: Value, right: Value) -> bool:
    return type(left) is float or type(right) is float


def _arrays() -> ModuleType:
    # Imported at first sight of an array: the engine runs without numpy, in the browser for one.
    from rooflight.expr import arrays

    return arrays


def _space(*values: Value) -> Value:
    """The Space of the first formula; it refuses what it cannot hold."""
    for value in values:
        if type(value) is Expr:
            return value.space
    raise TypeError("a condition is a bool, a bool array or a relation made with cmp_()")
