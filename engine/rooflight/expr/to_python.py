"""Formulas compiled to straight-line Python: one assignment per shared node, each dropped after its last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rooflight.expr import arithmetic as ar
from rooflight.expr import formula
from rooflight.expr.formula import Expr, children, nodes
from rooflight.expr.scalars import Exact, Value, exact

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "_div": ar.div,
    "_ceil_div": ar.ceil_div,
    "_floor_div": ar.floor_div,
    "_min": ar.min_,
    "_max": ar.max_,
    "_power": ar.power,
    "_cmp": ar.cmp_,
    "_and": ar.and_,
    "_or": ar.or_,
    "_where": ar.where,
}


class CompiledFormula:
    """Formulas as one Python function.

    `arguments` are the symbols in order of first appearance, `source` the generated text. Calling with a keyword per
    argument returns name → value: exact for ints and Fractions, an array where an array was given.
    """

    __slots__ = ("_function", "_names", "arguments", "source")

    def __init__(
        self,
        names: tuple[str, ...],
        arguments: tuple[str, ...],
        source: str,
        function: Callable[..., tuple[Value, ...]],
    ) -> None:
        self.arguments = arguments
        self.source = source
        self._names = names
        self._function = function

    def __call__(self, **values: Value) -> dict[str, Value]:
        """The value of every root. Raises TypeError unless exactly the arguments are given."""
        if values.keys() != set(self.arguments):
            wrong = sorted(values.keys() ^ set(self.arguments))
            raise TypeError(f"arguments are {', '.join(self.arguments)}; missing or unknown: {', '.join(wrong)}")
        given = [values[name] for name in self.arguments]
        if any(ar.is_array(value) for value in given):
            # A Fraction made from two scalars would turn the arrays it meets into object arrays.
            given = [value if ar.is_array(value) else float(value) for value in given]
        return {name: _plain(value) for name, value in zip(self._names, self._function(*given), strict=True)}


def compile_python(roots: Mapping[str, Value]) -> CompiledFormula:
    """The formulas (or constants) compiled together, sharing what they share.

    Both branches of a choice are computed, as in evaluate(). The text is made of this file's words, integers and
    numbered variables only: no name from a formula gets into it.
    """
    order: dict[Expr, None] = {}
    for root in roots.values():
        if type(root) is Expr:
            order.update(dict.fromkeys(nodes(root, order)))
    names = {node: f"v{i}" for i, node in enumerate(n for n in order if n.kind == formula.SYMBOL)}
    arguments = tuple([node.args for node in names])
    parameters = ", ".join(names.values())
    last_use = _last_uses(order, roots)
    lines: list[str] = []
    for i, node in enumerate(order):
        if node.kind == formula.NUMBER:
            names[node] = _constant(node.args)
        elif node.kind == formula.LET:
            names[node] = names[node.args[1]]
        elif node.kind != formula.SYMBOL:
            lines.append(f"    t{i} = {_RULES[node.kind](node.args, names)}")
            names[node] = f"t{i}"
        spent = [name for name in last_use.get(i, ()) if name.startswith("t")]
        if spent:
            lines.append(f"    del {', '.join(spent)}")
    results = "".join([f"{names[r] if type(r) is Expr else _constant(exact(r))}, " for r in roots.values()])
    source = "\n".join([f"def formula({parameters}):", *lines, f"    return ({results})", ""])
    scope: dict[str, Any] = {"__builtins__": {}, **_FUNCTIONS}
    exec(compile(source, "<formula>", "exec"), scope)  # noqa: S102 - built above from integers and our own words
    return CompiledFormula(tuple(roots), arguments, source, scope["formula"])


def _last_uses(order: Mapping[Expr, None], roots: Mapping[str, Value]) -> dict[int, list[str]]:
    """step → temporaries that no later step and no root reads; a name of another node is that node."""
    position = {node: i for i, node in enumerate(order)}
    last: dict[Expr, int] = {}
    for i, node in enumerate(order):
        for child in children(node):
            last[_body(child)] = i
    for root in roots.values():
        if type(root) is Expr:
            last.pop(_body(root), None)
    kept = {_body(root) for root in roots.values() if type(root) is Expr}
    found: dict[int, list[str]] = {}
    for node, i in last.items():
        if node not in kept and node.kind not in (formula.SYMBOL, formula.NUMBER):
            found.setdefault(i, []).append(f"t{position[node]}")
    return found


def _body(node: Expr) -> Expr:
    while node.kind == formula.LET:
        node = node.args[1]
    return node


def _plain(value: Value) -> Value:
    return value if value.__class__.__module__ != "fractions" else exact(value)


def _integer(value: int) -> str:
    return str(value) if abs(value) < 10**15 else hex(value)  # Python reads decimal text of bounded length only


def _constant(value: Exact) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"({_integer(value)})" if value < 0 else _integer(value)
    return f"_div({_integer(value.numerator)}, {_integer(value.denominator)})"


def _sum(args: Any, names: Mapping[Expr, str]) -> str:
    """Over a common denominator, so that no constant Fraction is added to an array."""
    constant, terms = args
    under = constant.denominator
    for _, coefficient in terms:
        under = under * coefficient.denominator // _common_factor(under, coefficient.denominator)
    parts = [names[term] if c * under == 1 else f"{names[term]}*{_constant(exact(c * under))}" for term, c in terms]
    if constant:
        parts.append(_constant(exact(constant * under)))
    return " + ".join(parts) if under == 1 else f"_div({' + '.join(parts)}, {_integer(under)})"


def _common_factor(left: int, right: int) -> int:
    while right:
        left, right = right, left % right
    return left


def _product(args: Any, names: Mapping[Expr, str]) -> str:
    coefficient, powers = args
    over = [_power(names[base], exponent) for base, exponent in powers if exponent > 0]
    under = [_power(names[base], -exponent) for base, exponent in powers if exponent < 0]
    if coefficient.numerator != 1 or not over:
        over.insert(0, _constant(coefficient.numerator))
    if coefficient.denominator != 1:
        under.insert(0, _integer(coefficient.denominator))
    return f"_div({'*'.join(over)}, {'*'.join(under)})" if under else "*".join(over)


def _power(base: str, exponent: int) -> str:
    return base if exponent == 1 else f"{base}**{exponent}"


def _nested(function: str, args: Any, names: Mapping[Expr, str]) -> str:
    """A function of two over many arguments, without nesting deeper than Python parses."""
    written: list[str] = [names[arg] for arg in args]
    while len(written) > 1:
        odd = written[len(written) // 2 * 2 :]
        written = [f"{function}({a}, {b})" for a, b in zip(written[::2], written[1::2], strict=False)] + odd
    return written[0]


def _call(function: str, args: Any, names: Mapping[Expr, str]) -> str:
    return f"{function}({', '.join([names[arg] for arg in args])})"


_RULES: dict[str, Callable[[Any, Mapping[Expr, str]], str]] = {
    formula.SUM: _sum,
    formula.PRODUCT: _product,
    formula.MAX: lambda args, names: _nested("_max", args, names),
    formula.MIN: lambda args, names: _nested("_min", args, names),
    formula.CEIL_DIV: lambda args, names: _call("_ceil_div", args, names),
    formula.FLOOR_DIV: lambda args, names: _call("_floor_div", args, names),
    formula.POWER: lambda args, names: _call("_power", args, names),
    formula.RELATION: lambda args, names: f'_cmp("{args[0]}", {names[args[1]]}, {names[args[2]]})',
    formula.AND: lambda args, names: _nested("_and", args, names),
    formula.OR: lambda args, names: _nested("_or", args, names),
    formula.WHERE: lambda args, names: _call("_where", args, names),
}
