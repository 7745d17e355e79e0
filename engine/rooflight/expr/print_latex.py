r"""Formulas as LaTeX for math mode, with amsmath: 2 \cdot B \cdot \left\lceil \frac{T}{\mathrm{tp}} \right\rceil."""

from __future__ import annotations

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.printing import SUM, Piece, write
from rooflight.expr.scalars import Value

_OPERATORS = {"==": "=", "!=": r"\ne", "<": "<", "<=": r"\le"}


def latex(value: Value, memo: dict[Expr, Piece] | None = None) -> str:
    """The formula or number as LaTeX. One memo for several formulas writes shared parts once.

    Raises ValueError when the text would be longer than a few million characters.
    """
    return write(value, _Latex(), memo)


def _upright(word: str) -> str:
    return r"\mathrm{" + word.replace("_", r"\_") + "}"


class _Latex:
    stacked = True
    choice_level = SUM - 1  # its brace closes nowhere, so it never stands bare inside a sum

    def number(self, value: int) -> str:
        return str(value)

    def name(self, name: str) -> str:
        base, _, index = name.partition("_")
        if not base or "." in name:
            return _upright(name)
        written = base if len(base) == 1 else _upright(base)
        return f"{written}_{{{_upright(index)}}}" if index else written

    def group(self, inner: str) -> str:
        return rf"\left({inner}\right)"

    def sum(self, terms: list[tuple[bool, str]]) -> str:
        (minus, first), *others = terms
        parts = [f" - {term}" if negative else f" + {term}" for negative, term in others]
        return "".join(["-" if minus else "", first, *parts])

    def product(self, factors: list[str]) -> str:
        return r" \cdot ".join(factors)

    def fraction(self, over: str, under: str) -> str:
        return rf"\frac{{{over}}}{{{under}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"

    def call(self, function: str, arguments: list[str]) -> str:
        return rf"\{function}\left({', '.join(arguments)}\right)"

    def rounded(self, kind: str, inner: str) -> str:
        side = "ceil" if kind == formula.CEIL_DIV else "floor"
        return rf"\left\l{side} {inner} \right\r{side}"

    def relation(self, op: str, left: str, right: str) -> str:
        return f"{left} {_OPERATORS[op]} {right}"

    def junction(self, kind: str, conditions: list[str]) -> str:
        return rf" \text{{ {kind} }} ".join(conditions)

    def choice(self, condition: str, then: str, otherwise: str) -> str:
        return rf"\begin{{cases}} {then} & \text{{if }} {condition} \\ {otherwise} & \text{{otherwise}} \end{{cases}}"
