"""Which lengths of weights a plan cuts, and which cuts no framework makes: read from the walk, weight by weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.api.binding import numbers, step_size
from rooflight.api.recent import Recent
from rooflight.expr import print_tree
from rooflight.graph import expand
from rooflight.layout import AXES
from rooflight.spec import storage_under
from rooflight.walk import Family, compile_graph, cut_name, walk

if TYPE_CHECKING:
    from rooflight.spec import Model
    from rooflight.walk import Program

_AXIS = {"attn_tp": "tp_r", "etp": "dp_t"}  # one mesh axis of each degree: which of them is cut over does not matter


class Broken(NamedTuple):
    """A length that a degree cuts where it must not: one that has to divide, or inside a block that is stored once."""

    name: str
    whole: int
    local: int
    block: int  # 1 where the length just does not divide


class Cuts:
    """The weights of one model, cut by any degree."""

    def __init__(self, model: Model, precision: str) -> None:
        self.shards = model.library.dims.shards
        step = step_size(model, "prefill", precision=precision)
        storage = storage_under(step.precision, model.storage, model.library.schemes)
        graph = expand(model, "prefill", storage=storage)
        self.program: Program = compile_graph(graph, step.counting, shards=self.shards, family=Family())
        self.binding = {**numbers(model, step), **dict.fromkeys(AXES, 1)}
        self.whole = walk(self.program, self.binding)
        self.found: dict[tuple[str, int], tuple[Broken, ...]] = {}

    def broken(self, word: str, degree: int) -> tuple[Broken, ...]:
        """Return what attn_tp or etp of some degree breaks, the plainest length first."""
        key = (word, degree)
        if key not in self.found:
            self.found[key] = self._broken(word, degree) if degree > 1 else ()
        return self.found[key]

    def _broken(self, word: str, degree: int) -> tuple[Broken, ...]:
        values = walk(self.program, {**self.binding, _AXIS[word]: degree})
        found: set[Broken] = set()
        for step, mine in zip(self.program.steps, self.program.local, strict=True):
            for (weight, slots), whole_of in zip(mine.stored, step.stored, strict=True):
                axes = next(w.axes for w in step.node.op.weights if w.name == weight)
                for axis, local_slot, whole_slot in zip(axes, slots, whole_of.shape, strict=True):
                    local, whole = int(values[local_slot]), int(self.whole[whole_slot])
                    tree = step.node.dims.get(axis[0]) if len(axis) == 1 else None
                    if local == whole or tree is None:
                        continue  # a whole weight may end in a part of a block
                    formats = [one.format for one in step.node.formats[weight]]
                    block = max((one.block(axis[0]) for one in formats if not one.padded), default=1)
                    name = cut_name(step.node.cuts.get(axis[0], tree), self.shards)
                    free = name is not None and self.shards[name] == "width"
                    if free and whole % degree and not any(one.padded for one in formats):
                        found.add(Broken(print_tree(tree), whole, local, 1))
                    elif block < whole and local % block:  # what all of a length shares, every part can hold
                        found.add(Broken(print_tree(tree), whole, local, block))
        return tuple(sorted(found, key=lambda one: (one.block, len(one.name), one)))


_CUTS: Recent[Cuts] = Recent(4)


def cuts_of(model: Model, precision: str) -> Cuts:
    """Return the cuts of a model whose weights are stored under a precision profile."""
    return _CUTS.get(model, precision, lambda: Cuts(model, precision))
