"""The scan of a prompt in chunks gives what its recurrence gives, and takes the FLOPs that its record says."""

import numpy as np
import pytest

from layout.ops_in_numpy import Place, causal_conv1d, selective_scan
from rooflight.expr import evaluate_tree
from rooflight.ops import OPS, resumes

B, HEADS, P, N = 2, 4, 3, 5


class Counted:
    """Contractions that count their multiply-adds, each as two FLOPs."""

    def __init__(self):
        self.flops = 0

    def __call__(self, line, one, two, share=1.0):
        lengths = dict(zip("".join(line.split("->")[0].split(",")), (*one.shape, *two.shape), strict=True))
        self.flops += round(2 * np.prod(list(lengths.values())) * share)
        return np.einsum(line, one, two)


def chunked(x, dt, into, out, log, skip, bias, chunk, product, before=None):
    """The Mamba-2 paper's algorithm: pairs within a chunk, each chunk's state, and the state before each chunk.

    Only pairs that the causal mask lets through count: (q + 1) / 2q of the square. Returns what it gives and leaves.
    """
    groups = into.shape[2]
    each = x.shape[2] // groups
    step = np.log1p(np.exp(dt + bias))
    state = np.zeros((B, x.shape[2], P, N)) if before is None else before
    given = []
    for start in range(0, x.shape[1], chunk):
        own = slice(start, start + chunk)
        q = x[:, own].shape[1]
        causal = (q + 1) / (2 * q)
        running = np.cumsum(-np.exp(log) * step[:, own], axis=1)
        score = product("blgn,bsgn->blsg", out[:, own], into[:, own], share=causal)
        gap = running[:, :, None] - running[:, None]
        decay = np.where((np.arange(q)[:, None] >= np.arange(q))[None, :, :, None], np.exp(gap), 0)
        scaled = x[:, own] * step[:, own, :, None]
        weighted = np.repeat(score, each, axis=3) * decay
        mine = product("blsh,bshp->blhp", weighted, scaled, share=causal)
        out_of, goes_in = (np.repeat(one[:, own], each, axis=2) for one in (out, into))
        mine += product("blhn,bhpn->blhp", out_of, state) * np.exp(running)[..., None]
        left = np.exp(running[:, -1:] - running)[..., None]
        state = np.exp(running[:, -1])[..., None, None] * state + product("blhn,blhp->bhpn", goes_in * left, scaled)
        given.append(mine + skip[:, None] * x[:, own])
    return np.concatenate(given, 1), state


def operands(groups, length):
    rng = np.random.default_rng(0)
    sequences = [(HEADS, P), (HEADS,), (groups, N), (groups, N)]
    return [rng.normal(size=(B, length, *rest)) for rest in sequences], [rng.normal(size=HEADS) for _ in range(3)]


def flops(op, field, groups, length, chunk):
    names = {"b": B, "s": length, "g": groups, "m": HEADS // groups, "p": P, "n": N, "chunk": chunk}
    names |= {name: evaluate_tree(tree, names.__getitem__) for name, tree in OPS[op].lengths.items()}
    return evaluate_tree(getattr(OPS[op], field), names.__getitem__)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("length", "chunk"), [(8, 4), (7, 4), (3, 4), (4, 1), (9, 16)])
def test_chunks_give_what_the_recurrence_gives(groups, length, chunk):
    values, learned = operands(groups, length)
    product = Counted()
    found, _ = chunked(*values, *learned, chunk, product)
    assert np.allclose(found, selective_scan(Place({}), *values, *learned))
    assert product.flops == flops("ssd_chunk_scan", "matmul", groups, length, chunk)


def test_a_prompt_that_goes_on_starts_from_the_state():
    values, learned = operands(2, 8)
    whole, last = chunked(*values, *learned, 4, Counted())
    _, state = chunked(*(one[:, :5] for one in values), *learned, 4, Counted())
    rest, end = chunked(*(one[:, 5:] for one in values), *learned, 4, Counted(), state)
    assert np.allclose(rest, whole[:, 5:])
    assert np.allclose(end, last)


@pytest.mark.parametrize("length", [1, 5])
def test_the_recurrence_takes_five_operations_an_element_of_the_state(length):
    """Decay, what goes in times x, their sum, and a multiply-add on the way out; the rest does not grow with both."""
    state = B * length * HEADS * P * N
    per_head = B * length * HEADS * (6 + N + 2 * P)
    assert flops("ssd_step", "other", 2, length, 1) == 5 * state + per_head
    assert flops("ssd_step", "matmul", 2, length, 1) == 0


def test_a_convolution_needs_the_positions_before():
    """Its state is the last kernel − 1 positions: with them, the next position comes out as in one go."""
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=(B, 6, 3)), rng.normal(size=(3, 1, 4)), rng.normal(size=3)
    whole = causal_conv1d(None, x, weight, bias)
    assert np.allclose(causal_conv1d(None, x[:, 2:], weight, bias)[:, -1], whole[:, -1])
    assert not np.allclose(causal_conv1d(None, x[:, 3:], weight, bias)[:, -1], whole[:, -1])


def test_a_prompt_finds_a_state_only_behind_a_prefix():
    assert (resumes(5, 5), resumes(5, 6)) == (0, 1)
