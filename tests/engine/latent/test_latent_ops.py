"""Ops that latent attention and clamped gates are made of, run by numpy on tiny tensors of unlike sizes."""

import numpy as np
import pytest

from engine.routing.declared import declared, product_by_loops

B, S, H, D, N, M = 2, 3, 5, 7, 4, 11
random = np.random.default_rng(20260102)


def tensor(*shape):
    return random.normal(size=shape)


def clamped_swiglu(both):
    """Gate and up interleaved: the gate times the sigmoid of 1.702 times itself, times up plus one, both clamped."""
    gate, up = np.minimum(both[..., ::2], 7.0), np.clip(both[..., 1::2], -7.0, 7.0)
    return (up + 1) * gate / (1 + np.exp(-1.702 * gate))


VIEWS = {
    "join": ((tensor(B, S, N), tensor(B, S, M)), {}, lambda a, b: np.concatenate([a, b], -1)),
    "concat": ((tensor(B, S, H, N), tensor(B, S, H, M)), {}, lambda a, b: np.concatenate([a, b], -1)),
    "add_axis": ((tensor(B, S, D),), {}, lambda a: a[..., None, :]),
    "repeat_heads": ((tensor(B, S, D),), {"heads": H}, lambda a: np.repeat(a[:, :, None, :], H, axis=2)),
    "slice": ((tensor(B, S, H, D),), {"from": D, "to": N}, lambda a: a[..., :N]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_no_work(name):
    inputs, dims, run = VIEWS[name]
    found = declared(name, *(a.shape for a in inputs), dims=dims)
    assert found == (run(*inputs).shape, 0, 0, {})


def test_clamped_gate():
    both = tensor(B, S, 2 * D)
    found = declared("clamped_swiglu", both.shape)
    assert found.shape == clamped_swiglu(both).shape == (B, S, D)
    assert (found.matmul, found.other) == (0, 9 * B * S * D)


def test_a_matrix_for_each_head():
    x, w = tensor(B, S, H, N), tensor(H, M, N)
    found = declared("linear_per_head", x.shape, dims={"heads": H, "in": N, "out": M})
    result, multiplied = np.zeros((B, S, H, M)), 0
    for head in range(H):
        rows, count = product_by_loops(x[:, :, head].reshape(-1, N), w[head])
        result[:, :, head] = np.reshape(rows, (B, S, M))
        multiplied += count
    np.testing.assert_allclose(result, np.einsum("bshi,hoi->bsho", x, w))
    assert found == (result.shape, 2 * multiplied, 0, {"weight": w.shape})


def test_heads_of_another_number_are_found_out():
    with pytest.raises(AssertionError):
        declared("linear_per_head", (B, S, H, N), dims={"heads": H + 1, "in": N, "out": M})


@pytest.mark.parametrize("name", ["join", "concat"])
def test_sides_must_have_the_same_rows(name):
    with pytest.raises(AssertionError):
        declared(name, (B, S, N), (B, S + 1, N))
