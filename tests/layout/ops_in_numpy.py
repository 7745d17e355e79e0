"""What every op computes, in numpy, on whole arrays and on one GPU's part alike; and small cases of each.

A reference takes the arrays it is given and knows of its place on the machine only what a kernel would be told: which
rows of a table it holds, which positions its queries and keys have, and whether it is the one of several GPUs that
owe a sum to add what must be added once.
"""

from math import lcm
from typing import NamedTuple

import numpy as np


class Place(NamedTuple):
    """What one GPU is told: where its pieces of named axes start, and whether it stands first in the sum it owes."""

    starts: dict
    first: bool = True


def linear(at, x, weight, bias=None):
    return x @ weight.T + (0 if bias is None or not at.first else bias)


def embedding(at, ids, weight):
    mine = ids - at.starts["entries"]
    held = (mine >= 0) & (mine < len(weight))
    return np.where(held[..., None], weight[np.where(held, mine, 0)], 0.0)


def rms_norm(at, x, weight):
    return weight * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def layer_norm(at, x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return weight * centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) + bias


def rotate(at, x):
    one, two = np.split(x, 2, axis=-1)
    return np.concatenate([one * 0.6 - two * 0.8, one * 0.8 + two * 0.6], -1)


def attention_score(at, q, k):
    scores = np.einsum("bshd,bthd->bhst", q, np.repeat(k, q.shape[2] // k.shape[2], axis=2))
    queries = at.starts["s"] + np.arange(q.shape[1])
    keys = at.starts["t"] + np.arange(k.shape[1])
    return np.where(keys[None, :] > queries[:, None], -1e30, scores)


def index_score(at, q, k, w):
    above_zero = np.maximum(np.einsum("bshd,btd->bsht", q, k), 0)
    scores = np.einsum("bsht,bsh->bst", above_zero, w)
    queries = at.starts["s"] + np.arange(q.shape[1])
    keys = at.starts["t"] + np.arange(k.shape[1])
    return np.where(keys[None, :] > queries[:, None], -1e30, scores)


def attention_score_picked(at, q, k, picks):
    scores = np.einsum("bshd,bthd->bhst", q, np.repeat(k, q.shape[2] // k.shape[2], axis=2))
    keys = at.starts["t"] + np.arange(k.shape[1])
    picked = (picks[..., None] == keys).any(-2)
    return np.where(picked[:, None], scores, -1e30)


def softmax(at, x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def attention_softmax(at, x, sinks):
    logits = np.concatenate([x, np.broadcast_to(sinks[None, :, None, None], (*x.shape[:3], 1))], -1)
    return softmax(at, logits)[..., :-1]


def attention_apply(at, p, v):
    return np.einsum("bhst,bthd->bshd", p, np.repeat(v, p.shape[1] // v.shape[2], axis=2))


def keep_groups(at, x, groups):
    width = x.shape[-1] // GROUPS
    kept = (np.arange(GROUPS)[:, None] == groups[..., None, :]).any(-1)
    return np.where(np.repeat(kept, width, axis=-1), x, 0.0)


def slice_parts(at, x):
    return x.reshape(*x.shape[:-1], -1, 3, PART)[..., 0, :].reshape(*x.shape[:-1], -1)


def top_k(at, x):
    return -np.sort(-x, axis=-1)[..., :K]


def causal_conv1d(at, x, weight, bias):
    kernel = weight.shape[-1]
    padded = np.concatenate([np.zeros_like(x[:, :1])] * (kernel - 1) + [x], 1)
    return sum(padded[:, i : i + x.shape[1]] * weight[:, 0, i] for i in range(kernel)) + bias


def selective_scan(at, x, dt, into, out, log, skip, bias):
    """The recurrence, position by position; heads that share a group lie side by side."""
    each = x.shape[2] // into.shape[2]
    into, out = (np.repeat(one, each, axis=2) for one in (into, out))
    step = np.log1p(np.exp(dt + bias))
    state, given = np.zeros((x.shape[0], *x.shape[2:], into.shape[-1])), []
    for s in range(x.shape[1]):
        decay = np.exp(-np.exp(log) * step[:, s])[..., None, None]
        state = decay * state + np.einsum("bh,bhp,bhn->bhpn", step[:, s], x[:, s], into[:, s])
        given.append(np.einsum("bhpn,bhn->bhp", state, out[:, s]) + skip[:, None] * x[:, s])
    return np.stack(given, 1)


def rms_norm_gated(at, gate, x, weight, sums=None):
    """`sums` of squares per row and group are given where a group lies on several GPUs, with how many it adds up."""
    gated = x * gate / (1 + np.exp(-gate))
    parts = gated.reshape(*x.shape[:-1], at.starts["groups#"], -1)
    mean = (parts**2).mean(-1, keepdims=True) if sums is None else sums
    return weight * (parts / np.sqrt(mean + 1e-6)).reshape(x.shape)


GROUPS, K, PART = 3, 2, 2  # of the small cases

REFERENCES = {
    "linear": linear,
    "linear_in_out": lambda at, x, weight, bias: linear(at, x, weight.T, bias),
    "linear_per_head": lambda at, x, weight: np.einsum("...hi,hoi->...ho", x, weight),
    "embedding": embedding,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "rope": rotate,
    "attention_score": attention_score,
    "index_score": index_score,
    "attention_score_picked": attention_score_picked,
    "attention_softmax": attention_softmax,
    "attention_apply": attention_apply,
    "causal_conv1d": causal_conv1d,
    "ssd_chunk_scan": selective_scan,
    "ssd_step": selective_scan,
    "rms_norm_gated": rms_norm_gated,
    "relu_squared": lambda at, x: np.maximum(x, 0) ** 2,
    "add": lambda at, x, y: x + y,
    "add_rows": lambda at, x, y: x + y,
    "multiply": lambda at, x, y: x * y,
    "silu": lambda at, x: x / (1 + np.exp(-x)),
    "gelu": lambda at, x: 0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * x**3))),
    "sigmoid": lambda at, x: 1 / (1 + np.exp(-x)),
    "softmax": softmax,
    "add_vector": lambda at, x, weight: x + weight,
    "concat": lambda at, x, y: np.concatenate([x, y], -1),
    "join": lambda at, x, y: np.concatenate([x, y], -1),
    "clamped_swiglu": lambda at, x: (np.clip(x[..., 1::2], -2, 2) + 1) * np.clip(x[..., ::2], None, 2),
    "top_k": top_k,
    "sum_last": lambda at, x: x.sum(-1),
    "max_last": lambda at, x: x.max(-1),
    "keep_groups": keep_groups,
    "pick": lambda at, x, picks: np.take_along_axis(x, picks, -1),
    "normalize": lambda at, x: x / x.sum(-1, keepdims=True),
    "scale": lambda at, x: x * 2.5,
    "split": lambda at, x: x.reshape(*x.shape[:-1], -1, INNER),
    "merge": lambda at, x: x.reshape(*x.shape[:-2], -1),
    "slice": lambda at, x: x[..., :TO],
    "slice_parts": slice_parts,
    "select_positions": lambda at, x: x[:, -TO:],
    "add_axis": lambda at, x: x[..., None, :],
    "repeat_heads": lambda at, x, heads=None: np.repeat(x[:, :, None, :], at.starts["heads#"], axis=2),
}
INNER, TO = 3, 2
EXCHANGED = {"dispatch", "expert_rows", "combine"}  # rows move by content: test_routed_rows.py

# Names a spec's dims may cut, by op: as the dims table and weights decide.
DECLARED = {
    "linear": ("in", "out"),
    "linear_in_out": ("in", "out"),
    "linear_per_head": ("heads",),
    "embedding": ("entries",),
    "split": ("outer",),
    "causal_conv1d": ("channels",),
    "rms_norm_gated": ("groups",),
    "slice_parts": ("from",),
    "repeat_heads": ("heads",),
}
INTEGER = {
    ("embedding", "ids"): "entries",
    ("keep_groups", "groups"): GROUPS,
    ("pick", "picks"): "n",
    ("attention_score_picked", "picks"): "t",
}
FIXED = {"split": {"inner": INNER}, "top_k": {"k": K}}
AT_LEAST = {"top_k": {"n": 4}, "slice": {"from": 4, "to": TO}, "select_positions": {"s": 4, "to": TO}}
MULTIPLES = {
    "rope": {"width": 2},
    "keep_groups": {"n": GROUPS},
    "clamped_swiglu": {"both": 2},
    "slice_parts": {"from": 3 * PART},
}


def lengths_for(op, cut_by):
    """Small lengths of an op's axis names, so that what cuts a name divides it (a merged axis: its outermost)."""
    found = {}
    names = dict.fromkeys((*op.map.names(), *(n for w in op.weights for axis in w.axes for n in axis), *op.dims))
    for position, name in enumerate(names):
        if name in FIXED.get(op.name, {}):
            found[name] = FIXED[op.name][name]
            continue
        each = MULTIPLES.get(op.name, {}).get(name, 1)
        length = each * lcm(*cut_by.get(name, [1]))
        while length < AT_LEAST.get(op.name, {}).get(name, 2 + position % 2):
            length += each * lcm(*cut_by.get(name, [1]))
        found[name] = length
    return found
