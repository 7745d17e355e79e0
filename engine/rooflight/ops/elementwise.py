"""Work on single elements. Each op says how many operations one element takes; docs/counting.md explains them."""

from rooflight.ops.record import op

OPS = (
    op(
        "add",
        family="elementwise",
        summary="add two tensors of one shape",
        axes="x[...], y[...] -> [...]",
        other="rows",
    ),
    op(
        "add_rows",
        family="elementwise",
        summary="add one tensor to every sequence of the batch",
        axes="x[b s d], y[s d] -> [b s d]",
        other="b * s * d",
    ),
    op(
        "multiply",
        family="elementwise",
        summary="multiply two tensors of one shape",
        axes="x[...], y[...] -> [...]",
        other="rows",
    ),
    op(
        "silu",
        family="elementwise",
        summary="x times its sigmoid",
        axes="x[...] -> [...]",
        other="4 * rows",  # exponential, add, divide, multiply
    ),
    op(
        "gelu",
        family="elementwise",
        summary="Gaussian error linear unit, exact or by tanh",
        axes="x[...] -> [...]",
        other="8 * rows",  # cube (2), scale, add, scale, tanh, add, multiply, as the tanh form is written
    ),
)
