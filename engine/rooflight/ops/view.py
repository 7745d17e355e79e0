"""Other looks at the same elements: no bytes move and nothing is computed."""

from rooflight.ops.record import op

OPS = (
    op(
        "split",
        family="view",
        summary="one axis becomes two, the outer one first",
        axes="x[... (outer inner)] -> [... outer inner]",
        dims=("outer", "inner"),
        view=True,
    ),
    op(
        "merge",
        family="view",
        summary="the last two axes become one",
        axes="x[... outer inner] -> [... (outer inner)]",
        view=True,
    ),
    op(
        "slice",
        family="view",
        summary="a part of the last axis",
        axes="x[... from] -> [... to]",
        dims=("from", "to"),
        view=True,
        narrows=True,
    ),
    op(
        "select_positions",
        family="view",
        summary="the last `to` positions of every sequence",
        axes="x[b s d] -> [b to d]",
        dims=("to",),
        view=True,
        narrows=True,
    ),
    op(
        "join",
        family="view",
        summary="two tensors that lie side by side, seen as one along the last axis",
        axes="x[... left], y[... right] -> [... both]",
        lengths={"both": "left + right"},
        view=True,
    ),
    op(
        "add_axis",
        family="view",
        summary="a new axis of length 1 before the last one",
        axes="x[... width] -> [... 1 width]",
        view=True,
    ),
    op(
        "repeat_heads",
        family="view",
        summary="one vector per position, shown to every head",
        axes="x[b s width] -> [b s heads width]",
        dims=("heads",),
        view=True,
        repeats=True,
    ),
)
