"""Matrix products with a stored weight, and look-ups in a stored table."""

from rooflight.ops.record import op

OPS = (
    op(
        "linear",
        family="linear",
        summary="multiply the last axis by a stored matrix",
        axes="x[... in] -> [... out]",
        dims=("in", "out"),
        weights={"weight": "[out in]", "bias?": "[out]"},
        matmul="2 * rows * in * out",  # one multiply and one add per weight per row
        other="bias * rows * out",
        additive=True,
    ),
    op(
        "linear_in_out",
        family="linear",
        summary="the same, stored with the input axis first",
        axes="x[... in] -> [... out]",
        dims=("in", "out"),
        weights={"weight": "[in out]", "bias?": "[out]"},
        matmul="2 * rows * in * out",
        other="bias * rows * out",
        additive=True,
    ),
    op(
        "embedding",
        family="embedding",
        summary="look up one row of a stored table per id",
        axes="ids[...] -> [... width]",
        dims=("entries", "width"),
        weights={"weight": "[entries width]"},
        reads="min(rows, entries) * width",  # a gather: at most the rows asked for, and never more than there are
    ),
    op(
        "linear_per_head",
        family="linear",
        summary="multiply the last axis by a stored matrix of each head's own",
        axes="x[... heads in] -> [... heads out]",
        dims=("heads", "in", "out"),
        weights={"weight": "[heads out in]"},
        matmul="2 * rows * heads * in * out",
        additive=True,
    ),
)
