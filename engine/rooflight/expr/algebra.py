"""sympy stands behind the formulas as the algebra system: exact equivalence, and whatever else algebra is asked for.

The only file that imports sympy, and only inside functions: it takes longer to load than the engine to run. Formulas
are built from sympy's own classes; no text is ever handed to it to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rooflight.expr import formula
from rooflight.expr.evaluation import evaluate
from rooflight.expr.formula import Expr, nodes
from rooflight.expr.scalars import Exact, Value, exact, ratio

if TYPE_CHECKING:
    from random import Random

# sympy ships no types that would help here.
Sympy: TypeAlias = Any

POINTS = 200
NEARLY = 1e-9  # relative difference of floats that counts as none


class Equality:
    """Whether two formulas are equal, how that is known, and a point where they differ. True or false as itself."""

    __slots__ = ("counterexample", "equal", "how")

    def __init__(self, how: str, *, equal: bool, counterexample: Mapping[str, Exact] | None = None) -> None:
        self.equal = equal
        self.how = how
        self.counterexample = counterexample

    def __bool__(self) -> bool:
        return self.equal

    def __repr__(self) -> str:
        return f"<{'equal' if self.equal else 'different'}: {self.how}>"


def to_sympy(value: Value) -> Sympy:
    """The formula or number as a sympy expression, names written out, symbols with their assumptions."""
    sympy = _load()
    if type(value) is not Expr:
        return _number(sympy, exact(value))
    memo: dict[Expr, Sympy] = {}
    for node in nodes(value):
        memo[node] = _RULES[node.kind](sympy, node, memo)
    return memo[value]


def equal(left: Value | Sympy, right: Value | Sympy) -> Equality:
    """Whether two formulas, numbers or sympy expressions have the same value wherever both are defined.

    Proved by algebra where sympy can: how is "expand" or "simplify". What it cannot settle, rounding and choices
    above all, is compared at random points, exactly unless a root makes floats: how then says so, and a difference
    comes with its point.
    """
    import random

    sympy = _load()
    sides = [side if isinstance(side, sympy.Basic) else to_sympy(side) for side in (left, right)]
    free = [symbol for side in sides for symbol in side.free_symbols]
    declared = {symbol.name: symbol for symbol in free if symbol.is_real}
    sides = [_declare(side, declared, sympy) for side in sides]
    gap = sides[0] - sides[1]
    if gap.expand() == 0:
        return Equality("expand", equal=True)
    minimum = _minimums((left, right))
    # sympy may have dropped a symbol that our evaluation still asks for.
    symbols = {symbol.name: symbol for side in sides for symbol in side.free_symbols}
    symbols = {**{node.args: to_sympy(node) for node in minimum}, **symbols}
    least = {node.args: low for node, low in sorted(minimum.items(), key=lambda item: item[1])}
    chance = random.Random(len(symbols))  # noqa: S311 - the same points on every run
    compared = 0
    for _ in range(POINTS):
        point = {name: _random_value(symbols[name], least.get(name), chance) for name in sorted(symbols)}
        values = [_at(side, form, point, sympy) for side, form in zip((left, right), sides, strict=True)]
        if None in values:
            continue
        compared += 1
        if not _same(values[0], values[1]):
            return Equality(f"differs where {_show(point)}", equal=False, counterexample=point)
    if not gap.has(sympy.Max, sympy.Min, sympy.Piecewise, sympy.floor, sympy.ceiling) and sympy.simplify(gap) == 0:
        return Equality("simplify", equal=True)
    if compared == 0:
        return Equality("undefined at every random point", equal=False)
    return Equality(f"equal at {compared} random points, not proved", equal=True)


def _load() -> Any:
    import sympy

    return sympy


def _declare(side: Sympy, declared: Mapping[str, Sympy], sympy: Any) -> Sympy:
    """The same names are the same symbols, and a symbol without assumptions is a positive integer."""
    swap = {s: declared.get(s.name) or sympy.Symbol(s.name, positive=True, integer=True) for s in side.free_symbols}
    return side.xreplace(swap)


def _minimums(sides: Iterable[Value | Sympy]) -> dict[Expr, Exact]:
    """Our symbols and their least values."""
    parts = [node for side in sides if type(side) is Expr for node in nodes(side)]
    return {node: node.low or 0 for node in parts if node.kind == formula.SYMBOL}


def _random_value(symbol: Sympy, minimum: Exact | None, chance: Random) -> Exact:
    if minimum is None:
        minimum = 1 if symbol.is_positive else 0
    above = chance.randint(0, chance.choice((3, 20, 1_000, 100_000)))
    return minimum + above if symbol.is_integer else exact(minimum + ratio(above, chance.randint(1, 7)))


def _at(side: Value | Sympy, form: Sympy, point: Mapping[str, Exact], sympy: Any) -> Sympy | None:
    """The exact value at a point as a sympy number, None where it is undefined."""
    if type(side) is Expr:
        try:
            value = evaluate(side, point)
        except ZeroDivisionError:
            return None
        return sympy.Float(value) if isinstance(value, float) else _number(sympy, exact(value))
    value = form.subs({symbol: _number(sympy, point[symbol.name]) for symbol in form.free_symbols})
    return value if value.is_finite else None


def _same(left: Sympy, right: Sympy) -> bool:
    if left.is_Rational and right.is_Rational:
        return left == right
    return abs(float(left) - float(right)) <= NEARLY * max(1.0, abs(float(left)))


def _show(point: Mapping[str, Exact]) -> str:
    return ", ".join([f"{name} = {value}" for name, value in point.items()])


def _number(sympy: Any, value: Exact) -> Sympy:
    return sympy.Rational(value.numerator, value.denominator)


def _symbol(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    assumptions: dict[str, bool] = {"integer": True} if node.whole else {"real": True}
    if node.low is not None and node.low >= 0:
        assumptions["positive" if node.low > 0 else "nonnegative"] = True
    return sympy.Symbol(node.args, **assumptions)


def _sum(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    constant, terms = node.args
    return sympy.Add(_number(sympy, constant), *[_number(sympy, c) * memo[term] for term, c in terms])


def _product(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    coefficient, powers = node.args
    return sympy.Mul(_number(sympy, coefficient), *[memo[base] ** exponent for base, exponent in powers])


def _extremum(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    make = sympy.Max if node.kind == formula.MAX else sympy.Min
    return make(*[memo[arg] for arg in node.args], evaluate=False)  # sorting arguments by sign takes a millisecond each


def _quotient(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    make = sympy.ceiling if node.kind == formula.CEIL_DIV else sympy.floor
    return make(memo[node.args[0]] / memo[node.args[1]])


def _relation(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    op, left, right = node.args
    make = {"==": sympy.Eq, "!=": sympy.Ne, "<": sympy.Lt, "<=": sympy.Le}[op]
    return make(memo[left], memo[right])


def _junction(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    make = sympy.And if node.kind == formula.AND else sympy.Or
    return make(*[memo[arg] for arg in node.args])


def _where(sympy: Any, node: Expr, memo: dict[Expr, Sympy]) -> Sympy:
    condition, then, otherwise = [memo[arg] for arg in node.args]
    return sympy.Piecewise((then, condition), (otherwise, True), evaluate=False)


_RULES: dict[str, Callable[[Any, Expr, dict[Expr, Sympy]], Sympy]] = {
    formula.NUMBER: lambda sympy, node, memo: _number(sympy, node.args),
    formula.SYMBOL: _symbol,
    formula.SUM: _sum,
    formula.PRODUCT: _product,
    formula.MAX: _extremum,
    formula.MIN: _extremum,
    formula.CEIL_DIV: _quotient,
    formula.FLOOR_DIV: _quotient,
    formula.POWER: lambda sympy, node, memo: memo[node.args[0]] ** memo[node.args[1]],
    formula.RELATION: _relation,
    formula.AND: _junction,
    formula.OR: _junction,
    formula.WHERE: _where,
    formula.LET: lambda sympy, node, memo: memo[node.args[1]],
}
