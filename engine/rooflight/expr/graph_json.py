"""Formulas travel as one table of nodes that refer to earlier nodes, so shared parts are sent once.

{"nodes": [["symbol", "T", 1], ["+", -1, 0], ["max", 0, 1]], "roots": {"rows": 2, "layers": {"value": 61}}}

A node is [kind, ...]; a reference is the index of an earlier node; a sum and a product list a reference where the
coefficient or exponent is 1 and [reference, coefficient or exponent] elsewhere. Ints beyond 2^53 and Fractions are
text, "18014398509481984" and "2/3", because JavaScript reads numbers as doubles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from rooflight.expr import formula
from rooflight.expr.formula import Expr, nodes
from rooflight.expr.scalars import Exact, Value, exact

SAFE_INTEGER = 2**53

_TAGS = {formula.SUM: "+", formula.PRODUCT: "*", formula.POWER: "^"}  # other kinds are called as in formula.py


def to_json(roots: Mapping[str, Value]) -> dict[str, Any]:
    """The table of named formulas, numbers and bools, as lists and dicts for a JSON writer."""
    index: dict[Expr, int] = {}
    table: list[list[Any]] = []
    heads: dict[str, Any] = {}
    for name, value in roots.items():
        if type(value) is not Expr:
            heads[name] = {"value": _scalar(value)}
            continue
        for node in nodes(value, index):
            index[node] = len(table)
            table.append(row_of(node, index))
        heads[name] = index[value]
    return {"nodes": table, "roots": heads}


def row_of(node: Expr, index: Mapping[Expr, int]) -> list[Any]:
    """The table row of a node whose arguments have the given indices."""
    kind, args = node.kind, node.args
    if kind == formula.NUMBER:
        return [kind, exact_json(args)]
    if kind == formula.SYMBOL:
        return [kind, args, exact_json(cast("Exact", node.low)), *([] if node.whole else [False])]
    if kind in (formula.SUM, formula.PRODUCT):
        first, parts = args
        return [_TAGS[kind], exact_json(first), *[index[p] if n == 1 else [index[p], exact_json(n)] for p, n in parts]]
    if kind == formula.RELATION:
        return [args[0], index[args[1]], index[args[2]]]
    if kind == formula.LET:
        return [kind, args[0], index[args[1]]]
    return [_TAGS.get(kind, kind), *[index[arg] for arg in args]]


def exact_json(value: Exact) -> int | str:
    """An exact number as JSON: an int that a double holds, else text."""
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    return f"{value.numerator}/{value.denominator}"


def _scalar(value: Value) -> bool | int | float | str:
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"JSON holds finite numbers only, not {value!r}")
        return float(value)
    return exact_json(exact(value))
