"""Normalisations over the last axis."""

from rooflight.ops.record import op

OPS = (
    op(
        "rms_norm",
        family="norm",
        summary="divide by the root mean square, times a stored gain",
        axes="x[... width] -> [... width]",
        whole=("width",),
        dims=("width",),
        weights={"weight": "[width]"},
        other="4 * rows * width",  # square, add up, scale, gain
    ),
    op(
        "rms_norm_gated",
        family="norm",
        summary="the SiLU of a gate times x, divided by the root mean square within each group, times a stored gain",
        axes="gate[... (groups each)], x[... (groups each)] -> [... (groups each)]",
        dims=("groups",),
        weights={"weight": "[(groups each)]"},
        shares="groups",  # a sum of squares per group: less than an activation, and a collective all the same
        other="9 * rows * groups * each",  # SiLU (4), times it, square, add up, scale, gain
    ),
    op(
        "layer_norm",
        family="norm",
        summary="subtract the mean, divide by the deviation, times a stored gain, plus a stored shift",
        axes="x[... width] -> [... width]",
        whole=("width",),
        dims=("width",),
        weights={"weight": "[width]", "bias?": "[width]"},
        other="(6 + bias) * rows * width",  # add up, subtract, square, add up, scale, gain, shift
    ),
)
