"""Formulas as one line of Unicode: 2·B·⌈T/tp⌉·(d_nope + d_rope)."""

from __future__ import annotations

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.printing import ATOM, Piece, write
from rooflight.expr.scalars import Value

_OPERATORS = {"==": "=", "!=": "≠", "<": "<", "<=": "≤"}


def text(value: Value, memo: dict[Expr, Piece] | None = None) -> str:
    """The formula or number as text. One memo for several formulas writes shared parts once.

    Raises ValueError when the text would be longer than a few million characters.
    """
    return write(value, _Text(), memo)


class _Text:
    stacked = False
    choice_level = ATOM

    def number(self, value: int) -> str:
        return str(value)

    def name(self, name: str) -> str:
        return name

    def group(self, inner: str) -> str:
        return f"({inner})"

    def sum(self, terms: list[tuple[bool, str]]) -> str:
        (minus, first), *others = terms
        parts = [f" - {term}" if negative else f" + {term}" for negative, term in others]
        return "".join(["-" if minus else "", first, *parts])

    def product(self, factors: list[str]) -> str:
        return "·".join(factors)

    def fraction(self, over: str, under: str) -> str:
        return f"{over}/{under}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{exponent}"

    def call(self, function: str, arguments: list[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def rounded(self, kind: str, inner: str) -> str:
        return f"⌈{inner}⌉" if kind == formula.CEIL_DIV else f"⌊{inner}⌋"

    def relation(self, op: str, left: str, right: str) -> str:
        return f"{left} {_OPERATORS[op]} {right}"

    def junction(self, kind: str, conditions: list[str]) -> str:
        return f" {kind} ".join(conditions)

    def choice(self, condition: str, then: str, otherwise: str) -> str:
        return f"[{condition} ? {then} : {otherwise}]"
