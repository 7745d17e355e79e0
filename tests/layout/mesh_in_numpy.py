"""A small machine in numpy: global arrays cut over a mesh by a Layout, and collectives carried out for real.

A GPU is its coordinates, one per mesh axis. A tensor on the machine is one array per GPU. Every collective is built
from what the GPUs of its group hold, so one that is not legal on its input cannot end where it should.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from rooflight.layout import Layout, redistribute


class Illegal(AssertionError):
    """A collective that its input does not allow."""


class Mesh:
    """GPUs by coordinates. `degrees` gives mesh axes their size; all others have one GPU."""

    def __init__(self, degrees):
        self.degrees = dict(degrees)
        self.axes = tuple(self.degrees)
        self.gpus = [dict(zip(self.axes, at, strict=True)) for at in product(*map(range, self.degrees.values()))]
        self.ids = range(len(self.gpus))

    def size(self, group):
        return int(np.prod([self.degrees.get(axis, 1) for axis in group], dtype=int))

    def rank(self, gpu, group):
        """The number of a GPU within a group, the first axis counting most."""
        number = 0
        for axis in group:
            number = number * self.degrees.get(axis, 1) + self.gpus[gpu].get(axis, 0)
        return number

    def peers(self, gpu, group):
        """The GPUs that differ from one in a group's coordinates only, by rank."""
        same = [axis for axis in self.axes if axis not in group]
        mine = [g for g in self.ids if all(self.gpus[g][axis] == self.gpus[gpu][axis] for axis in same)]
        return sorted(mine, key=lambda g: self.rank(g, group))


