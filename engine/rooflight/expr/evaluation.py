"""A formula is evaluated by one pass over its nodes, for numbers, arrays and other formulas alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rooflight.expr import arithmetic as ar
from rooflight.expr import formula
from rooflight.expr.formula import Expr, nodes
from rooflight.expr.scalars import Value


class Split(Exception):
    """A structural decision differs between the points of an array; `mask` says where it holds.

    The driver evaluates both halves apart.
    """

    def __init__(self, mask: Value) -> None:
        super().__init__("a structural decision differs between points: evaluate both halves of the mask apart")
        self.mask = mask


def evaluate(expr: Value, env: Mapping[str, Value], memo: dict[Expr, Value] | None = None) -> Value:
    """The value of a formula with every symbol bound by env: exact for ints and Fractions, a formula for formulas.

    Names given with named() survive a substitution of formulas. Pass one memo to evaluate several formulas of one
    env without repeating shared parts. Raises KeyError for a symbol that env does not bind.
    """
    return _run(expr, env, memo, _RULES[formula.LET])


def expand_lets(expr: Value) -> Value:
    """The formula with every named sub-formula written out."""
    return _run(expr, _symbols(expr), None, _unnamed)


def free_symbols(expr: Value) -> tuple[str, ...]:
    """Names of the symbols a formula depends on, in order of first appearance."""
    return tuple(_symbols(expr))


def definitions(expr: Value) -> dict[str, Expr]:
    """name → body of the named sub-formulas, each after those its body uses.

    Raises ValueError when a name stands for two things, because a printed formula could not be read.
    """
    symbols = _symbols(expr)
    found: dict[str, Expr] = {}
    for node in nodes(expr) if type(expr) is Expr else ():
        if node.kind == formula.LET:
            name, body = node.args
            if found.setdefault(name, body) is not body or name in symbols:
                raise ValueError(f"the name {name!r} stands for two things in one formula")
    return found


def decide(
    condition: Value,
    shadow: Mapping[str, Value] | None = None,
    log: list[tuple[Expr, bool]] | None = None,
) -> bool:
    """A structural decision: the truth of a bool, of an array that agrees, or of a relation under shadow numbers.

    A decision about a formula is appended to log as (relation, truth): what the resulting formula assumes.
    Raises Split for an array whose points differ, TypeError for a relation without shadow.
    """
    if type(condition) is bool:
        return condition
    if type(condition) is not Expr:
        truth = ar.uniform(condition)
        if truth is None:
            raise Split(condition)
        return truth
    if shadow is None:
        raise TypeError("a structural decision about a formula needs shadow numbers for its symbols")
    truth = decide(evaluate(condition.space.condition(condition), shadow))
    if log is not None:
        log.append((condition, truth))
    return truth


def _run(
    expr: Value,
    env: Mapping[str, Value],
    memo: dict[Expr, Value] | None,
    let: Callable[[Value, dict[Expr, Value]], Value],
) -> Value:
    if type(expr) is not Expr:
        return expr
    if memo is None:
        memo = {}
    for node in nodes(expr, memo):
        if node.kind == formula.SYMBOL:
            try:
                memo[node] = env[node.args]
            except KeyError:
                raise KeyError(f"no value is bound for symbol {node.args!r}") from None
        elif node.kind == formula.LET:
            memo[node] = let(node.args, memo)
        else:
            memo[node] = _RULES[node.kind](node.args, memo)
    return memo[expr]


def _symbols(expr: Value) -> dict[str, Expr]:
    if type(expr) is not Expr:
        return {}
    return {node.args: node for node in nodes(expr) if node.kind == formula.SYMBOL}


def _unnamed(args: Value, memo: dict[Expr, Value]) -> Value:
    return memo[args[1]]


def _sum(args: Value, memo: dict[Expr, Value]) -> Value:
    constant, terms = args
    values = [memo[term] if c == 1 else ar.prod((c, memo[term])) for term, c in terms]
    return ar.total([*values, constant] if constant else values)


def _product(args: Value, memo: dict[Expr, Value]) -> Value:
    coefficient, powers = args
    formulas = [memo[base] for base, _ in powers if type(memo[base]) is Expr]
    if formulas:  # all at once: a product made in steps puts signs inside sums, and would differ in form
        return formulas[0].space.product([(coefficient, 1), *[(memo[base], p) for base, p in powers]])
    over = [memo[b] if p == 1 else ar.power(memo[b], p) for b, p in powers if p > 0]
    under = [memo[b] if p == -1 else ar.power(memo[b], -p) for b, p in powers if p < 0]
    above = ar.prod((coefficient.numerator, *over))
    return ar.div(above, ar.prod((coefficient.denominator, *under))) if under or type(coefficient) is not int else above


def _fold(helper: Callable[[Value, Value], Value], values: Iterable[Value]) -> Value:
    first, *others = values
    for other in others:
        first = helper(first, other)
    return first


_RULES: dict[str, Callable[[Value, dict[Expr, Value]], Value]] = {
    formula.NUMBER: lambda args, memo: args,
    formula.SUM: _sum,
    formula.PRODUCT: _product,
    formula.MAX: lambda args, memo: _fold(ar.max_, [memo[arg] for arg in args]),
    formula.MIN: lambda args, memo: _fold(ar.min_, [memo[arg] for arg in args]),
    formula.CEIL_DIV: lambda args, memo: ar.ceil_div(memo[args[0]], memo[args[1]]),
    formula.FLOOR_DIV: lambda args, memo: ar.floor_div(memo[args[0]], memo[args[1]]),
    formula.POWER: lambda args, memo: ar.power(memo[args[0]], memo[args[1]]),
    formula.RELATION: lambda args, memo: ar.cmp_(args[0], memo[args[1]], memo[args[2]]),
    formula.AND: lambda args, memo: _fold(ar.and_, [memo[arg] for arg in args]),
    formula.OR: lambda args, memo: _fold(ar.or_, [memo[arg] for arg in args]),
    formula.WHERE: lambda args, memo: ar.where(memo[args[0]], memo[args[1]], memo[args[2]]),
    formula.LET: lambda args, memo: ar.named(args[0], memo[args[1]]),
}
