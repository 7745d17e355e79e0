"""A whole state-space mixer on several GPUs: heads cut, groups cut or repeated, against the mixer on one.

Its fused projection and its convolution lie in sections; every GPU has its part of each. What the layout algebra says
of their lengths is compared with what the GPUs here hold.
"""

import numpy as np
import pytest

import rooflight
from layout.ops_in_numpy import Place, causal_conv1d, rms_norm_gated, selective_scan
from rooflight import api
from rooflight.api.memory import Deployed
from rooflight.layout import Plan

D, HEADS, P, N, K = 6, 8, 2, 3, 4


def config(groups):
    return {
        "architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "dtype": "bfloat16",
        "num_hidden_layers": 1, "hybrid_override_pattern": "M", "hidden_size": D, "vocab_size": 64,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": 2, "intermediate_size": 8,
        "mamba_num_heads": HEADS, "mamba_head_dim": P, "ssm_state_size": N, "n_groups": groups, "conv_kernel": K,
    }  # fmt: skip


def sections(groups):
    """Of the projection: gate, what is scanned, the ways into and out of the state, steps; with parts of each."""
    return [(HEADS, P), (HEADS, P), (groups, N), (groups, N), (HEADS, 1)]


def own(parts, each, tp, gpu, start):
    """Where a GPU's part of a section lies in the whole; with fewer parts than GPUs, parts repeat."""
    if parts < tp:
        first, count = gpu * parts // tp, 1
    else:
        first, count = gpu * parts // tp, parts // tp
    return list(range(start + first * each, start + (first + count) * each))


def rows(groups, tp, gpu, which):
    """The rows of some sections that a GPU holds."""
    found, start = [], 0
    for index, (parts, each) in enumerate(sections(groups)):
        if index in which:
            found += own(parts, each, tp, gpu, start)
            start += parts * each
    return found


def weights(groups, rng):
    fused = sum(parts * each for parts, each in sections(groups))
    channels = HEADS * P + 2 * groups * N
    return {
        "in_proj": rng.normal(size=(fused, D)), "conv": rng.normal(size=(channels, 1, K)),
        "conv_bias": rng.normal(size=channels), "log": rng.normal(size=HEADS), "skip": rng.normal(size=HEADS),
        "bias": rng.normal(size=HEADS), "norm": rng.normal(size=HEADS * P), "out_proj": rng.normal(size=(D, HEADS * P)),
    }  # fmt: skip


def until_norm(x, held, heads, groups):
    """Gate and scan of the heads and groups that some weights are of."""
    wide, narrow = heads * P, groups * N
    gate, scanned, steps = np.split(x @ held["in_proj"].T, [wide, 2 * wide + 2 * narrow], axis=-1)
    mixed = causal_conv1d(None, scanned, held["conv"], held["conv_bias"])
    mixed = mixed / (1 + np.exp(-mixed))
    hidden, into, out = np.split(mixed, [wide, wide + narrow], axis=-1)
    shaped = (one.reshape(*x.shape[:2], count, -1) for one, count in ((hidden, heads), (into, groups), (out, groups)))
    hidden, into, out = shaped
    given = selective_scan(None, hidden, steps, into, out, held["log"], held["skip"], held["bias"])
    return gate, given.reshape(*x.shape[:2], wide)


def one_gpus(held, groups, tp, gpu):
    heads = own(HEADS, 1, tp, gpu, 0)
    wide = own(HEADS, P, tp, gpu, 0)
    channels = rows(groups, tp, gpu, {1, 2, 3})
    return {
        "in_proj": held["in_proj"][rows(groups, tp, gpu, {0, 1, 2, 3, 4})],
        "conv": held["conv"][channels], "conv_bias": held["conv_bias"][channels],
        "log": held["log"][heads], "skip": held["skip"][heads], "bias": held["bias"][heads],
        "norm": held["norm"][wide], "out_proj": held["out_proj"][:, wide],
    }  # fmt: skip


def named(deployed, column):
    """A column of one GPU's part by the mixer's own names."""
    values = getattr(deployed.device, column)
    ids = [step.node.id for step in deployed.program.steps]
    return {node.partition(".mixer.")[2]: value for node, value in zip(ids, values, strict=True)}


CASES = [(2, 1), (8, 1), (2, 2), (4, 2), (8, 2), (2, 4), (8, 8), (4, 8)]


@pytest.mark.parametrize(("tp", "groups"), CASES)
def test_parts_add_up_to_the_whole(tp, groups):
    rng = np.random.default_rng(0)
    held, x = weights(groups, rng), rng.normal(size=(2, 5, D))
    gate, given = until_norm(x, held, HEADS, groups)
    truth = rms_norm_gated(Place({"groups#": groups}), gate, given, held["norm"]) @ held["out_proj"].T

    mine = [one_gpus(held, groups, tp, gpu) for gpu in range(tp)]
    local = max(groups // tp, 1)
    parts = [until_norm(x, one, HEADS // tp, local) for one in mine]
    # Where a group lies on several GPUs they add up its squares, one number per row.
    squares = [
        ((given * gate / (1 + np.exp(-gate))).reshape(*x.shape[:2], local, -1) ** 2).sum(-1, keepdims=True)
        for gate, given in parts
    ]
    share = max(tp // groups, 1)
    width = HEADS * P // groups
    found = 0
    for gpu, (one, (gate, given)) in enumerate(zip(mine, parts, strict=True)):
        peers = range(gpu // share * share, gpu // share * share + share)
        mean = sum(squares[peer] for peer in peers) / width
        normed = rms_norm_gated(Place({"groups#": local}), gate, given, one["norm"], mean)
        found = found + normed @ one["out_proj"].T
    assert np.allclose(found, truth)


@pytest.mark.parametrize(("tp", "groups"), CASES)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_algebra_says_what_they_hold(tp, groups, phase):
    model = rooflight.load(config(groups))
    one = Deployed(model, api.step_size(model, phase, context=64), Plan(attn_tp=tp))
    mine = one_gpus(weights(groups, np.random.default_rng(0)), groups, tp, 0)
    shapes, kept, stored = (named(one, column) for column in ("shape", "cache_bytes", "stored_bytes"))
    assert shapes["in_proj"][-1] == len(mine["in_proj"])
    assert shapes["conv1d"][-1] == len(mine["conv"])
    assert shapes["scan"][2:] == (HEADS // tp, P)
    assert shapes["norm"][-1] == len(mine["norm"])
    assert shapes["into_groups"][2:] == (max(groups // tp, 1), N)
    assert stored["in_proj"] == 2 * mine["in_proj"].size
    assert stored["conv1d"] == 2 * (mine["conv"].size + mine["conv_bias"].size)
    assert stored["scan"] == 2 * 3 * HEADS // tp
    assert kept["conv1d"] == 2 * len(mine["conv"]) * (K - 1)
    assert kept["scan"] == 4 * HEADS // tp * P * N


@pytest.mark.parametrize(("tp", "groups"), CASES)
def test_squares_are_added_up_where_a_group_lies_on_several(tp, groups):
    model = rooflight.load(config(groups))
    one = Deployed(model, api.step_size(model, "decode", context=64, batch=3), Plan(attn_tp=tp))
    at = next(i for i, step in enumerate(one.program.steps) if step.node.op.shares)
    moves = [move for move in one.device.collectives[at] if move.gpus > 1]
    assert [(move.kind, move.bytes) for move in moves] == [("all_reduce", 0 if groups % tp == 0 else 3 * 1 * 1 * 2)]
