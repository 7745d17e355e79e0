"""Experts on a machine in numpy: rows go to their experts and come back, and what the engine says is owed is owed."""

from itertools import pairwise

import numpy as np
import pytest

import rooflight.walk.shard as shard_module
from layout.mesh_in_numpy import Mesh, Spread, bring, gather, piece, spread
from plans.deployed import MIXTRAL, model
from rooflight import api
from rooflight.api.memory import Deployed
from rooflight.layout import AXES, BATCH, CONTEXT, EXPERT_WIDTH, EXPERTS, HEADS, REPEATS, Plan, degrees
from rooflight.walk import Family

TOKENS, WIDTH, INNER, N_EXPERTS, ACTIVE = (8, 8), 3, 4, 8, 2

PLANS = {
    "experts over sequences": Plan(attn_dp=4, ep=4),
    "experts over heads": Plan(attn_tp=4, ep=4),
    "experts over both": Plan(attn_dp=2, attn_tp=2, ep=4),
    "experts over positions": Plan(cp=4, ep=4),
    "repeated": Plan(attn_dp=2, attn_tp=2),
    "repeated over positions": Plan(cp=4, ep=2),
    "cut over sequences": Plan(attn_dp=4, etp=4),
    "cut over heads": Plan(attn_tp=4, etp=4),
    "cut and spread": Plan(attn_dp=4, attn_tp=2, ep=4, etp=2),
    "cut, spread and repeated": Plan(attn_dp=4, attn_tp=2, ep=2, etp=2),
    "over everything": Plan(attn_dp=2, attn_tp=2, cp=2, ep=8),
    "cut over all of two": Plan(attn_dp=2, attn_tp=2, cp=2, ep=2, etp=4),
}


@pytest.fixture
def said(monkeypatch):
    """What the engine lays out around experts: layouts of tokens asked for, of results before and after they settle."""
    found = {}
    combine, dispatch, redistribute = (
        shard_module.Sharder._combine,
        shard_module.Sharder._dispatch,
        shard_module.redistribute,
    )
    current = []

    def noting(have, want):
        if current:
            found.setdefault(current[-1], []).append((have, want))
        return redistribute(have, want)

    def within(name, method):
        def call(self, node, inputs, *rest):
            current.append(name)
            held, moved = method(self, node, inputs, *rest)
            current.pop()
            found[f"{name} held"] = held.layout
            if name == "dispatch":
                found["tokens"], found["asked"] = inputs[0].layout, moved[0].layout
            return held, moved

        return call

    monkeypatch.setattr(shard_module, "redistribute", noting)
    monkeypatch.setattr(shard_module.Sharder, "_combine", within("combine", combine))
    monkeypatch.setattr(shard_module.Sharder, "_dispatch", within("dispatch", dispatch))

    def read(phase, family):
        found.clear()
        bound = model(MIXTRAL)
        assert Deployed(bound, api.step_size(bound, phase), Plan(), family)._compiled()
        return dict(found)

    return read


def expert(x, w_in, w_out):
    hidden = x @ w_in
    return (hidden / (1 + np.exp(-hidden))) @ w_out


def routed(x, picks, weights, w_in, w_out):
    """Every token's weighted sum over its chosen experts."""
    out = np.zeros_like(x)
    for k in range(ACTIVE):
        for e in range(N_EXPERTS):
            out += np.where((picks[..., k] == e)[..., None], weights[..., k, None] * expert(x, w_in[e], w_out[e]), 0.0)
    return out


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("family", [Family(), Family(sequence=True)], ids=["whole trunk", "cut trunk"])
def test_rows_come_back_to_their_tokens(said, plan, phase, family):
    layouts = said(phase, family)
    mesh = Mesh({axis: n for axis, n in degrees(plan).items() if n > 1} or {AXES[0]: 1})
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*TOKENS, WIDTH))
    picks = np.argsort(rng.normal(size=(*TOKENS, N_EXPERTS)), axis=-1)[..., :ACTIVE]
    weights = rng.random((*TOKENS, ACTIVE))
    w_in, w_out = rng.normal(size=(N_EXPERTS, WIDTH, INNER)), rng.normal(size=(N_EXPERTS, INNER, WIDTH))
    truth = routed(x, picks, weights, w_in, w_out)

    asked = layouts["asked"]
    assert not {axis for cut in asked.cuts for axis in cut} & set(EXPERT_WIDTH), "all parts of an expert see its rows"
    tokens, chosen, scales = (bring(mesh, spread(mesh, one, layouts["tokens"]), asked) for one in (x, picks, weights))

    # Where tokens are cut, rows travel: to the GPU of the group that has their expert. Where they repeat, GPUs that
    # repeat experts too take turns, and each takes only what its own experts have to do.
    cut = {axis for one in asked.cuts for axis in one}
    travel = tuple(axis for axis in EXPERTS if axis in cut)
    turns = tuple(axis for axis in REPEATS if axis not in cut)
    results = [np.zeros_like(shard) for shard in tokens.shards]
    for worker in mesh.ids:
        mine = piece(N_EXPERTS, N_EXPERTS, mesh.size(EXPERTS), mesh.rank(worker, EXPERTS))
        width = piece(INNER, INNER, mesh.size(EXPERT_WIDTH), mesh.rank(worker, EXPERT_WIDTH))
        for home in mesh.peers(worker, travel):
            rows = tokens.shards[home]
            turn = (np.arange(rows[..., 0].size) % mesh.size(turns) == mesh.rank(worker, turns)).reshape(
                rows.shape[:-1]
            )
            for e in range(mine.start, mine.stop):
                hit = (chosen.shards[home] == e) & turn[..., None]
                scale = (scales.shards[home] * hit).sum(-1, keepdims=True)
                results[home] += scale * expert(rows, w_in[e][:, width], w_out[e][width])

    steps = layouts["combine"]
    first, last = steps[-1]
    assert last == layouts["combine held"]
    assert set(first.partial) == {*EXPERT_WIDTH, *((set(HEADS) | set(CONTEXT)) - cut)} | (set(EXPERT_WIDTH))
    returned = Spread(first, results, x.shape, x.shape)
    assert np.allclose(gather(mesh, returned), truth)
    assert np.allclose(gather(mesh, bring(mesh, returned, last)), truth)
    assert last.cuts[:-1] == layouts["tokens"].cuts[:-1], "every token's result stands where the token does"
    assert all(have == want for (_, have), (want, _) in pairwise(steps)) or len(steps) == 1


def test_every_plan_above_can_be_laid():
    assert all(degrees(plan) for plan in PLANS.values())
    assert set(BATCH) & set(EXPERT_WIDTH)
