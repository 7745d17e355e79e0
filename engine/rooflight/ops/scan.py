"""Ops that go through a sequence position by position and carry a state: a short convolution, and the Mamba-2 scan.

The scan is h ← exp(dt·A)·h + dt·B⊗x, y = C·h + D·x with dt = softplus(dt + bias), one number A per head. A prompt is
cut into chunks: within one, positions meet in pairs as in attention, and what came before enters through the state.
That is the algorithm of the Mamba-2 paper (Dao and Gu 2024, arXiv 2405.21060, section 6 and listing 1), of its kernels
(`mamba_chunk_scan_combined`) and of transformers' `mamba2_chunk_scan`; a step of decoding follows the recurrence itself
(`selective_state_update`).
"""

from rooflight.ops.record import op

_SCAN = "x[b s (g m) p], dt[b s (g m)], into[b s g n], out[b s g n] -> [b s (g m) p]"
_LEARNED = {"A_log": "[(g m)]", "D": "[(g m)]", "dt_bias": "[(g m)]"}
_STATE = "[b (g m) p n]"

OPS = (
    op(
        "causal_conv1d",
        family="scan",
        summary="each channel's weighted sum of its last `kernel` positions; the positions before are its state",
        axes="x[b s channels] -> [b s channels]",
        whole=("s",),
        dims=("channels", "kernel"),
        weights={"weight": "[channels 1 kernel]", "bias?": "[channels]"},
        other="b * s * channels * (2 * kernel + bias)",  # a channel sees no other, so no matrix unit can do it
        state="[b channels before]",
        lengths={"before": "kernel - 1"},
    ),
    op(
        "ssd_chunk_scan",
        family="scan",
        summary="state-space scan of a prompt in chunks; m heads share a group's way into and out of the state",
        axes=_SCAN,
        whole=("s", "n"),
        dims=("chunk",),
        weights=_LEARNED,
        matmul="2 * b * g * (n + m * p) * pairs_in_chunks + 4 * b * s * g * m * p * n",  # per pair a score, once per
        # group, and a weighted sum per head; per position into the chunk's state, and out of the one before
        other="b * g * m * (s * (9 + n + 5 * p) + 3 * pairs_in_chunks + 2 * chunks * p * n)",  # per position bias,
        # softplus (3), times A, running sum, decays (3), decay of what goes in (n), x times dt, D times x and its sum,
        # decay of what comes out and its sum (5 p); per pair a decay (2), times the score; per chunk decay, add
        state=_STATE,
        lengths={
            "chunks": "ceil_div(s, chunk)",
            "pairs_in_chunks": "(s // chunk) * (chunk * (chunk + 1) / 2) + (s % chunk) * (s % chunk + 1) / 2",
        },
    ),
    op(
        "ssd_step",
        family="scan",
        summary="the same scan by its recurrence, position by position",
        axes=_SCAN,
        whole=("s", "n"),
        weights=_LEARNED,
        other="b * s * g * m * (6 + n + 2 * p + 5 * p * n)",  # bias, softplus (3), times A, exponential; dt times what
        # goes in (n); D times x and its sum (2 p); per element of the state decay, x times it, add, multiply, add up
        state=_STATE,
    ),
)