def piece(length, parts, count, rank):
    """The range of one of `count` pieces of an axis that can be cut into `parts`: whole parts, ceiling division.

    With fewer parts than pieces, parts repeat."""
    each = length // parts
    if parts < count and count % parts == 0:
        first, last = rank * parts // count, rank * parts // count + 1
    else:
        share = -(-parts // count)
        first, last = min(rank * share, parts), min((rank + 1) * share, parts)
    return slice(first * each, last * each)


class Spread(NamedTuple):
    """A tensor on the machine: its layout, and what every GPU holds. `shape` and `parts` are of the whole."""

    layout: Layout
    shards: list
    shape: tuple
    parts: tuple


def window(mesh, gpu, layout, shape, parts):
    """The slices of a global array that a layout puts on one GPU."""
    return tuple(
        piece(n, p, mesh.size(cut), mesh.rank(gpu, cut)) for n, p, cut in zip(shape, parts, layout.cuts, strict=True)
    )


def spread(mesh, whole, layout, parts=None, rng=None):
    """Lay a global array over the machine; a sum that is owed is split into random addends."""
    parts = tuple(whole.shape) if parts is None else parts
    owed = tuple(axis for axis in mesh.axes if axis in layout.partial)
    count = mesh.size(owed)
    addends = [whole]
    if count > 1:
        addends = [rng.integers(-3, 4, whole.shape).astype(float) for _ in range(count - 1)]
        addends.append(whole - sum(addends))
    shards = [addends[mesh.rank(g, owed)][window(mesh, g, layout, whole.shape, parts)] for g in mesh.ids]
    return Spread(layout, shards, tuple(whole.shape), parts)


def gather(mesh, held):
    """The global array that shards are of. AssertionError where GPUs disagree about what they share."""
    cut = {axis for one in held.layout.cuts for axis in one}
    owed = [axis for axis in mesh.axes if axis in held.layout.partial]
    assert not cut & set(owed), f"cut and partial at once: {held.layout}"
    dtype = np.result_type(*[shard.dtype for shard in held.shards])
    found = np.full(held.shape, np.nan if dtype.kind == "f" else -1, dtype)
    for gpu in mesh.ids:
        at = window(mesh, gpu, held.layout, held.shape, held.parts)
        value = sum(held.shards[g] for g in mesh.peers(gpu, owed)) if owed else held.shards[gpu]
        assert value.shape == found[at].shape, f"GPU {gpu} holds {value.shape}, not {found[at].shape}"
        known = found[at]
        seen = ~np.isnan(known) if dtype.kind == "f" else known != -1
        assert np.allclose(known[seen], value[seen]), "GPUs that hold the same do not agree"
        found[at] = value
    return found


# ------------------------------------------------------------------------------------------------------- collectives


def _slice_more(mesh, held, layout):
    """A free step: from one layout to another in which nothing is lost, every GPU keeping a slice of its own."""
    busy = {axis for cut in held.layout.cuts for axis in cut} | held.layout.partial
    shards = list(held.shards)
    for index, (before, after) in enumerate(zip(held.layout.cuts, layout.cuts, strict=True)):
        if after[: len(before)] != before:
            raise Illegal(f"{held.layout} does not slice into {layout}")
        new = after[len(before) :]
        if set(new) & busy:
            raise Illegal(f"{new} is not replicated in {held.layout}")
        if new:
            shards = [_part(mesh, shards[g], index, new, g) for g in mesh.ids]
    extra = layout.partial - held.layout.partial
    if extra & busy or held.layout.partial - layout.partial:
        raise Illegal(f"{held.layout} does not become {layout} for free")
    for axis in extra:  # a whole value is a sum of which one GPU has everything
        shards = [shards[g] if mesh.gpus[g].get(axis, 0) == 0 else np.zeros_like(shards[g]) for g in mesh.ids]
    return Spread(layout, shards, held.shape, held.parts)


def _part(mesh, array, index, group, gpu):
    """One GPU's block along an axis, of as many as a group has GPUs."""
    count = mesh.size(group)
    if array.shape[index] % count:
        raise Illegal(f"{array.shape[index]} does not divide into {count}")
    return np.split(array, count, axis=index)[mesh.rank(gpu, group)]


def perform(mesh, held, move):
    """Carry out one Move. Illegal where its input does not allow it."""
    group, cuts = move.group, list(held.layout.cuts)
    if move.kind == "all_gather":
        shards, lost = list(held.shards), list(group)
        for index, (before, after) in enumerate(zip(held.layout.cuts, move.size.cuts, strict=True)):
            gone = before[len(after) :]
            if before[: len(after)] != after or not set(gone) <= set(group):
                raise Illegal(f"gathering {group} does not turn {held.layout} into {move.size}")
            lost = [axis for axis in lost if axis not in gone]
            if gone:
                shards = [np.concatenate([shards[peer] for peer in mesh.peers(g, gone)], axis=index) for g in mesh.ids]
        if lost or move.size.partial != held.layout.partial:
            raise Illegal(f"{lost} cuts nothing in {held.layout}")
        return Spread(move.size, shards, held.shape, held.parts)
    if held.layout != move.size:
        raise Illegal(f"{move.kind} of {move.size}, but {held.layout} is there")
    if move.kind in {"all_reduce", "reduce_scatter"} and not set(group) <= held.layout.partial:
        raise Illegal(f"no sum over {group} is owed in {held.layout}")
    sums = [sum(held.shards[peer] for peer in mesh.peers(g, group)) for g in mesh.ids]
    if move.kind == "all_reduce":
        return Spread(Layout(tuple(cuts), held.layout.partial - set(group)), sums, held.shape, held.parts)
    raise Illegal(f"{move.kind} needs to know where it ends")


def perform_to(mesh, held, move, index):
    """Carry out a reduce_scatter or an all_to_all that ends on tensor axis `index`."""
    group, cuts, partial = move.group, list(held.layout.cuts), held.layout.partial
    if held.layout != move.size:
        raise Illegal(f"{move.kind} of {move.size}, but {held.layout} is there")
    if move.kind == "reduce_scatter":
        if not set(group) <= partial:
            raise Illegal(f"no sum over {group} is owed in {held.layout}")
        shards = [
            sum(_part(mesh, held.shards[peer], index, group, g) for peer in mesh.peers(g, group)) for g in mesh.ids
        ]
        partial -= set(group)
    else:
        source = next((i for i, cut in enumerate(cuts) if cut[-len(group) :] == group), None)
        if source is None or source == index:
            raise Illegal(f"{group} is not the innermost cut of another axis in {held.layout}")
        shards = [
            np.concatenate(
                [_part(mesh, held.shards[peer], index, group, g) for peer in mesh.peers(g, group)], axis=source
            )
            for g in mesh.ids
        ]
        cuts[source] = cuts[source][: -len(group)]
    cuts[index] += group
    return Spread(Layout(tuple(cuts), frozenset(partial)), shards, held.shape, held.parts)


def bring(mesh, held, want, moves=None):
    """Carry out what `redistribute` says, with free slices between; Illegal where that is not possible."""
    for move in redistribute(held.layout, want) if moves is None else moves:
        before = move.size
        if move.kind == "all_gather":  # its size is what it ends at
            cuts = zip(held.layout.cuts, move.size.cuts, strict=True)
            before = Layout(tuple(max(pair, key=len) for pair in cuts), move.size.partial)
        if held.layout != before:
            held = _slice_more(mesh, held, before)
        if move.kind in {"reduce_scatter", "all_to_all"}:
            ends = [i for i, cut in enumerate(want.cuts) if set(move.group) <= set(cut)]
            if len(ends) != 1:
                raise Illegal(f"{move} ends on no one axis of {want}")
            held = perform_to(mesh, held, move, ends[0])
        else:
            held = perform(mesh, held, move)
    return held if held.layout == want else _slice_more(mesh, held, want)
