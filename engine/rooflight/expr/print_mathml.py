"""Formulas as presentation MathML, in the part of it that browsers draw without a script."""

from __future__ import annotations

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.print_text import text
from rooflight.expr.printing import SUM, Piece, write
from rooflight.expr.scalars import Value

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_OPERATORS = {"==": "=", "!=": "≠", "<": "&lt;", "<=": "≤"}
_TIMES = "<mo>·</mo>"
_COMMA = "<mo>,</mo>"
_APPLY = "<mo>\u2061</mo>"  # invisible: this name is a function of what follows
_FENCES = {formula.CEIL_DIV: "⌈⌉", formula.FLOOR_DIV: "⌊⌋"}


def mathml(value: Value, memo: dict[Expr, Piece] | None = None) -> str:
    """The formula or number as markup to stand inside <math>. One memo for several formulas writes shared parts once.

    Raises ValueError when the markup would be longer than a few million characters.
    """
    return write(value, _MathML(), memo)


def math_element(value: Value, *, display: bool = False) -> str:
    """A whole <math> element with the text form as alttext, on a line of its own when `display`."""
    block = ' display="block"' if display else ""
    return f'<math{block} alttext="{_escaped(text(value))}">{mathml(value)}</math>'


def _escaped(text: str) -> str:
    return text.translate(_MARKUP)


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _fence(left: str, inner: str, right: str) -> str:
    return _row(f'<mo fence="true" form="prefix">{left}</mo>', inner, f'<mo fence="true" form="postfix">{right}</mo>')


class _MathML:
    stacked = True
    choice_level = SUM - 1  # its brace closes nowhere, so it never stands bare inside a sum

    def number(self, value: int) -> str:
        return f"<mn>{value}</mn>"

    def name(self, name: str) -> str:
        base, _, index = name.partition("_")
        if not base or not index or "." in name:
            return f"<mi>{_escaped(name)}</mi>"
        return f"<msub><mi>{_escaped(base)}</mi><mtext>{_escaped(index)}</mtext></msub>"

    def group(self, inner: str) -> str:
        return _fence("(", inner, ")")

    def sum(self, terms: list[tuple[bool, str]]) -> str:
        (minus, first), *others = terms
        parts = [f"<mo>{'−' if negative else '+'}</mo>{term}" for negative, term in others]
        return _row('<mo form="prefix">−</mo>' if minus else "", first, *parts)

    def product(self, factors: list[str]) -> str:
        return _row(_TIMES.join(factors))

    def fraction(self, over: str, under: str) -> str:
        return f"<mfrac>{over}{under}</mfrac>"

    def power(self, base: str, exponent: str) -> str:
        return f"<msup>{base}{exponent}</msup>"

    def call(self, function: str, arguments: list[str]) -> str:
        return _row(f"<mi>{function}</mi>", _APPLY, _fence("(", _COMMA.join(arguments), ")"))

    def rounded(self, kind: str, inner: str) -> str:
        left, right = _FENCES[kind]
        return _fence(left, inner, right)

    def relation(self, op: str, left: str, right: str) -> str:
        return _row(left, f"<mo>{_OPERATORS[op]}</mo>", right)

    def junction(self, kind: str, conditions: list[str]) -> str:
        return _row(f"<mtext>\u00a0{kind}\u00a0</mtext>".join(conditions))

    def choice(self, condition: str, then: str, otherwise: str) -> str:
        rows = (
            f"<mtr><mtd>{then}</mtd><mtd><mtext>if\u00a0</mtext>{condition}</mtd></mtr>"
            f"<mtr><mtd>{otherwise}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>"
        )
        return _row('<mo fence="true" form="prefix">{</mo>', f'<mtable class="cases">{rows}</mtable>')
