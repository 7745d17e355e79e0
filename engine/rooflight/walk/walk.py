"""The walk: one pass over a Program's code, on values of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.expr import evaluate_tree, print_tree
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.expr import Value
    from rooflight.walk.program import Program


def walk(program: Program, binding: Mapping[str, Value]) -> list[Value]:
    """Return the value of every slot. Raises SpecError for a name that the binding lacks."""
    values: list[Value] = list(program.start)
    for name, slot in program.symbols.items():
        if name not in binding:
            raise SpecError("unbound-symbol", "binding", f"a value for {name}", "none", f"bind {name}")
        values[slot] = binding[name]
    try:
        for slot, function, arguments in program.run:
            values[slot] = function(*[values[argument] for argument in arguments])
    except ZeroDivisionError:
        raise _no_quotient(program, binding) from None
    return values


def _no_quotient(program: Program, binding: Mapping[str, Value]) -> SpecError:
    """Name the length that divides by zero."""
    for step in program.steps:
        for tree in step.node.dims.values():
            try:
                evaluate_tree(tree, binding.__getitem__)
            except ZeroDivisionError:
                where, got = step.node.where, print_tree(tree)
                return SpecError("config-out-of-range", where, "no division by zero", got, "correct the length")
    return SpecError("config-out-of-range", "binding", "no division by zero", "a divisor of 0", "bind another value")
