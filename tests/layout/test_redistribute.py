"""Every chain of collectives is legal step by step, ends at the wanted layout, and leaves the tensor what it was."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.mesh_in_numpy import Mesh, bring, gather, spread
from rooflight.layout import Layout, Move, redistribute

A, B, C = "dp_r", "cp_r", "tp_r"


def layouts(axes, rank):
    """Every layout of a tensor over mesh axes: each replicated, owed, or in any place among the cuts of an axis."""
    found = {Layout(((),) * rank)}
    for axis in axes:
        more = set(found)
        for layout in found:
            more.add(Layout(layout.cuts, layout.partial | {axis}))
            for index, cut in enumerate(layout.cuts):
                for at in range(len(cut) + 1):
                    new = (*cut[:at], axis, *cut[at:])
                    more.add(Layout((*layout.cuts[:index], new, *layout.cuts[index + 1 :]), layout.partial))
        found = more
    return sorted(found, key=str)


def check(mesh, whole, have, want):
    held = spread(mesh, whole, have, rng=np.random.default_rng(0))
    ends = bring(mesh, held, want)
    assert ends.layout == want
    assert np.array_equal(gather(mesh, ends), whole), f"{have} -> {want}: {redistribute(have, want)}"


def test_every_pair_of_layouts_over_two_mesh_axes():
    mesh = Mesh({A: 2, C: 3})
    whole = np.arange(36.0).reshape(6, 6)
    for have, want in product(layouts((A, C), 2), repeat=2):
        check(mesh, whole, have, want)


THREE = layouts((A, B, C), 3)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(THREE), st.sampled_from(THREE))
def test_pairs_of_layouts_over_three_mesh_axes(have, want):
    check(Mesh({A: 2, B: 1, C: 2}), np.arange(64.0).reshape(4, 4, 4), have, want)
    check(Mesh({A: 2, B: 3, C: 2}), np.arange(144.0).reshape(12, 12, 1).repeat(12, 2), have, want)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(THREE))
def test_what_lies_as_wanted_does_not_move(layout):
    assert redistribute(layout, layout) == ()


R, S0, S1 = Layout(((), ())), Layout(((C,), ())), Layout(((), (C,)))
P = Layout(((), ()), frozenset({C}))
KNOWN = {
    "a sum is paid to all": (P, R, [Move("all_reduce", (C,), P)]),
    "a sum is paid in slices": (P, S0, [Move("reduce_scatter", (C,), P)]),
    "pieces are put together": (S0, R, [Move("all_gather", (C,), R)]),
    "one cut becomes another": (S0, S1, [Move("all_to_all", (C,), S0)]),
    "a slice of one's own": (R, S0, []),
    "a whole value as an addend": (R, P, []),
    "two axes step together": (
        Layout(((A, C), ())),
        R,
        [Move("all_gather", (A, C), R)],
    ),
    "the inner cut goes alone": (
        Layout(((A, C), ())),
        Layout(((A,), ())),
        [Move("all_gather", (C,), Layout(((A,), ())))],
    ),
    "the outer cut takes the inner with it": (
        Layout(((A, C), ())),
        Layout(((C,), ())),
        [Move("all_gather", (A, C), R)],
    ),
    "a slice first, then the exchange of less": (
        Layout(((), (C,))),
        Layout(((A, C), ())),
        [Move("all_to_all", (C,), Layout(((A,), (C,))))],
    ),
    "a sum owed while another axis is cut": (
        Layout(((A,), ()), frozenset({C})),
        Layout(((A, C), ())),
        [Move("reduce_scatter", (C,), Layout(((A,), ()), frozenset({C})))],
    ),
    "one of two sums is paid, one stays owed": (
        Layout(((), ()), frozenset({A, C})),
        Layout(((), ()), frozenset({A})),
        [Move("all_reduce", (C,), Layout(((), ()), frozenset({A, C})))],
    ),
    "the sum before the gather": (
        Layout(((A,), ()), frozenset({C})),
        R,
        [Move("all_reduce", (C,), Layout(((A,), ()), frozenset({C}))), Move("all_gather", (A,), R)],
    ),
}


@pytest.mark.parametrize(("have", "want", "moves"), KNOWN.values(), ids=KNOWN)
def test_known_moves(have, want, moves):
    assert list(redistribute(have, want)) == moves


def test_a_layout_is_written_in_the_order_of_its_cuts():
    assert str(Layout(((A,), (C, B), ()), frozenset({"tp_t"}))) == "[S(dp_r),S(tp_r·cp_r),R]+P(tp_t)"
