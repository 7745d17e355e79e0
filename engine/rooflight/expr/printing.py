"""Precedence, signs and fractions are settled here once; a notation only says how each piece is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rooflight.expr import formula
from rooflight.expr.formula import Expr, nodes
from rooflight.expr.scalars import Exact, Value, exact

MAX_PRINTED = 4_000_000  # characters of one piece: shared parts unfold in print, so a small graph can be a long text

# How tightly a printed piece holds together; a looser piece inside a tighter one is put in parentheses.
OR, AND, RELATION, SUM, PRODUCT, POWER, ATOM = range(7)

Piece = tuple[str, int]


class Notation(Protocol):
    """How a language writes numbers, names and operations. All arguments but names are already written."""

    stacked: bool  # a fraction is drawn with a line, which groups what is above and below it
    choice_level: int  # how tightly a written choice holds together

    def number(self, value: int) -> str: ...
    def name(self, name: str) -> str: ...
    def group(self, inner: str) -> str: ...
    def sum(self, terms: list[tuple[bool, str]]) -> str:
        """Terms with their signs, True for minus."""
        ...

    def product(self, factors: list[str]) -> str: ...
    def fraction(self, over: str, under: str) -> str: ...
    def power(self, base: str, exponent: str) -> str: ...
    def call(self, function: str, arguments: list[str]) -> str: ...
    def rounded(self, kind: str, inner: str) -> str:
        """⌈inner⌉ for kind CEIL_DIV, ⌊inner⌋ for FLOOR_DIV."""
        ...

    def relation(self, op: str, left: str, right: str) -> str: ...
    def junction(self, kind: str, conditions: list[str]) -> str:
        """Conditions joined by kind AND or OR."""
        ...

    def choice(self, condition: str, then: str, otherwise: str) -> str: ...


def write(value: Value, notation: Notation, memo: dict[Expr, Piece] | None = None) -> str:
    """The formula or number in a notation. One memo for several formulas writes shared parts once.

    Raises ValueError when a formula unfolds beyond MAX_PRINTED characters.
    """
    if isinstance(value, bool):
        return notation.name(str(value).lower())
    if type(value) is not Expr:
        return _number(exact(value), notation)[0]
    if memo is None:
        memo = {}
    for node in nodes(value, memo):
        piece = _write_node(node, notation, memo)
        if len(piece[0]) > MAX_PRINTED:
            raise ValueError("a formula too long to print: give its parts names with named()")
        memo[node] = piece
    return memo[value][0]


def _write_node(node: Expr, notation: Notation, memo: dict[Expr, Piece]) -> Piece:
    kind, args = node.kind, node.args
    if kind == formula.NUMBER:
        return _number(args, notation)
    if kind in (formula.SYMBOL, formula.LET):
        return notation.name(args if kind == formula.SYMBOL else args[0]), ATOM
    if kind == formula.SUM:
        return _sum(args[0], args[1], notation, memo)
    if kind == formula.PRODUCT:
        return _term(args[0], args[1], notation, memo)
    if kind in (formula.MAX, formula.MIN):
        return notation.call(kind, [memo[arg][0] for arg in args]), ATOM
    if kind in (formula.CEIL_DIV, formula.FLOOR_DIV):
        over, under = args
        inner = memo[over][0]
        if under.args != 1:
            inner = _fraction([memo[over]], [memo[under]], notation)
        return notation.rounded(kind, inner), ATOM
    if kind == formula.POWER:
        base, exponent = memo[args[0]], memo[args[1]]
        return notation.power(_inside(base, ATOM, notation), _exponent(exponent, notation)), POWER
    if kind == formula.RELATION:
        op, left, right = args
        return notation.relation(op, _inside(memo[left], SUM, notation), _inside(memo[right], SUM, notation)), RELATION
    if kind == formula.WHERE:
        condition, then, otherwise = [memo[arg][0] for arg in args]
        return notation.choice(condition, then, otherwise), notation.choice_level
    level = AND if kind == formula.AND else OR
    return notation.junction(kind, [_inside(memo[arg], level + 1, notation) for arg in args]), level


def _number(value: Exact, notation: Notation) -> Piece:
    if value < 0:
        return notation.sum([(True, _number(-value, notation)[0])]), SUM
    if isinstance(value, int):
        return notation.number(value), ATOM
    return notation.fraction(notation.number(value.numerator), notation.number(value.denominator)), PRODUCT


def _sum(constant: Exact, terms: Iterable[tuple[Expr, Exact]], notation: Notation, memo: dict[Expr, Piece]) -> Piece:
    """Terms as written, the constant last, unless that would start the sum with a minus: 1 - x."""
    written: list[tuple[bool, str]] = []
    for term, coefficient in terms:
        powers = term.args[1] if term.kind == formula.PRODUCT else ((term, 1),)
        piece = _term(abs(coefficient), powers, notation, memo)
        written.append((coefficient < 0, _inside(piece, PRODUCT, notation)))
    if constant != 0:
        first = constant > 0 and written[0][0]
        written.insert(0 if first else len(written), (constant < 0, _number(abs(constant), notation)[0]))
    return notation.sum(written), SUM


def _term(coefficient: Exact, powers: Iterable[tuple[Expr, int]], notation: Notation, memo: dict[Expr, Piece]) -> Piece:
    """A coefficient times powers; those with negative exponents go below the line."""
    if coefficient < 0:
        return notation.sum([(True, _inside(_term(-coefficient, powers, notation, memo), PRODUCT, notation))]), SUM
    over: list[Piece] = []
    under: list[Piece] = []
    if coefficient.numerator != 1:
        over.append((notation.number(coefficient.numerator), ATOM))
    if coefficient.denominator != 1:
        under.append((notation.number(coefficient.denominator), ATOM))
    for base, exponent in powers:
        (over if exponent > 0 else under).append(_base_power(memo[base], abs(exponent), notation))
    if under:
        return _fraction(over or [(notation.number(1), ATOM)], under, notation), PRODUCT
    return (over[0][0], over[0][1]) if len(over) == 1 else (_product(over, notation), PRODUCT)


def _base_power(base: Piece, exponent: int, notation: Notation) -> Piece:
    if exponent == 1:
        return base
    return notation.power(_inside(base, ATOM, notation), notation.number(exponent)), POWER


def _product(factors: list[Piece], notation: Notation) -> str:
    return notation.product([_inside(factor, POWER, notation) for factor in factors])


def _fraction(over: list[Piece], under: list[Piece], notation: Notation) -> str:
    above, below = _line(over, notation), _line(under, notation)
    if notation.stacked:
        return notation.fraction(above[0], below[0])
    return notation.fraction(_inside(above, PRODUCT, notation), _inside(below, POWER, notation))


def _line(factors: list[Piece], notation: Notation) -> Piece:
    return factors[0] if len(factors) == 1 else (_product(factors, notation), PRODUCT)


def _exponent(exponent: Piece, notation: Notation) -> str:
    return exponent[0] if notation.stacked else _inside(exponent, ATOM, notation)


def _inside(piece: Piece, level: int, notation: Notation) -> str:
    return piece[0] if piece[1] >= level else notation.group(piece[0])
