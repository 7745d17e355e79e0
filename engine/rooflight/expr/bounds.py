"""Each node carries bounds that hold for every binding its symbols allow, so provable choices can be folded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.scalars import Exact, ceiling, exact, exact_div, exact_power, floor

Bounds = tuple["Exact | None", "Exact | None"]  # None: not known

LIMIT = 2**256  # larger bounds are let go: no rule needs them, and powers of powers would fill the memory


def set_bounds(node: Expr) -> None:
    """Fill in low, high and whole of a composite node from those of its arguments."""
    kind, args = node.kind, node.args
    if kind == formula.NUMBER:
        node.low, node.high, node.whole = args, args, type(args) is int
        return
    if kind == formula.SUM:
        node.low, node.high = bounds_of_sum(*args)
        node.whole = type(args[0]) is int and all(type(c) is int and t.whole for t, c in args[1])
    elif kind == formula.PRODUCT:
        node.low, node.high = _bounds_of_product(*args)
        node.whole = type(args[0]) is int and all(p > 0 and b.whole for b, p in args[1])
    elif kind in (formula.CEIL_DIV, formula.FLOOR_DIV):
        node.low, node.high = _bounds_of_quotient(kind, *args)
        node.whole = True
    elif kind == formula.POWER:
        _set_power(node, *args)
    elif kind == formula.LET:
        body = args[1]
        node.low, node.high, node.whole = body.low, body.high, body.whole
    elif kind in (formula.MAX, formula.MIN, formula.WHERE):
        _set_choice(node, kind, args)
    node.low, node.high = _loosened(node.low, ceil=False), _loosened(node.high, ceil=True)


def _loosened(bound: Exact | None, *, ceil: bool) -> Exact | None:
    """The bound in few digits, never tighter than given."""
    if bound is None:
        return None
    if bound.denominator > LIMIT:
        bound = ceiling(bound) if ceil else floor(bound)
    if abs(bound) <= LIMIT:
        return bound
    if ceil:
        return -LIMIT if bound < 0 else None
    return LIMIT if bound > 0 else None


def bounds_of_sum(constant: Exact, terms: Iterable[tuple[Expr, Exact]]) -> Bounds:
    """Bounds of constant + Σ coefficient·term."""
    low: Any = constant
    high: Any = constant
    for term, coefficient in terms:
        least, most = (term.low, term.high) if coefficient > 0 else (term.high, term.low)
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or most is None else high + coefficient * most
    return None if low is None else exact(low), None if high is None else exact(high)


def _bounds_of_product(coefficient: Exact, powers: Iterable[tuple[Expr, int]]) -> Bounds:
    low: Exact = 1
    high: Exact | None = 1
    for base, exponent in powers:
        if base.low is None or base.low < 0:
            return None, None  # a factor of unknown sign
        if exponent > 0:
            low = exact(low * base.low**exponent)
            high = None if high is None or base.high is None else exact(high * base.high**exponent)
        else:
            low = 0 if not base.high else exact(low * exact_power(base.high, exponent))
            high = None if high is None or base.low == 0 else exact(high * exact_power(base.low, exponent))
    if coefficient > 0:
        return exact(low * coefficient), None if high is None else exact(high * coefficient)
    return None if high is None else exact(high * coefficient), exact(low * coefficient)


def _bounds_of_quotient(kind: str, over: Expr, under: Expr) -> Bounds:
    if over.low is None or over.low < 0 or under.low is None or under.low < 0:
        return None, None
    whole = ceiling if kind == formula.CEIL_DIV else floor
    # ⌈positive⌉ is at least 1, however large the divisor.
    least = int(kind == formula.CEIL_DIV and over.low > 0)
    low = whole(exact_div(over.low, under.high)) if under.high else least
    return low, None if over.high is None or under.low == 0 else whole(exact_div(over.high, under.low))


def _set_power(node: Expr, base: Expr, exponent: Expr) -> None:
    rising = exponent.low is not None and exponent.low >= 0
    if base.low is not None and base.low >= 0:
        node.low = 1 if rising and base.low >= 1 else 0
        node.high = 1 if rising and base.high is not None and base.high <= 1 else None
    node.whole = rising and base.whole and exponent.whole


def _set_choice(node: Expr, kind: str, args: tuple[Expr, ...]) -> None:
    branches = args[1:] if kind == formula.WHERE else args
    lows = [branch.low for branch in branches if branch.low is not None]
    highs = [branch.high for branch in branches if branch.high is not None]
    complete_low, complete_high = len(lows) == len(branches), len(highs) == len(branches)
    if kind == formula.MAX:  # at least each argument
        node.low = max(lows, default=None)
        node.high = max(highs) if complete_high else None
    elif kind == formula.MIN:
        node.low = min(lows) if complete_low else None
        node.high = min(highs, default=None)
    else:
        node.low = min(lows) if complete_low else None
        node.high = max(highs) if complete_high else None
    node.whole = all(branch.whole for branch in branches)
