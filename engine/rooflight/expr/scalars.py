"""Exact scalars are ints, and Fractions only where an int cannot say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

# A value is an int, float, Fraction, float64 array or formula. One walk runs on all of them and the type checker
# has no name for "whatever was bound", so the alias is Any: it marks intent, and the helpers check at run time.
Value: TypeAlias = Any

Exact: TypeAlias = "int | Fraction"


def exact(value: Value) -> Exact:
    """The same number as an int, or as a Fraction in lowest terms. A float counts for the binary fraction it is.

    Raises TypeError for anything that is not a real scalar, ValueError for inf and nan.
    """
    kind = value.__class__
    if kind is int:
        return value
    if kind.__module__ == "fractions":
        return value.numerator if value.denominator == 1 else value
    if isinstance(value, float):  # np.float64 too: it is a float
        try:
            return ratio(*value.as_integer_ratio())
        except (OverflowError, ValueError):
            raise ValueError(f"a formula holds finite numbers only, not {value!r}") from None
    raise TypeError(f"a formula holds ints, floats and Fractions, not {kind.__name__}")


def ratio(over: int, under: int) -> Exact:
    """The exact quotient over / under. Raises ZeroDivisionError when under is 0."""
    quotient, rest = divmod(over, under)
    if rest == 0:
        return quotient
    # Imported at first need: `fractions` costs more than the rest of the engine's import together.
    from fractions import Fraction

    return Fraction(over, under)


def exact_div(over: Exact, under: Exact) -> Exact:
    """The exact quotient over / under. Raises ZeroDivisionError when under is 0."""
    return ratio(over.numerator * under.denominator, over.denominator * under.numerator)


def exact_power(base: Exact, exponent: int) -> Exact:
    """The exact power base ** exponent. Raises ZeroDivisionError for a negative power of 0."""
    if exponent >= 0:
        return exact(base**exponent)
    return exact_div(1, base**-exponent)


def ceiling(value: Exact) -> int:
    """The least int that is not below value."""
    return -(-value.numerator // value.denominator)


def floor(value: Exact) -> int:
    """The greatest int that is not above value."""
    return value.numerator // value.denominator
