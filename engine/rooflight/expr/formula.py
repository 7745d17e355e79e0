"""A formula is a node in its Space's graph, and two equal formulas of one Space are one object."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from rooflight.expr.scalars import Exact, Value

if TYPE_CHECKING:
    from rooflight.expr.space import Space


# kind           args
NUMBER = "number"  # int | Fraction; only ever an argument of another node: a constant result is a plain number
SYMBOL = "symbol"  # name
SUM = "sum"  # constant, ((term, coefficient), ...)
PRODUCT = "product"  # coefficient, ((base, int exponent), ...)
MAX = "max"  # (formula, ...)
MIN = "min"  # (formula, ...)
CEIL_DIV = "ceil_div"  # over, under
FLOOR_DIV = "floor_div"  # over, under
POWER = "power"  # base, exponent; for exponents that are not integer constants
RELATION = "relation"  # "==" "!=" "<" or "<=", left, right
AND = "and"  # (condition, ...)
OR = "or"  # (condition, ...)
WHERE = "where"  # condition, then, otherwise
LET = "let"  # name, body: prints as its name, evaluates as its body

CONDITIONS = frozenset((RELATION, AND, OR))


class Expr:
    """A number or condition that depends on symbols. Made by a Space and by arithmetic, never by hand.

    `low` and `high` bound its value wherever it is defined (None: no bound known); `whole` says that the value is
    provably an integer. Equality and hash are identity; term order as first written is kept for printing only.
    """

    __slots__ = ("__weakref__", "args", "high", "kind", "low", "serial", "space", "whole")

    # numpy then leaves `array * formula` to us, and we refuse it instead of filling an object array.
    __array_ufunc__ = None

    def __init__(self, space: Space, kind: str, args: Any, serial: int) -> None:
        self.space = space
        self.kind = kind
        self.args = args  # shaped by kind, as the table above says
        self.serial = serial
        self.low: Exact | None = None
        self.high: Exact | None = None
        self.whole = False

    def __add__(self, other: Value) -> Value:
        return self.space.total((self, other))

    def __radd__(self, other: Value) -> Value:
        return self.space.total((other, self))

    def __mul__(self, other: Value) -> Value:
        return self.space.product(((self, 1), (other, 1)))

    def __rmul__(self, other: Value) -> Value:
        return self.space.product(((other, 1), (self, 1)))

    def __sub__(self, other: Value) -> Value:
        return self.space.subtract(self, other)

    def __rsub__(self, other: Value) -> Value:
        return self.space.subtract(other, self)

    def __truediv__(self, other: Value) -> Value:
        return self.space.product(((self, 1), (other, -1)))

    def __rtruediv__(self, other: Value) -> Value:
        return self.space.product(((other, 1), (self, -1)))

    def __floordiv__(self, other: Value) -> Value:
        return self.space.floor_div(self, other)

    def __rfloordiv__(self, other: Value) -> Value:
        return self.space.floor_div(other, self)

    def __mod__(self, other: Value) -> Value:
        return self.space.mod(self, other)

    def __rmod__(self, other: Value) -> Value:
        return self.space.mod(other, self)

    def __pow__(self, other: Value) -> Value:
        return self.space.power(self, other)

    def __rpow__(self, other: Value) -> Value:
        return self.space.power(other, self)

    def __neg__(self) -> Value:
        return self.space.product(((-1, 1), (self, 1)))

    def __pos__(self) -> Expr:
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError("a formula has no truth value: use where() or decide()")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a formula lives in its Space and is not copied or pickled: use to_json() and from_json()")

    def __repr__(self) -> str:
        # Imported here: printers are built on this file, and only a developer's eye needs the way back.
        from rooflight.expr.print_text import text

        return text(self)


def children(node: Expr) -> tuple[Expr, ...]:
    """The formulas a node is made of, in the order written."""
    kind, args = node.kind, node.args
    if kind in (SUM, PRODUCT):
        return tuple([part for part, _ in args[1]])
    if kind in (NUMBER, SYMBOL):
        return ()
    if kind in (RELATION, LET):
        return args[1:]
    return args


def nodes(root: Expr, done: Container[Expr] = ()) -> Iterator[Expr]:
    """Every node under root once, children before parents, left to right; nodes in `done` are not entered.

    Iterative, because formulas nest deeper than the interpreter's stack.
    """
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, entered = stack.pop()
        if entered:
            yield node
        elif node not in seen and node not in done:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(child, False) for child in reversed(children(node)) if child not in seen])
