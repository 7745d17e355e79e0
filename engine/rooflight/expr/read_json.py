"""A table of formulas is read back node by node, and refused at the first node that was not written by to_json()."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, cast

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.graph_json import SAFE_INTEGER, exact_json, row_of
from rooflight.expr.scalars import Exact, Value, ratio
from rooflight.expr.space import Space

# Bounds on what is read: data may come from anywhere.
MAX_NODES = 50_000
MAX_ROOTS = 20_000
MAX_ARGUMENTS = 5_000
MAX_CHOICES = 64  # arguments of one max or min, which are compared pairwise
MAX_EXPONENT = 64
MAX_DIGITS = 400  # the exact value of a float takes up to 324

_NUMBER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(/[1-9][0-9]{{0,{MAX_DIGITS - 1}}})?", re.ASCII)
_RELATIONS = ("==", "!=", "<", "<=")
_UNORDERED = frozenset((formula.MAX, formula.MIN, formula.AND, formula.OR, "==", "!="))


class FormulaDataError(ValueError):
    """Data that is not a table of formulas; the message says where and what was expected."""


def from_json(data: Any, space: Space) -> dict[str, Value]:
    """The named formulas of a table, made in this space. to_json() of the result gives the same table.

    Raises FormulaDataError for anything to_json() would not write.
    """
    table, heads = _parts(data)
    reader = _Reader(space)
    for row in table:
        reader.add(row)
    roots: dict[str, Value] = {}
    for name, head in heads.items():
        if isinstance(head, dict) and list(cast("dict[str, Any]", head)) == ["value"]:
            roots[name] = _read_scalar(cast("dict[str, Any]", head)["value"], f"root {name[:40]!r}")
        else:
            roots[name] = _reference(head, reader.made, f"root {name[:40]!r}")
    return roots


def _parts(data: Any) -> tuple[list[Any], dict[str, Any]]:
    if not isinstance(data, dict) or set(cast("dict[str, Any]", data)) != {"nodes", "roots"}:
        raise FormulaDataError('a table of formulas is {"nodes": [...], "roots": {...}}')
    table, heads = cast("dict[str, Any]", data)["nodes"], cast("dict[str, Any]", data)["roots"]
    if not isinstance(table, list) or len(cast("list[Any]", table)) > MAX_NODES:
        raise FormulaDataError(f"nodes: a list of at most {MAX_NODES} nodes is expected")
    if not isinstance(heads, dict) or len(cast("dict[str, Any]", heads)) > MAX_ROOTS:
        raise FormulaDataError(f"roots: an object of at most {MAX_ROOTS} entries is expected")
    if not all(isinstance(name, str) for name in cast("dict[Any, Any]", heads)):
        raise FormulaDataError("roots: names are expected to be text")
    return cast("list[Any]", table), cast("dict[str, Any]", heads)


def _read_scalar(value: Any, where: str) -> Value:
    if isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _read_exact(value, where)


def _read_exact(value: Any, where: str) -> Exact:
    if type(value) is int and abs(value) <= SAFE_INTEGER:
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        over, _, under = value.partition("/")
        number = ratio(int(over), int(under or 1))
        if exact_json(number) == value:
            return number
    raise FormulaDataError(f'{where}: an exact number is expected, 3 or "2/3" in lowest terms')


def _reference(value: Any, made: list[Expr], where: str) -> Expr:
    if type(value) is not int or not 0 <= value < len(made):
        raise FormulaDataError(f"{where}: the index of an earlier node is expected, below {len(made)}")
    return made[value]


def _same(left: list[Any], right: list[Any]) -> bool:
    """Whether two rows say the same; the order of terms is how a formula was first written, not what it is."""
    return len(left) == len(right) and _unordered(left) == _unordered(right)


def _unordered(row: list[Any]) -> tuple[Any, ...]:
    tag, *args = row
    if tag in ("+", "*"):
        return tag, args[0], frozenset([tuple(cast("list[Any]", a)) if isinstance(a, list) else a for a in args[1:]])
    return (tag, frozenset(args)) if tag in _UNORDERED else tuple(row)


class _Reader:
    """The nodes made so far, and how each kind of row adds one."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.made: list[Expr] = []
        self.index: dict[Expr, int] = {}
        self.where = ""

    def add(self, row: Any) -> None:
        self.where = f"node {len(self.made)}"
        if not isinstance(row, list) or not 2 <= len(cast("list[Any]", row)) <= MAX_ARGUMENTS:  # noqa: PLR2004
            raise self.error(f"a list [kind, ...] of 2 to {MAX_ARGUMENTS} entries is expected")
        tag, *args = cast("list[Any]", row)
        if not isinstance(tag, str) or tag not in _READERS:
            raise self.error(f"a kind is one of {' '.join(_READERS)}")
        try:
            node = _READERS[tag](self, tag, args)
        except (ArithmeticError, TypeError, ValueError) as error:
            if isinstance(error, FormulaDataError):
                raise
            raise self.error(str(error)) from error
        # Made anew, the node must be what the row says; anything else was not in canonical form.
        if type(node) is not Expr or not _same(row_of(node, self.index), cast("list[Any]", row)):
            raise self.error("not in the form that to_json() writes")
        self.index.setdefault(node, len(self.made))
        self.made.append(node)

    def error(self, reason: str) -> FormulaDataError:
        return FormulaDataError(f"{self.where}: {reason}")

    def number(self, _: str, args: list[Any]) -> Value:
        self.count(args, 1)
        return self.space.number(_read_exact(args[0], self.where))

    def symbol(self, _: str, args: list[Any]) -> Value:
        if len(args) == 3 and args[2] is not False:  # noqa: PLR2004
            raise self.error("the third entry of a symbol is false or left out")
        self.count(args[:2], 2)
        return self.space.symbol(self.name(args[0]), minimum=_read_exact(args[1], self.where), whole=len(args) == 2)  # noqa: PLR2004

    def sum(self, _: str, args: list[Any]) -> Value:
        parts = [self.weighted(arg) for arg in args[1:]]
        terms = [self.space.product(((c, 1), (term, 1))) for term, c in parts]
        return self.space.total([*terms, _read_exact(args[0], self.where)])

    def product(self, _: str, args: list[Any]) -> Value:
        powers: list[tuple[Value, int]] = []
        for base, exponent in [self.weighted(arg) for arg in args[1:]]:
            if not isinstance(exponent, int) or abs(exponent) > MAX_EXPONENT:
                raise self.error(f"an exponent is an integer of at most {MAX_EXPONENT} either way")
            if base.kind in (formula.NUMBER, formula.PRODUCT):  # checked first: powers of numbers explode
                raise self.error("the factors of a product are neither numbers nor products")
            powers.append((base, exponent))
        return self.space.product([(_read_exact(args[0], self.where), 1), *powers])

    def choice(self, tag: str, args: list[Any]) -> Value:
        if len(args) > MAX_CHOICES:
            raise self.error(f"at most {MAX_CHOICES} arguments are read here")
        values = [self.ref(arg) for arg in args]
        return self.space.max_(*values) if tag == formula.MAX else self.space.min_(*values)

    def quotient(self, tag: str, args: list[Any]) -> Value:
        self.count(args, 2)
        over, under = self.ref(args[0]), self.ref(args[1])
        return self.space.ceil_div(over, under) if tag == formula.CEIL_DIV else self.space.floor_div(over, under)

    def power(self, _: str, args: list[Any]) -> Value:
        self.count(args, 2)
        base, exponent = self.ref(args[0]), self.ref(args[1])
        if exponent.kind == formula.NUMBER and exponent.whole:  # checked first, as in product
            raise self.error("a power with an integer exponent is written as a product")
        return self.space.power(base, exponent)

    def relation(self, tag: str, args: list[Any]) -> Value:
        self.count(args, 2)
        return self.space.cmp_(tag, self.ref(args[0]), self.ref(args[1]))

    def junction(self, tag: str, args: list[Any]) -> Value:
        conditions = [self.ref(arg) for arg in args]
        return self.space.and_(*conditions) if tag == formula.AND else self.space.or_(*conditions)

    def where_node(self, _: str, args: list[Any]) -> Value:
        self.count(args, 3)
        return self.space.where(*[self.ref(arg) for arg in args])

    def let(self, _: str, args: list[Any]) -> Value:
        self.count(args, 2)
        return self.space.named(self.name(args[0]), self.ref(args[1]))

    def count(self, args: list[Any], wanted: int) -> None:
        if len(args) != wanted:
            raise self.error(f"{wanted} entries after the kind are expected, not {len(args)}")

    def name(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.error("a name is expected to be text")
        return value

    def ref(self, value: Any) -> Expr:
        return _reference(value, self.made, self.where)

    def weighted(self, value: Any) -> tuple[Expr, Exact]:
        if isinstance(value, list) and len(cast("list[Any]", value)) == 2:  # noqa: PLR2004
            reference, weight = cast("list[Any]", value)
            return self.ref(reference), _read_exact(weight, self.where)
        return self.ref(value), 1


_READERS: dict[str, Callable[[_Reader, str, list[Any]], Value]] = {
    formula.NUMBER: _Reader.number,
    formula.SYMBOL: _Reader.symbol,
    "+": _Reader.sum,
    "*": _Reader.product,
    formula.MAX: _Reader.choice,
    formula.MIN: _Reader.choice,
    formula.CEIL_DIV: _Reader.quotient,
    formula.FLOOR_DIV: _Reader.quotient,
    "^": _Reader.power,
    **dict.fromkeys(_RELATIONS, _Reader.relation),
    formula.AND: _Reader.junction,
    formula.OR: _Reader.junction,
    formula.WHERE: _Reader.where_node,
    formula.LET: _Reader.let,
}
