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
    ),
    op(
        "select_positions",
        family="view",
        summary="the last `to` positions of every sequence",
        axes="x[b s d] -> [b to d]",
        dims=("to",),
        view=True,
    ),
)
