"""A parsed length or condition is read three ways: its names, its value, its text."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial

from rooflight.expr import arithmetic as ar
from rooflight.expr.parse import BINDING, COMPARISONS, FUNCTIONS, MINUS_BINDING, NOT_BINDING, Tree
from rooflight.expr.scalars import Value

_ATOM = 8


def names(tree: Tree) -> tuple[str, ...]:
    """The names a tree reads, each once, in order; config references as "config.a.b"."""
    return tuple(dict.fromkeys(_leaves(tree)))


def evaluate_tree(tree: Tree, lookup: Callable[[str], Value]) -> Value:
    """The value of a tree whose names are read with lookup, for values of any kind.

    A condition gives a bool, a bool array, or a relation. Whatever lookup raises passes through.
    """
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return lookup(tree)
    operator, *operands = tree
    values = [evaluate_tree(operand, lookup) for operand in operands]
    return _RULES[operator, len(values)](*values)


def print_tree(tree: Tree) -> str:
    """The text of a tree, with the fewest parentheses that parse back to the same tree."""
    return _print(tree)[0]


def _print(tree: Tree) -> tuple[str, int]:
    if isinstance(tree, int | str):
        return str(tree), _ATOM
    operator, *operands = tree
    printed = [_print(operand) for operand in operands]
    if operator in FUNCTIONS:
        return f"{operator}({', '.join([text for text, _ in printed])})", _ATOM
    if len(printed) == 1:
        binding = MINUS_BINDING if operator == "-" else NOT_BINDING
        return f"{operator}{'' if operator == '-' else ' '}{_inside(printed[0], binding)}", binding
    binding = BINDING[operator]
    left = _inside(printed[0], binding + (operator in COMPARISONS))
    return f"{left} {operator} {_inside(printed[1], binding + 1)}", binding


def _inside(printed: tuple[str, int], binding: int) -> str:
    text, own = printed
    return text if own >= binding else f"({text})"


def _leaves(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif not isinstance(tree, int):
        for operand in tree[1:]:
            yield from _leaves(operand)


_RULES: dict[tuple[str, int], Callable[..., Value]] = {
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("-", 1): operator.neg,
    ("*", 2): operator.mul,
    ("/", 2): ar.div,
    ("//", 2): ar.floor_div,
    ("%", 2): ar.mod,
    ("ceil_div", 2): ar.ceil_div,
    ("floor_div", 2): ar.floor_div,
    ("min", 2): ar.min_,
    ("max", 2): ar.max_,
    **{(op, 2): partial(ar.cmp_, "==" if op == "=" else op) for op in COMPARISONS},
    ("and", 2): ar.and_,
    ("or", 2): ar.or_,
    ("not", 1): ar.not_,
}
