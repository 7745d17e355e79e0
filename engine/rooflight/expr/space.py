"""A Space owns the formulas of one evaluation: its table makes equal formulas one object."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from rooflight.expr import choices, formula, linear
from rooflight.expr.bounds import set_bounds
from rooflight.expr.formula import Expr
from rooflight.expr.scalars import Exact, Value, exact, exact_power

MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


class Space:
    """Makes formulas and keeps each one once. Drop the Space and its formulas go together."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[Hashable, Expr] = {}

    def symbol(self, name: str, *, minimum: Exact = 1, whole: bool = True) -> Expr:
        """The symbol `name`: an integer no smaller than `minimum`, or any such real number when not `whole`.

        Raises ValueError for a name that is no dotted ASCII identifier, or one already declared otherwise.
        """
        check_name(name)
        low = exact(minimum)
        known = self._nodes.get((formula.SYMBOL, name))
        if known is None:
            known = self.node(formula.SYMBOL, name, (formula.SYMBOL, name))
            known.low, known.whole = low, whole
        elif (known.low, known.whole) != (low, whole):
            raise ValueError(f"symbol {name!r} is already declared with minimum={known.low}, whole={known.whole}")
        return known

    def named(self, name: str, value: Value) -> Value:
        """The value under a name: printed as the name, evaluated as the value. A constant stays a number."""
        check_name(name)
        body = self.operand(value)
        if type(body) is not Expr or body.args == name or (body.kind == formula.LET and body.args[0] == name):
            return body
        return self.node(formula.LET, (name, body), (formula.LET, name, body))

    def total(self, values: Iterable[Value]) -> Value:
        """The sum of all values."""
        return linear.make_sum(self, values)

    def product(self, factors: Iterable[tuple[Value, int]]) -> Value:
        """The product of all value ** exponent."""
        return linear.make_product(self, factors)

    def subtract(self, left: Value, right: Value) -> Value:
        """The difference left - right."""
        return linear.make_sum(self, (left, linear.make_product(self, ((-1, 1), (right, 1)))))

    def ceil_div(self, over: Value, under: Value) -> Value:
        """⌈over/under⌉."""
        return choices.whole_quotient(self, formula.CEIL_DIV, over, under)

    def floor_div(self, over: Value, under: Value) -> Value:
        """⌊over/under⌋."""
        return choices.whole_quotient(self, formula.FLOOR_DIV, over, under)

    def div(self, over: Value, under: Value) -> Value:
        """The quotient over / under."""
        return linear.make_product(self, ((over, 1), (under, -1)))

    def mod(self, over: Value, under: Value) -> Value:
        """The rest over - under·⌊over/under⌋."""
        return self.subtract(over, self.product(((under, 1), (self.floor_div(over, under), 1))))

    def power(self, base: Value, exponent: Value) -> Value:
        """The power base ** exponent."""
        base, exponent = self.operand(base), self.operand(exponent)
        if type(exponent) is int:
            return exact_power(base, exponent) if type(base) is not Expr else self.product(((base, exponent),))
        if type(base) is not Expr and base == 1:
            return 1
        args = (self.as_node(base), self.as_node(exponent))
        return self.node(formula.POWER, args, (formula.POWER, *args))

    def max_(self, *values: Value) -> Value:
        """The largest value."""
        return choices.extremum(self, formula.MAX, values)

    def min_(self, *values: Value) -> Value:
        """The smallest value."""
        return choices.extremum(self, formula.MIN, values)

    def cmp_(self, op: str, left: Value, right: Value) -> bool | Expr:
        """Whether left op right, with op one of == != < <= > >=."""
        return choices.compare(self, op, left, right)

    def and_(self, *conditions: bool | Expr) -> bool | Expr:
        """Whether all conditions hold."""
        return choices.junction(self, formula.AND, conditions)

    def or_(self, *conditions: bool | Expr) -> bool | Expr:
        """Whether any condition holds."""
        return choices.junction(self, formula.OR, conditions)

    def not_(self, condition: Expr) -> bool | Expr:
        """The opposite condition."""
        return choices.negation(self, condition)

    def where(self, condition: Expr, then: Value, otherwise: Value) -> Value:
        """`then` where the condition holds, else `otherwise`."""
        return choices.selection(self, condition, then, otherwise)

    # The rest is for the files of this room: how nodes are stored.

    def number(self, value: Exact) -> Expr:
        """A constant as a node, for use as another node's argument."""
        return self.node(formula.NUMBER, value, (formula.NUMBER, value))

    def node(self, kind: str, args: object, key: Hashable) -> Expr:
        """The one node with this key, made now if it is new. Arguments must be in canonical form."""
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = Expr(self, kind, args, len(self._nodes))
            set_bounds(known)
        return known

    def as_node(self, value: Value) -> Expr:
        """The operand as a node."""
        return value if type(value) is Expr else self.number(value)

    def plain(self, node: Expr) -> Value:
        """The node, or its number if it is a constant."""
        return node.args if node.kind == formula.NUMBER else node

    def operand(self, value: Value) -> Value:
        """A formula of this Space or an exact number. Raises TypeError for anything else."""
        if type(value) is not Expr:
            return exact(value)
        if value.space is not self:
            raise TypeError("formulas of two Spaces do not mix: make both in one Space")
        if value.kind in formula.CONDITIONS:
            raise TypeError("a condition is not a number: choose between numbers with where()")
        return self.plain(value)

    def condition(self, value: Expr) -> Expr:
        """A condition of this Space. Raises TypeError for anything else."""
        if type(value) is not Expr or value.kind not in formula.CONDITIONS:
            raise TypeError("a condition is expected here, made with cmp_(), and_(), or_() or not_()")
        if value.space is not self:
            raise TypeError("formulas of two Spaces do not mix: make both in one Space")
        return value


def check_name(name: str) -> None:
    """Raise ValueError unless the name is a dotted ASCII identifier of bounded length."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise ValueError(f"a name is made of ASCII letters, digits, _ and inner dots, not {name[:MAX_NAME]!r}")
