"""Mixture of experts: choosing experts per token, sending rows to them, bringing the results back.

An expert is a copy of a component (`copies:` where it is used). Inside, a row is one (token, chosen expert) pair; an
expert sees rows · k / experts of them, the average under balanced routing.
"""

from rooflight.ops.record import op

OPS = (
    op(
        "top_k",
        family="routing",
        summary="the k largest of the last axis",
        axes="x[... n] -> [... k]",
        whole=("n",),
        dims=("k",),
        other="rows * n",  # one comparison per candidate
    ),
    op(
        "sum_last",
        family="routing",
        summary="add up the last axis",
        axes="x[... n] -> [...]",
        whole=("n",),
        other="rows * n",
    ),
    op(
        "max_last",
        family="routing",
        summary="the largest of the last axis",
        axes="x[... n] -> [...]",
        whole=("n",),
        other="rows * n",
    ),
    op(
        "keep_groups",
        family="routing",
        summary="mask the candidates outside the chosen groups",
        axes="x[... n], groups[... g] -> [... n]",
        whole=("n", "g"),
        other="rows * n",
    ),
    op(
        "pick",
        family="routing",
        summary="the entries of x at the chosen places",
        axes="x[... n], picks[... k] -> [... k]",
        whole=("n", "k"),
    ),
    op(
        "normalize",
        family="routing",
        summary="divide the last axis by its sum",
        axes="x[... k] -> [... k]",
        whole=("k",),
        other="2 * rows * k",  # add up, divide
    ),
    op(
        "scale",
        family="routing",
        summary="multiply by a constant",
        axes="x[...] -> [...]",
        additive=True,
        other="rows",
    ),
    op(
        "dispatch",
        family="routing",
        summary="one row per token and chosen expert",
        axes="x[... d], picks[... k] -> [routed d]",
        whole=("d", "k"),
        lengths={"routed": "rows * k"},
        rows="spread",
    ),
    op(
        "expert_rows",
        family="view",
        summary="the rows that reach one expert, on average",
        axes="x[routed d] -> [share d]",
        dims=("experts",),
        lengths={"share": "routed / experts"},
        rows="share",
        view=True,
        narrows=True,
    ),
    op(
        "combine",
        family="routing",
        summary="weighted sum of the chosen experts' rows of each token",
        axes="y[share d], weights[... k] -> [... d]",
        additive=True,
        whole=("k",),
        dims=("experts",),
        lengths={"share": "rows * k / experts"},
        rows="gather",
        other="2 * rows * k * d",
    ),
)
