"""Work on single elements. Each op says how many operations one element takes; docs/counting.md explains them."""

from rooflight.ops.record import op

OPS = (
    op(
        "add",
        family="elementwise",
        summary="add two tensors of one shape",
        axes="x[...], y[...] -> [...]",
        additive=True,
        other="rows",
    ),
    op(
        "add_rows",
        family="elementwise",
        summary="add one tensor to every sequence of the batch",
        axes="x[b s d], y[s d] -> [b s d]",
        additive=True,
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
        "relu_squared",
        family="elementwise",
        summary="the square of what is above zero",
        axes="x[...] -> [...]",
        other="2 * rows",  # comparison, square
    ),
    op(
        "gelu",
        family="elementwise",
        summary="Gaussian error linear unit, exact or by tanh",
        axes="x[...] -> [...]",
        other="8 * rows",  # cube (2), scale, add, scale, tanh, add, multiply, as the tanh form is written
    ),
    op(
        "sigmoid",
        family="elementwise",
        summary="one over one plus the exponential of minus x",
        axes="x[...] -> [...]",
        other="3 * rows",  # exponential, add, divide
    ),
    op(
        "softmax",
        family="elementwise",
        summary="softmax over the last axis",
        axes="x[... n] -> [... n]",
        whole=("n",),
        other="5 * rows * n",  # maximum, subtract, exponential, add up, divide
    ),
    op(
        "add_vector",
        family="elementwise",
        summary="add a stored vector to the last axis",
        axes="x[... n] -> [... n]",
        weights={"weight": "[n]"},
        other="rows * n",
    ),
    op(
        "concat",
        family="copy",
        summary="copy two tensors side by side along the last axis",
        axes="x[... left], y[... right] -> [... both]",
        whole=("left", "right"),
        additive=True,
        lengths={"both": "left + right"},
    ),
    op(
        "clamped_swiglu",
        family="elementwise",
        summary="halves of one tensor clamped, one gating the other through a scaled sigmoid, plus one",
        axes="x[... both] -> [... half]",
        lengths={"half": "both / 2"},
        carries={"half": "both"},
        other="9 * rows * half",  # clamp (3), scale, sigmoid (3), add one, two products less the shared scale
    ),
)
