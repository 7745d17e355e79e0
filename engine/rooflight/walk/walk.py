"""The walk: one pass over a Program's code, on values of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    for slot, function, arguments in program.run:
        values[slot] = function(*[values[argument] for argument in arguments])
    return values
