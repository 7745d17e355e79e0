"""Choices between formulas: those that every binding would settle alike are settled here, by bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rooflight.expr import formula
from rooflight.expr.formula import Expr
from rooflight.expr.linear import difference, fraction_parts, make_product
from rooflight.expr.scalars import Exact, Value, ceiling, floor

if TYPE_CHECKING:
    from rooflight.expr.space import Space


NEGATED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<"}  # the order relations also swap sides
SWAPPED = {">": "<", ">=": "<="}


def extremum(space: Space, kind: str, values: Iterable[Value]) -> Value:
    """The largest (kind MAX) or smallest (kind MIN) value, without arguments that can never win."""
    pick = max if kind == formula.MAX else min
    constant: Exact | None = None
    found: dict[Expr, None] = {}
    for value in values:
        operand = space.operand(value)
        parts = operand.args if type(operand) is Expr and operand.kind == kind else (operand,)
        for part in parts:
            number: Value = space.plain(part) if type(part) is Expr else part
            if type(number) is Expr:
                found[number] = None
            else:
                constant = number if constant is None else pick(constant, number)
    if constant is not None:
        found[space.number(constant)] = None
    args = tuple([arg for arg in found if not any(_beaten(space, kind, arg, other) for other in found)])
    if len(args) == 1:
        return space.plain(args[0])
    return space.node(kind, args, (kind, frozenset(args)))


def _beaten(space: Space, kind: str, arg: Expr, other: Expr) -> bool:
    """Whether `other` wins over `arg` at every binding; of two equals the older node stays, whatever their order."""
    if arg is other:
        return False
    low, high = difference(space, other, arg) if kind == formula.MAX else difference(space, arg, other)
    return low is not None and low >= 0 and not (high == 0 and low == 0 and arg.serial < other.serial)


def whole_quotient(space: Space, kind: str, over: Value, under: Value) -> Value:
    """⌈over/under⌉ or ⌊over/under⌋ with common factors cancelled; the plain quotient when it is provably whole."""
    quotient = make_product(space, ((over, 1), (under, -1)))
    if type(quotient) is not Expr:
        return ceiling(quotient) if kind == formula.CEIL_DIV else floor(quotient)
    if quotient.whole:
        return quotient
    parts = fraction_parts(space, quotient)
    args = (space.as_node(parts[0]), space.as_node(parts[1]))
    return space.node(kind, args, (kind, *args))


def compare(space: Space, op: str, left: Value, right: Value) -> bool | Expr:
    """Whether left op right: a bool where the bounds settle it, else a relation."""
    if op in SWAPPED:
        op, left, right = SWAPPED[op], right, left
    if op not in NEGATED:
        raise ValueError(f"cmp_ knows == != < <= > >=, not {op!r}")
    left, right = space.operand(left), space.operand(right)
    low, high = difference(space, right, left)
    if op in ("==", "!="):
        if low == high == 0:
            return op == "=="
        if (low is not None and low > 0) or (high is not None and high < 0):
            return op == "!="
    else:
        if low is not None and (low > 0 or (low == 0 and op == "<=")):
            return True
        if high is not None and (high < 0 or (high == 0 and op == "<")):
            return False
    a, b = space.as_node(left), space.as_node(right)
    sides = frozenset((a, b)) if op in ("==", "!=") else (a, b)
    return space.node(formula.RELATION, (op, a, b), (formula.RELATION, op, sides))


def junction(space: Space, kind: str, conditions: Iterable[bool | Expr]) -> bool | Expr:
    """All (kind AND) or any (kind OR) of the conditions."""
    absorbing = kind == formula.OR
    found: dict[Expr, None] = {}
    for condition in conditions:
        if type(condition) is Expr:
            node = space.condition(condition)
            found.update(dict.fromkeys(node.args if node.kind == kind else (node,)))
        elif condition is absorbing:
            return absorbing
    args = tuple(found)
    if len(args) < 2:  # noqa: PLR2004
        return args[0] if args else not absorbing
    return space.node(kind, args, (kind, frozenset(args)))


def negation(space: Space, condition: Expr) -> bool | Expr:
    """The opposite condition, with the negation moved into the relations."""
    kind, args = space.condition(condition).kind, condition.args
    if kind == formula.RELATION:
        op, left, right = args
        opposite = NEGATED[op]
        return compare(space, opposite, *((left, right) if op in ("==", "!=") else (right, left)))
    other = formula.OR if kind == formula.AND else formula.AND
    return junction(space, other, [negation(space, part) for part in args])


def selection(space: Space, condition: Expr, then: Value, otherwise: Value) -> Value:
    """`then` where the condition holds, else `otherwise`."""
    then, otherwise = space.operand(then), space.operand(otherwise)
    args = (space.condition(condition), space.as_node(then), space.as_node(otherwise))
    if args[1] is args[2]:
        return then
    return space.node(formula.WHERE, args, (formula.WHERE, *args))
