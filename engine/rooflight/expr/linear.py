"""Sums and products have one form each: flat, constants folded, like terms collected, nothing expanded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rooflight.expr.bounds import Bounds, bounds_of_sum
from rooflight.expr.formula import LET, NUMBER, PRODUCT, SUM, Expr
from rooflight.expr.scalars import Exact, Value, exact, exact_power

if TYPE_CHECKING:
    from rooflight.expr.space import Space


MAX_STEPS = 2_000  # of one difference: sums inside sums unfold to more terms than the graph has nodes


def make_sum(space: Space, values: Iterable[Value]) -> Value:
    """Σ values, as a number or formula.

    A number in front of a sum stays there, 3·(a + b), but a sign goes inside: x - (a + b) is x - a - b. Otherwise
    x + s - s would keep a sum that is nowhere.
    """
    constant: Exact = 0
    terms: dict[Expr, Exact] = {}
    for value in values:
        constant += _add_term(space, terms, space.operand(value), 1)
    while inner := [(term, c) for term, c in terms.items() if term.kind == SUM and c in (1, -1)]:
        for term, _ in inner:  # all of this round at once, so the result does not depend on their order
            del terms[term]
        for term, sign in inner:
            constant += sign * term.args[0]
            for part, coefficient in term.args[1]:
                constant += _add_term(space, terms, part, coefficient * sign)
    return _sum_node(space, exact(constant), tuple([(t, exact(c)) for t, c in terms.items() if c != 0]))


def make_product(space: Space, factors: Iterable[tuple[Value, int]]) -> Value:
    """Π value ** exponent, as a number or formula.

    Equal bases cancel, so the result holds where no cancelled base is 0. Raises ZeroDivisionError for a constant 0
    with a negative exponent.
    """
    coefficient: Exact = 1
    powers: dict[Expr, int] = {}
    for value, exponent in factors:
        factor = space.operand(value)
        if type(factor) is not Expr:
            coefficient *= exact_power(factor, exponent)
        elif factor.kind == PRODUCT:
            coefficient *= exact_power(factor.args[0], exponent)
            for base, inner in factor.args[1]:
                powers[base] = powers.get(base, 0) + inner * exponent
        else:
            powers[factor] = powers.get(factor, 0) + exponent
    return _product_node(space, exact(coefficient), tuple([(b, p) for b, p in powers.items() if p != 0]))


def difference(space: Space, left: Value, right: Value) -> Bounds:
    """Bounds of left - right, with numeric factors distributed and names opened so that like terms do cancel."""
    constant: Exact = 0
    terms: dict[Expr, Exact] = {}
    steps = 0
    stack: list[tuple[Value, Exact]] = [(left, 1), (right, -1)]
    while stack:
        value, scale = stack.pop()
        steps += 1
        if steps > MAX_STEPS:
            return None, None
        if type(value) is not Expr:
            constant += value * scale
        elif value.kind == NUMBER:
            constant += value.args * scale
        elif value.kind == SUM:
            constant += value.args[0] * scale
            stack.extend([(term, coefficient * scale) for term, coefficient in value.args[1]])
        elif value.kind == LET:
            stack.append((value.args[1], scale))
        elif value.kind == PRODUCT:
            coefficient, powers = value.args
            base, exponent = powers[0]
            if len(powers) == 1 and exponent == 1 and base.kind in (SUM, LET):
                stack.append((base, scale * coefficient))
            else:
                unit = _product_node(space, 1, powers)
                terms[unit] = terms.get(unit, 0) + coefficient * scale
        else:
            terms[value] = terms.get(value, 0) + scale
    return bounds_of_sum(exact(constant), [(term, c) for term, c in terms.items() if c != 0])


def fraction_parts(space: Space, quotient: Expr) -> tuple[Value, Value]:
    """(over, under) of a quotient in lowest terms; under is 1 when there is nothing below the line."""
    if quotient.kind != PRODUCT:
        return quotient, 1
    coefficient, powers = quotient.args
    over = _product_node(space, coefficient.numerator, tuple([(b, p) for b, p in powers if p > 0]))
    under = _product_node(space, coefficient.denominator, tuple([(b, -p) for b, p in powers if p < 0]))
    return over, under


def scaled(space: Space, term: Expr, coefficient: Exact) -> Value:
    """The product coefficient · term, as it stands in a sum."""
    return make_product(space, ((coefficient, 1), (term, 1)))


def _add_term(space: Space, terms: dict[Expr, Exact], value: Value, scale: Exact) -> Exact:
    """Collect scale·value into terms and return what it adds to the constant."""
    if type(value) is not Expr:
        return value * scale
    kind, args = value.kind, value.args
    if kind == SUM and scale == 1:
        for term, coefficient in args[1]:
            terms[term] = terms.get(term, 0) + coefficient
        return args[0]
    if kind == PRODUCT and args[0] != 1:
        unit = _product_node(space, 1, args[1])
        terms[unit] = terms.get(unit, 0) + args[0] * scale
    else:
        terms[value] = terms.get(value, 0) + scale
    return 0


def _sum_node(space: Space, constant: Exact, terms: tuple[tuple[Expr, Exact], ...]) -> Value:
    if not terms:
        return constant
    if constant == 0 and len(terms) == 1:
        term, coefficient = terms[0]
        return scaled(space, term, coefficient)
    return space.node(SUM, (constant, terms), (SUM, constant, frozenset(terms)))


def _product_node(space: Space, coefficient: Exact, powers: tuple[tuple[Expr, int], ...]) -> Value:
    if not powers or coefficient == 0:
        return coefficient
    if len(powers) == 1 and powers[0][1] == 1:
        base = powers[0][0]
        if coefficient == 1:
            return base
        if coefficient == -1 and base.kind == SUM:
            constant, terms = base.args
            return _sum_node(space, -constant, tuple([(term, -c) for term, c in terms]))
    return space.node(PRODUCT, (coefficient, powers), (PRODUCT, coefficient, frozenset(powers)))
