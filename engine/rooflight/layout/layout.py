"""Where a tensor lies: for every mesh axis sharded along one of its axes, replicated, or a partial sum.

A partial tensor has the shape of the whole one; only its state says that a sum is owed.
"""

from __future__ import annotations

from typing import NamedTuple

from rooflight.layout.mesh import AXES, Group


class Layout(NamedTuple):
    """The state of one tensor.

    cuts     per tensor axis, the mesh axes that cut it; outermost of a merged axis is what is cut
    partial  mesh axes over which a sum is owed
    """

    cuts: tuple[Group, ...]
    partial: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Write the layout as `[S(dp_e),R,R]+P(tp_e)`."""
        axes = ",".join(f"S({'·'.join(cut)})" if cut else "R" for cut in self.cuts)
        owed = "".join(f"+P({axis})" for axis in AXES if axis in self.partial)
        return f"[{axes}]{owed}"


class Move(NamedTuple):
    """One collective over a group of mesh axes.

    kind   all_reduce, reduce_scatter, all_gather, all_to_all
    group  mesh axes, in the mesh's order
    size   layout of the tensor whose local size the collective moves: the input of a reduction, a scatter or an
           exchange, the output of a gather
    """

    kind: str
    group: Group
    size: Layout


def replicated(rank: int) -> Layout:
    """Return the layout of a tensor that every GPU holds whole."""
    return Layout(((),) * rank)


def ordered(axes: frozenset[str] | set[str]) -> Group:
    """Return mesh axes in the mesh's order."""
    return tuple(axis for axis in AXES if axis in axes)


def redistribute(have: Layout, want: Layout) -> tuple[Move, ...]:
    """Return the collectives that bring a tensor from one layout to another, the ones that shrink it first.

    Taking one's slice of a replicated tensor, and keeping a whole value on one GPU of a partial group, move nothing.
    Axes that make the same step step together: a product group is one collective.
    """
    moves: list[Move] = []
    cuts = [set(cut) for cut in have.cuts]
    partial = set(have.partial)
    target = {axis: index for index, cut in enumerate(want.cuts) for axis in cut}
    home = {axis: index for index, cut in enumerate(have.cuts) for axis in cut}

    def now() -> Layout:
        return Layout(tuple(ordered(cut) for cut in cuts), frozenset(partial))

    for axis in AXES:  # replicated here, cut there: everyone already holds its slice
        if axis in target and axis not in home and axis not in partial:
            cuts[target[axis]].add(axis)
    for index in range(len(cuts)):
        group = {axis for axis in partial - want.partial if target.get(axis) == index}
        if group:
            moves.append(Move("reduce_scatter", ordered(group), now()))
            partial -= group
            cuts[index] |= group
    for source in range(len(cuts)):
        for index in range(len(cuts)):
            group = {
                axis
                for axis in cuts[source]
                if source != index and home.get(axis) == source and target.get(axis) == index
            }
            if group:
                moves.append(Move("all_to_all", ordered(group), now()))
                cuts[source] -= group
                cuts[index] |= group
    owed = partial - want.partial
    if owed:
        moves.append(Move("all_reduce", ordered(owed), now()))
        partial -= owed
    group = {axis for index, cut in enumerate(cuts) for axis in cut if target.get(axis) != index}
    if group:
        cuts = [cut - group for cut in cuts]
        moves.append(Move("all_gather", ordered(group), now()))
    return tuple(moves)
