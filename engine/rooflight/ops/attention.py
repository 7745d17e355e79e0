"""Attention between queries and keys, and the rotary positions it relies on.

Score, softmax and apply run as one kernel in every serving framework, so the score matrix never reaches memory.
"""

from rooflight.ops.record import op

MASK_CHOICES = ("causal", "sliding", "bidirectional")

OPS = (
    op(
        "rope",
        family="rope",
        summary="rotate pairs of the last axis by an angle that grows with the position",
        axes="x[... width] -> [... width]",
        whole=("width",),
        dims=("width", "rotated"),
        other="3 * rows * rotated",  # two products and one sum per rotated element
    ),
    op(
        "attention_score",
        family="attention",
        summary="query times key for every pair the mask lets through; k query heads share a key head",
        axes="q[b s (k g) d], k[b t k d] -> [b (k g) s t]",
        whole=("d", "t"),
        matmul="2 * b * k * g * pairs * d",
        other="b * k * g * pairs",  # the scale
        choices={"mask": MASK_CHOICES},
        counts=("pairs",),
        on_chip=True,
    ),
    op(
        "index_score",
        family="attention",
        summary="how much an earlier position matters to a query: weighted sum over small heads of what is above zero",
        axes="q[b s h d], k[b t d], w[b s h] -> [b s t]",
        whole=("h", "d", "t"),
        matmul="2 * b * h * pairs * d + 2 * b * h * pairs",  # the products, then heads weighed and summed up
        other="b * h * pairs",  # what is below zero counts as zero
        choices={"mask": ("causal",)},
        counts=("pairs",),
    ),
    op(
        "attention_score_picked",
        family="attention",
        summary="query times key for the positions picked for each query; k query heads share a key head",
        axes="q[b s (k g) d], k[b t k d], picks[b s n] -> [b (k g) s t]",
        whole=("d", "t", "n"),
        matmul="2 * b * k * g * pairs * d",
        other="b * k * g * pairs",  # the scale
        choices={"mask": ("picked",)},
        counts=("pairs",),
        on_chip=True,
        picks="n",
    ),
    op(
        "attention_softmax",
        family="attention",
        summary="softmax of the scores over the keys a query may see",
        axes="x[b h s t] -> [b h s t]",
        whole=("t",),
        weights={"sinks?": "[h]"},
        other="5 * b * h * pairs + sinks * 3 * b * h * s",  # maximum, subtract, exponential, add up, divide; a sink is
        # one more key of each query: subtract, exponential, add up
        counts=("pairs",),
        on_chip=True,
    ),
    op(
        "attention_apply",
        family="attention",
        summary="weighted sum of the values of every pair the mask lets through",
        axes="p[b (k g) s t], v[b t k d] -> [b s (k g) d]",
        whole=("d", "t"),
        matmul="2 * b * k * g * pairs * d",
        counts=("pairs",),
    ),
)
