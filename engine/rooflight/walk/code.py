"""Straight-line code: every distinct length, product and count of a model has one slot, computed once per walk.

What the code holds is structure. The values it runs on are whatever was bound: ints, Fractions, arrays, formulas.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

from rooflight.expr import Value, ceil_div, cmp_, div, floor_div, max_, min_, mod, prod, total
from rooflight.layout import busiest, shared_groups, vocabulary_rows
from rooflight.ops import causal_pairs, resumes, sliding_pairs, square_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rooflight.expr import Tree

Slot = int

# What an instruction may call. Trees use the first nine; the rest are rules of ops.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": div,
    "//": floor_div,
    "%": mod,
    "ceil_div": ceil_div,
    "floor_div": floor_div,
    "min": min_,
    "max": max_,
    "negative": operator.neg,
    "product": lambda *factors: prod(factors),
    "sum": lambda *terms: total(terms),
    "causal_pairs": causal_pairs,
    "sliding_pairs": sliding_pairs,
    "square_pairs": square_pairs,
    "resumes": resumes,
    "shared_groups": shared_groups,
    "vocabulary_rows": vocabulary_rows,
    "busiest": busiest,
    **{name: partial(cmp_, "==" if name == "=" else name) for name in ("=", "!=", "<", "<=", ">", ">=")},
}


class Code:
    """Instructions under construction. Slots below len(symbols) + constants are filled before the first instruction."""

    def __init__(self) -> None:
        self.slots: dict[tuple[Any, ...], Slot] = {}
        self.entries: list[tuple[Any, ...]] = []

    def symbol(self, name: str) -> Slot:
        """Return the slot of a bound name."""
        return self._slot(("symbol", name))

    def constant(self, number: int) -> Slot:
        """Return the slot of a number."""
        return self._slot(("constant", number))

    def call(self, name: str, *args: Slot) -> Slot:
        """Return the slot of a function of other slots."""
        return self._slot((name, *args))

    def product(self, factors: Sequence[Slot]) -> Slot:
        """Return the slot of a product; factors of 1 vanish and constants fold."""
        number: int = 1
        rest: list[Slot] = []
        for slot in factors:
            kind, *args = self.entries[slot]
            for inner in args if kind == "product" else [slot]:
                what, value, *_ = self.entries[inner]
                if what == "constant":
                    number *= value
                else:
                    rest.append(inner)
        if number == 0 or not rest:
            return self.constant(number)
        if number != 1:
            rest.insert(0, self.constant(number))
        return rest[0] if len(rest) == 1 else self.call("product", *rest)

    def sum(self, terms: Sequence[Slot]) -> Slot:
        """Return the slot of a sum; terms of 0 vanish."""
        rest = [slot for slot in terms if self.entries[slot] != ("constant", 0)]
        if not rest:
            return self.constant(0)
        return rest[0] if len(rest) == 1 else self.call("sum", *rest)

    def lower(self, tree: Tree, names: Mapping[str, Slot]) -> Slot:
        """Return the slot of a length; a name that `names` lacks is a bound symbol."""
        if isinstance(tree, int):
            return self.constant(tree)
        if isinstance(tree, str):
            return names[tree] if tree in names else self.symbol(tree)
        function, *parts = tree
        args = [self.lower(part, names) for part in parts]
        if function == "*":
            return self.product(args)
        if function == "+":
            return self.sum(args)
        if function == "-" and len(args) == 1:
            return self.call("negative", *args)
        if function in ("/", "//") and self.entries[args[1]] == ("constant", 1):
            return args[0]
        return self.call(str(function), *args)

    def _slot(self, entry: tuple[Any, ...]) -> Slot:
        slot = self.slots.get(entry)
        if slot is None:
            slot = self.slots[entry] = len(self.entries)
            self.entries.append(entry)
        return slot
