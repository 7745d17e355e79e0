"""Proves that tensors fit together for any dims, not only for this config's: random fractions hide no coincidence.

Two lengths that agree at random rational dims agree as formulas, up to a chance in billions (Schwartz–Zippel).
Config values alone prove less: in some models the key and value widths are both 128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.expr import Expr, Space, evaluate_tree, names, text
from rooflight.values import SpecError
from rooflight.walk import walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from random import Random

    from rooflight.expr import Tree, Value
    from rooflight.walk import Check, Program

_SEED = 20_260_101  # fixed: the same spec gives the same verdict


def random_dims(dims: Mapping[str, Tree], rng: Random) -> dict[str, Fraction]:
    """Return a random value for every dim that a config key gives; dims that follow from others still follow."""
    from fractions import Fraction  # noqa: PLC0415 - a page that only prices never proves

    values: dict[str, Fraction] = {}
    for name, tree in dims.items():
        used = names(tree)
        if used and all(other in values for other in used):
            values[name] = Fraction(evaluate_tree(tree, values.__getitem__))
        else:
            values[name] = Fraction(rng.randrange(10**5, 10**6), rng.randrange(2, 10**4))
    return values


def check_geometry(program: Program, dims: Mapping[str, Tree], values: Mapping[str, Value], rounds: int = 16) -> None:
    """Raise SpecError at the first pair of lengths that should be one and is not.

    dims are the model's, by formula; values are the config's, for the message. Two rounds would do for products and
    sums; min and max need a round on each side, and sixteen miss one side once in 2^16.
    """
    from fractions import Fraction  # noqa: PLC0415
    from random import Random  # noqa: PLC0415

    rng = Random(_SEED)  # noqa: S311 - no secret, a test point
    checks = (*program.checks, *program.invariants)
    for _ in range(rounds):
        binding: dict[str, Value] = dict(random_dims(dims, rng))
        for name in program.symbols:
            binding.setdefault(name, Fraction(rng.randrange(10**5, 10**6), rng.randrange(2, 10**4)))
        slots = walk(program, binding)
        for check in checks:
            if slots[check.want] != slots[check.have]:
                raise _mismatch(program, check, values)


def _mismatch(program: Program, check: Check, values: Mapping[str, Value]) -> SpecError:
    space = Space()
    symbols = walk(program, {name: space.symbol(name) for name in program.symbols})
    want, have = (_shown(symbols[slot]) for slot in (check.want, check.have))
    hidden = ""
    if all(name in values for name in program.symbols):
        numbers = walk(program, values)
        if numbers[check.want] == numbers[check.have]:
            hidden = f" (both are {numbers[check.want]} in this config, which hides it)"
    return SpecError(check.code, check.where, want, f"{have}{check.source}{hidden}", check.fix)


def _shown(value: Value) -> str:
    return text(value) if isinstance(value, Expr) else str(value)
