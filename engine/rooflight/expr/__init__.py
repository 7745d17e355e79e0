"""Values of any kind, formulas, and the small language of lengths and conditions."""

from rooflight.expr.arithmetic import (
    and_,
    ceil_div,
    cmp_,
    div,
    floor_div,
    max_,
    min_,
    mod,
    named,
    not_,
    or_,
    power,
    prod,
    total,
    where,
)
from rooflight.expr.evaluation import Split, decide, definitions, evaluate, expand_lets, free_symbols
from rooflight.expr.formula import Expr, children, nodes
from rooflight.expr.parse import ExpressionError, Tree, is_condition, parse_condition, parse_length
from rooflight.expr.scalars import Value
from rooflight.expr.space import Space
from rooflight.expr.tree import evaluate_tree, names, print_tree

__all__ = [
    "Expr",
    "ExpressionError",
    "Space",
    "Split",
    "Tree",
    "Value",
    "and_",
    "ceil_div",
    "children",
    "cmp_",
    "decide",
    "definitions",
    "div",
    "evaluate",
    "evaluate_tree",
    "expand_lets",
    "floor_div",
    "free_symbols",
    "is_condition",
    "max_",
    "min_",
    "mod",
    "named",
    "names",
    "nodes",
    "not_",
    "or_",
    "parse_condition",
    "parse_length",
    "power",
    "print_tree",
    "prod",
    "total",
    "where",
]
