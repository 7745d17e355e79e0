"""Runs a compiled graph of dense latent attention in numpy: every node in turn, every declared shape compared."""

import numpy as np

from rooflight import api
from rooflight.analysis import evaluate
from rooflight.expr import evaluate_tree
from rooflight.graph import TOKENS


def rotate(x, theta=10000.0):
    """Turn pairs of the last axis by position (axis 1) times a frequency."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * theta ** (-np.arange(half) / half)
    angle = angle.reshape(1, x.shape[1], *[1] * (x.ndim - 3), half)
    one, two = x[..., :half], x[..., half:]
    return np.concatenate([one * np.cos(angle) - two * np.sin(angle), one * np.sin(angle) + two * np.cos(angle)], -1)


def for_each_head(held, heads):
    return np.repeat(held, heads // held.shape[2], axis=2)


def score(q, k):
    scores = np.einsum("bshd,bthd->bhst", q, for_each_head(k, q.shape[2]))
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    return np.where(later, -np.inf, scores)


def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def rms_norm(x, gain):
    return gain * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


# Each takes the node's weight, its dims, and its inputs. `last` is true where a slice takes the end of the axis.
NUMPY = {
    "embedding": lambda w, dims, ids: w[ids],
    "linear": lambda w, dims, x: x @ w.T,
    "linear_per_head": lambda w, dims, x: np.einsum("bshi,hoi->bsho", x, w),
    "rms_norm": lambda w, dims, x: rms_norm(x, w),
    "split": lambda w, dims, x: x.reshape(*x.shape[:-1], dims["outer"], dims["inner"]),
    "merge": lambda w, dims, x: x.reshape(*x.shape[:-2], -1),
    "slice": lambda w, dims, x: x[..., -dims["to"] :] if dims["last"] else x[..., : dims["to"]],
    "select_positions": lambda w, dims, x: x[:, -dims["to"] :],
    "concat": lambda w, dims, x, y: np.concatenate([x, y], -1),
    "join": lambda w, dims, x, y: np.concatenate([x, y], -1),
    "add_axis": lambda w, dims, x: x[..., None, :],
    "repeat_heads": lambda w, dims, x: np.repeat(x[:, :, None, :], dims["heads"], axis=2),
    "rope": lambda w, dims, x: rotate(x),
    "attention_score": lambda w, dims, q, k: score(q, k),
    "attention_softmax": lambda w, dims, x: softmax(x),
    "attention_apply": lambda w, dims, p, v: np.einsum("bhst,bthd->bshd", p, for_each_head(v, p.shape[1])),
    "silu": lambda w, dims, x: x / (1 + np.exp(-x)),
    "multiply": lambda w, dims, x, y: x * y,
    "add": lambda w, dims, x, y: x + y,
}


def program_of(model, tokens, *, variant):
    """The model's decode of all of `tokens` at once, absorbed or naive, and its declared shapes by index."""
    batch, new = tokens.shape
    decode = "variant" if variant else "same"
    read = api.reading(model, "decode", batch=batch, context=new, new_tokens=new, decode=decode)
    return read.program, evaluate(read.program, api.numbers(model, read.step))


def logits(model, weight, ends, tokens, *, variant):
    """The output of the last node. AssertionError at the first node whose shape is not the declared one.

    `weight(id)` gives a node's stored matrix; `ends` are the slices that take the end of their axis, by last name."""
    program, facts = program_of(model, tokens, variant=variant)
    values = {TOKENS: tokens}
    for index, step in enumerate(program.steps):
        node = step.node
        dims = {name: evaluate_tree(tree, facts.binding.__getitem__) for name, tree in node.dims.items()}
        dims["last"] = node.id.rpartition(".")[2] in ends
        matrix = weight(node.id) if step.stored else None
        result = NUMPY[node.op.name](matrix, dims, *(values[source] for source in node.inputs))
        assert result.shape == facts.shape.values[index], node.id
        values[index] = result
    return result
