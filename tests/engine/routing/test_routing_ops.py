"""Each routing op, run by numpy on tiny tensors of unlike sizes, has the shape and the work its record declares."""

import numpy as np
import pytest

from engine.routing.declared import declared, product_by_loops
from rooflight.ops import routing

B, S, N, G, K, D, E, F = 2, 3, 10, 5, 4, 7, 6, 11  # N candidates in G groups, k of them, E experts of width F
random = np.random.default_rng(20260101)
x = random.normal(size=(B, S, N))
hidden = random.normal(size=(B, S, D))
picks = np.argsort(-x, axis=-1)[..., :K]


def softmax(values):
    raised = np.exp(values - values.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def keep_groups(scores, groups):
    """Minus infinity outside the chosen groups."""
    width = scores.shape[-1] // G
    chosen = (np.arange(scores.shape[-1]) // width)[..., None] == groups[..., None, :]
    return np.where(chosen.any(-1), scores, -np.inf)


def dispatch(rows, chosen):
    """Row (token, j) is the token's, for its j-th expert."""
    return np.repeat(rows.reshape(-1, rows.shape[-1]), chosen.shape[-1], axis=0)


REFERENCES = {
    "top_k": ((x,), {"k": K}, lambda a: -np.sort(-a, axis=-1)[..., :K]),
    "sum_last": ((x,), {}, lambda a: a.sum(-1)),
    "max_last": ((x,), {}, lambda a: a.max(-1)),
    "keep_groups": ((x, np.argsort(-x[..., :G])[..., :2]), {}, keep_groups),
    "pick": ((x, picks), {}, lambda a, chosen: np.take_along_axis(a, chosen, -1)),
    "normalize": ((x,), {}, lambda a: a / a.sum(-1, keepdims=True)),
    "scale": ((x,), {}, lambda a: 2.5 * a),
    "dispatch": ((hidden, picks), {}, dispatch),
}
BALANCED = ("expert_rows", "combine")  # run below, where every expert gets its share


def test_every_routing_op_is_run():
    assert {op.name for op in routing.OPS} == {*REFERENCES, *BALANCED}


@pytest.mark.parametrize("name", REFERENCES)
def test_shape_and_work(name):
    inputs, dims, run = REFERENCES[name]
    found = declared(name, *(tensor.shape for tensor in inputs), dims=dims)
    assert found.shape == run(*inputs).shape
    assert found.matmul == 0
    assert found.stored == {}


ONE_EACH = ("top_k", "sum_last", "max_last", "keep_groups", "scale")


@pytest.mark.parametrize("name", ONE_EACH)
def test_one_operation_per_candidate(name):
    inputs, dims, _ = REFERENCES[name]
    assert declared(name, *(tensor.shape for tensor in inputs), dims=dims).other == B * S * N


def test_other_work():
    assert declared("normalize", x.shape).other == 2 * B * S * N
    assert declared("pick", x.shape, picks.shape).other == 0
    assert declared("dispatch", hidden.shape, picks.shape).other == 0
    assert declared("combine", (B * S * K // E, D), (B, S, K), dims={"experts": E}).other == 2 * B * S * K * D


def test_chosen_groups_hold_what_is_kept():
    scores, groups = REFERENCES["keep_groups"][0]
    kept = np.isfinite(keep_groups(scores, groups))
    assert (kept.sum(-1) == 2 * N // G).all()


def balanced():
    """Choices that give each of E experts the same number of the B·S tokens' K rows."""
    return np.array([(token * K + j) % E for token in range(B * S) for j in range(K)]).reshape(B, S, K)


def test_a_layer_of_experts():
    """Dispatch, experts row by row, combine: the weighted sum a dense evaluation gives, at k/E of its work."""
    chosen, weights = balanced(), softmax(random.normal(size=(B, S, K)))
    assert (np.bincount(chosen.ravel(), minlength=E) == B * S * K // E).all()
    gate = random.normal(size=(E, F, D))
    down = random.normal(size=(E, D, F))

    sent = dispatch(hidden, chosen)
    routed = declared("dispatch", hidden.shape, chosen.shape)
    assert routed.shape == sent.shape

    results, multiplied = np.zeros_like(sent), 0
    for expert in range(E):
        rows = np.flatnonzero(chosen.ravel() == expert)
        share = declared("expert_rows", routed.shape, dims={"experts": E})
        assert share.shape == sent[rows].shape
        assert (share.matmul, share.other) == (0, 0)
        inner, first = product_by_loops(sent[rows], gate[expert])
        outer, second = product_by_loops(np.tanh(inner), down[expert])
        up = declared("linear", share.shape, dims={"in": D, "out": F})
        back = declared("linear", up.shape, dims={"in": F, "out": D})
        assert (up.matmul, back.matmul) == (2 * first, 2 * second)
        assert back.shape == (len(rows), D)
        results[rows] = outer
        multiplied += first + second

    combined = (results.reshape(B, S, K, D) * weights[..., None]).sum(2)
    together = declared("combine", (B * S * K // E, D), weights.shape, dims={"experts": E})
    assert together.shape == combined.shape

    dense = np.einsum("edf,bsef->bsed", down, np.tanh(np.einsum("efd,bsd->bsef", gate, hidden)))
    expected = (np.take_along_axis(dense, chosen[..., None], axis=2) * weights[..., None]).sum(2)
    np.testing.assert_allclose(combined, expected)
    assert multiplied == B * S * K * 2 * D * F  # tokens · k · multiply-adds of one row, whatever E


def test_experts_must_give_back_their_share():
    """A combine whose rows are another number of experts' is found out."""
    with pytest.raises(AssertionError):
        declared("combine", (B * S * K // E, D), (B, S, K), dims={"experts": E + 1})


def test_leading_axes_must_agree():
    with pytest.raises(AssertionError):
        declared("pick", (B, S, N), (S, B, K))
