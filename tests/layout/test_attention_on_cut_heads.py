"""Attention as one kernel: causal, grouped heads, on cut sequences, heads and positions; against the whole."""

import numpy as np
import pytest

from layout.mesh_in_numpy import Mesh, Spread, bring, gather, piece, spread
from layout.ops_in_numpy import REFERENCES, Place, attention_apply, attention_score
from rooflight.layout import Layout, follow
from rooflight.ops import OPS

B, S, T, H, D = 2, 4, 4, 8, 3
DP, TP, CP = "dp_r", "tp_r", "cp_r"


def operands(kv_heads, rng):
    return rng.normal(size=(B, S, H, D)), rng.normal(size=(B, T, kv_heads, D)), rng.normal(size=(B, T, kv_heads, D))


def whole(q, k, v):
    at = Place({"s": 0, "t": 0})
    scores = attention_score(at, q, k)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return attention_apply(at, raised / raised.sum(-1, keepdims=True), v)


def flows(q, kv, *, parts_of_keys):
    """The three flows one after another. In decode keys may stay cut, and the softmax is put together afterwards."""
    score, soft, apply = OPS["attention_score"], OPS["attention_softmax"], OPS["attention_apply"]
    if parts_of_keys:
        score, soft, apply = (op._replace(whole=tuple(n for n in op.whole if n != "t")) for op in (score, soft, apply))
    first = follow(score, (q, kv), {})
    second = follow(soft, (first.output,), {})
    third = follow(apply, (second.output, kv), {})
    return first, second, third


@pytest.mark.parametrize(
    ("degrees", "kv_heads"),
    [
        ({DP: 2, TP: 2, CP: 2}, 2),
        ({DP: 1, TP: 4, CP: 2}, 4),
        ({DP: 2, TP: 4, CP: 1}, 2),  # two GPUs hold each key head
        ({DP: 1, TP: 8, CP: 1}, 1),  # all hold the only one
        ({DP: 1, TP: 2, CP: 4}, 8),
    ],
    ids=["grouped", "a key head each", "key heads repeat", "one key head", "as many key heads"],
)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_three_ops_on_cut_arrays(degrees, kv_heads, phase):
    mesh, rng = Mesh(degrees), np.random.default_rng(0)
    q, k, v = operands(kv_heads, rng)
    positions = (CP,)
    q_layout = Layout(((DP,), positions if phase == "prefill" else (), (TP,), ()))
    kv_layout = Layout(((DP,), positions, (TP,), ()))
    parts, kv_parts = (B, S, H, D), (B, T, kv_heads, D)
    first, second, third = flows(q_layout, kv_layout, parts_of_keys=phase == "decode")

    qs = bring(mesh, spread(mesh, q, q_layout, parts), first.wants[0])
    keys, values = (spread(mesh, one, kv_layout, kv_parts) for one in (k, v))
    if first.wants[1] != kv_layout:
        assert first.wants[1] == third.wants[1] == Layout(((DP,), (), (TP,), ()))
        keys, values = (bring(mesh, one, first.wants[1]) for one in (keys, values))
    assert (first.output, second.output) == (second.wants[0], third.wants[0]), "scores never leave the kernel"

    shards = []
    cut_keys = first.wants[1].cuts[1]
    for gpu in mesh.ids:
        at = Place(
            {
                "s": piece(S, S, mesh.size(q_layout.cuts[1]), mesh.rank(gpu, q_layout.cuts[1])).start,
                "t": piece(T, T, mesh.size(cut_keys), mesh.rank(gpu, cut_keys)).start,
            }
        )
        shards.append(attention_score(at, qs.shards[gpu], keys.shards[gpu]))
    # Where keys are cut, GPUs tell each other the largest score and the sum: the log-sum-exp of a merge.
    raised = []
    for gpu in mesh.ids:
        peers = mesh.peers(gpu, cut_keys)
        top = np.max([shards[p].max(-1) for p in peers], axis=0)[..., None]
        total = sum(np.exp(shards[p] - top).sum(-1, keepdims=True) for p in peers)
        raised.append(np.exp(shards[gpu] - top) / total)
    out = [attention_apply(None, raised[gpu], values.shards[gpu]) for gpu in mesh.ids]
    found = gather(mesh, Spread(third.output, out, (B, S, H, D), parts))
    assert np.allclose(found, whole(q, k, v))
    assert third.output.partial == (frozenset({CP}) if phase == "decode" else frozenset())


def test_heads_exchanged_for_positions_and_back():
    """Ulysses: positions become whole, heads are cut over both groups, key heads enough for both."""
    mesh, rng = Mesh({TP: 2, CP: 2}), np.random.default_rng(0)
    q, k, v = operands(4, rng)
    before, inside = Layout(((), (CP,), (TP,), ())), Layout(((), (), (TP, CP), ()))
    flow = follow(OPS["attention_score"], (before, before), {"k": (TP, CP), "h": (TP, CP)})
    assert flow.wants == (inside, inside)
    held = [bring(mesh, spread(mesh, one, before), inside) for one in (q, k, v)]
    out = [whole(*(one.shards[gpu] for one in held)) for gpu in mesh.ids]
    back = bring(mesh, Spread(inside, out, q.shape, q.shape), before)
    assert np.allclose(gather(mesh, back), whole(q, k, v))


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_pieces_of_an_uneven_axis_cover_it_once(count):
    """Ceiling division: the first are fullest, none overlap, nothing is lost."""
    for length in range(1, 13):
        pieces = [piece(length, length, count, rank) for rank in range(count)]
        if length < count and count % length == 0:
            continue  # then they repeat
        assert [i for one in pieces for i in range(one.start, one.stop)] == list(range(length))
        assert max(one.stop - one.start for one in pieces) == -(-length // count)


@pytest.mark.parametrize("name", ["linear", "rms_norm", "embedding", "add", "multiply", "silu"])
def test_uneven_sequences(name):
    """Five sequences over three GPUs: the last one has fewer."""
    op, mesh, rng = OPS[name], Mesh({DP: 3}), np.random.default_rng(0)
    ids = name == "embedding"
    shape = (5, 2) if ids else (5, 2, 4)
    arrays = [rng.integers(0, 6, shape) if ids else rng.normal(size=shape) for _ in op.map.inputs]
    weights = {"linear": [(3, 4)], "rms_norm": [(4,)], "embedding": [(6, 4)]}.get(name, [])
    weights = [rng.normal(size=shape) for shape in weights]
    layout = Layout(((DP,), *((),) * (len(shape) - 1)))
    flow = follow(op, [layout] * len(arrays), {})
    assert set(flow.wants) == {layout}
    at = Place({"entries": 0})
    held = [spread(mesh, array, layout) for array in arrays]
    shards = [REFERENCES[name](at, *(one.shards[gpu] for one in held), *weights) for gpu in mesh.ids]
    truth = REFERENCES[name](at, *arrays, *weights)
    assert [len(shard) for shard in shards] == [2, 2, 1]
    assert np.allclose(gather(mesh, Spread(flow.output, shards, truth.shape, truth.shape)), truth)
