"""Every redistribution that any shipped model asks for is legal, on real arrays, and ends at the wanted layout."""

from functools import cache

import numpy as np

import rooflight.walk.shard as shard_module
from layout.mesh_in_numpy import Mesh, bring, gather, spread
from plans.deployed import DENSE, EXPERTS, FAMILIES, PHASES, model
from rooflight import api
from rooflight.api.memory import Deployed
from rooflight.layout import AXES, Plan, redistribute


@cache
def asked():
    """Every (layout, wanted layout) of every model, phase and family."""
    found = {}
    original = shard_module.redistribute

    def noting(have, want):
        found[have, want] = None
        return original(have, want)

    shard_module.redistribute = noting
    try:
        for name in (*DENSE, *EXPERTS):
            for phase in PHASES:
                for family in FAMILIES:
                    bound = model(name)
                    assert Deployed(bound, api.step_size(bound, phase), Plan(), family).program
    finally:
        shard_module.redistribute = original
    return tuple(found)


def fewer(layout, kept):
    """A layout as a plan sees it in which all other mesh axes have one GPU."""
    return layout._replace(
        cuts=tuple(tuple(axis for axis in cut if axis in kept) for cut in layout.cuts),
        partial=layout.partial & set(kept),
    )


def test_models_ask_for_all_kinds_of_moves():
    kinds = {move.kind for have, want in asked() for move in redistribute(have, want)}
    assert kinds == {"all_reduce", "reduce_scatter", "all_gather", "all_to_all"}


def test_every_move_is_legal_and_ends_where_it_should():
    rng = np.random.default_rng(0)
    for have, want in asked():
        used = [
            axis
            for axis in AXES
            if any(axis in cut for one in (have, want) for cut in one.cuts) or axis in have.partial
        ]
        # One axis of every group at a time with two GPUs: plans in which the others have one.
        for kept in {tuple(used[i::3]) for i in range(3)} | {tuple(used[:3]), tuple(used[-3:])}:
            mesh = Mesh(dict.fromkeys(kept, 2) or {AXES[0]: 1})
            shape = tuple(
                mesh.size(a) * mesh.size(tuple(set(b) - set(a))) for a, b in zip(have.cuts, want.cuts, strict=True)
            )
            whole = rng.integers(0, 9, shape).astype(float)
            found = bring(mesh, spread(mesh, whole, fewer(have, kept), rng=rng), fewer(want, kept))
            assert np.array_equal(gather(mesh, found), whole), f"{have} -> {want} with {kept}"


def test_the_outer_cut_never_goes_alone():
    """No model gathers more than it needs because cuts are nested the wrong way round."""
    for have, want in asked():
        for move in redistribute(have, want):
            if move.kind == "all_gather":
                lost = {a for mine, aim in zip(have.cuts, want.cuts, strict=True) for a in set(mine) - set(aim)}
                assert set(move.group) <= lost, f"{have} -> {want}"
