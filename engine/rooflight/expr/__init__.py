"""Values of any kind, formulas, and the small language of lengths and conditions."""

from rooflight.expr.algebra import Equality, equal, to_sympy
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
from rooflight.expr.graph_json import to_json
from rooflight.expr.parse import ExpressionError, Tree, is_condition, parse_condition, parse_length
from rooflight.expr.print_latex import latex
from rooflight.expr.print_mathml import math_element, mathml
from rooflight.expr.print_text import text
from rooflight.expr.read_json import FormulaDataError, from_json
from rooflight.expr.scalars import Value, exact
from rooflight.expr.space import Space
from rooflight.expr.to_python import CompiledFormula, compile_python
from rooflight.expr.tree import evaluate_tree, names, print_tree

__all__ = [
    "CompiledFormula",
    "Equality",
    "Expr",
    "ExpressionError",
    "FormulaDataError",
    "Space",
    "Split",
    "Tree",
    "Value",
    "and_",
    "ceil_div",
    "children",
    "cmp_",
    "compile_python",
    "decide",
    "definitions",
    "div",
    "equal",
    "evaluate",
    "evaluate_tree",
    "exact",
    "expand_lets",
    "floor_div",
    "free_symbols",
    "from_json",
    "is_condition",
    "latex",
    "math_element",
    "mathml",
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
    "text",
    "to_json",
    "to_sympy",
    "total",
    "where",
]
