"""Where a tensor lies: for every mesh axis sharded along one of its axes, replicated, or a partial sum.

A partial tensor has the shape of the whole one; only its state says that a sum is owed.
"""

from __future__ import annotations

from itertools import permutations, takewhile
from typing import NamedTuple

from rooflight.layout.mesh import AXES, Group


class Layout(NamedTuple):
    """The state of one tensor.

    cuts     per tensor axis, the mesh axes that cut it, outermost first: the first cuts the axis into blocks, the next
             cuts each block. Of a merged axis its outermost part is what is cut
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
    Axes that make the same step step together: a product group is one collective. Only the innermost of the mesh axes
    that cut an axis can come or go: without an outer one a GPU would hold scattered pieces instead of a block. Where
    an outer one must, the inner ones are gathered with it, and everyone takes its slice again.
    """
    moves: list[Move] = []
    cuts = list(have.cuts)
    partial = have.partial

    def now() -> Layout:
        return Layout(tuple(cuts), partial)

    def comes(index: int, among: frozenset[str]) -> Group:
        """The mesh axes among some that `want` has directly inside what cuts an axis now."""
        held, aim = cuts[index], want.cuts[index]
        if aim[: len(held)] != held:
            return ()
        return tuple(takewhile(among.__contains__, aim[len(held) :]))

    def slices() -> None:
        busy = partial.union(*cuts)
        for index in range(len(cuts)):
            cuts[index] += comes(index, frozenset(AXES) - busy)

    slices()
    for index in range(len(cuts)):
        group = comes(index, partial - want.partial)
        if group:
            moves.append(Move("reduce_scatter", group, now()))
            partial -= frozenset(group)
            cuts[index] += group
            slices()
    for source, index in permutations(range(len(cuts)), 2):
        given = cuts[source][len(_shared(cuts[source], want.cuts[source])) :]
        group = comes(index, frozenset(given))
        if group and cuts[source][-len(group) :] == group:
            moves.append(Move("all_to_all", group, now()))
            cuts[source] = cuts[source][: -len(group)]
            cuts[index] += group
            slices()
    owed = partial - want.partial
    if owed:
        moves.append(Move("all_reduce", ordered(owed), now()))
        partial -= owed
        slices()
    kept = [_shared(cut, aim) for cut, aim in zip(cuts, want.cuts, strict=True)]
    gone = {axis for cut, keep in zip(cuts, kept, strict=True) for axis in cut[len(keep) :]}
    if gone:
        cuts = kept
        moves.append(Move("all_gather", ordered(gone), now()))
    return tuple(moves)


def _shared(cut: Group, aim: Group) -> Group:
    """Return the outer mesh axes that two cuts of one axis share."""
    return tuple(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], zip(cut, aim, strict=False)))
