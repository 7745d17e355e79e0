"""Collectives around a torus: the exchange against every link of it, gathers by hand."""

from itertools import product
from math import isclose, prod

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cost.machines import HALVES, links, mesh_of, span_of, torus
from cost.strategies import priced
from cost.torus_by_links import exchange_seconds, is_box, loads
from rooflight.pricing import Lane, Span

SIZES = range(2, 7)
ONE = [((length,), (wraps,)) for length in SIZES for wraps in (False, True)]
TWO = [
    (shape, wraps) for shape in product(SIZES, SIZES) if prod(shape) <= 25 for wraps in product((False, True), repeat=2)
]


def exchange(place, *axes, bandwidth=100.0):
    return max(min(priced("all_to_all", 3600, s, links(up=bandwidth), place).values()) for s in place.spans(axes))


def gathered(*shape, wraps=True, size=1600, latency=0.0):
    place = torus(*shape, wraps=wraps, tp_e=prod(shape))
    (found,) = priced("all_gather", size, span_of(place, "tp_e"), links(up=100, up_latency=latency), place).values()
    return found


def test_the_reference_by_hand():
    """Three in a line: the middle links carry two parts. Four in a ring: one part goes one step, halves of one two."""
    assert loads([(0, 1, 2)], (3,), (False,)) == {((0,), 0, 1): 2, ((1,), 0, 1): 2, ((1,), 0, -1): 2, ((2,), 0, -1): 2}
    assert set(loads([(0, 1, 2, 3)], (4,), (True,)).values()) == {2}
    assert exchange_seconds(300, [(0, 1, 2)], (3,), (False,), 100) == 4  # 2 parts of 100 over half of the bandwidth


@pytest.mark.parametrize(("shape", "wraps"), [*ONE, *TWO], ids=str)
def test_an_exchange_takes_what_the_fullest_link_takes(shape, wraps):
    gpus = prod(shape)
    place = torus(*shape, wraps=wraps, tp_e=gpus)
    slow = exchange_seconds(3600, [tuple(range(gpus))], shape, wraps, 100.0)
    assert isclose(exchange(place, "tp_e"), slow, rel_tol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_groups_that_share_links_take_longer(data):
    """All groups over some axes exchange at once; those that are boxes are priced by the fullest link."""
    shape = data.draw(st.lists(st.sampled_from((2, 3, 4, 6)), min_size=1, max_size=2).map(tuple))
    wraps = tuple(data.draw(st.booleans()) for _ in shape)
    gpus = prod(shape)
    inner = data.draw(st.sampled_from([n for n in range(1, gpus) if gpus % n == 0]))
    width = data.draw(st.sampled_from([n for n in range(2, gpus + 1) if gpus // inner % n == 0] or [1]))
    assume(width > 1)
    groups = [
        tuple(outer * inner * width + at * inner + low for at in range(width))
        for outer in range(gpus // inner // width)
        for low in range(inner)
    ]
    assume(all(is_box(group, shape) for group in groups))
    place = torus(*shape, wraps=wraps, dp_e=gpus // inner // width, cp_e=width, tp_e=inner)
    slow = exchange_seconds(3600, groups, shape, wraps, 100.0)
    assert isclose(exchange(place, "cp_e"), slow, rel_tol=1e-12)


def test_a_ring_gathers_both_ways_at_once():
    """Four GPUs of 400 bytes: 1200 come in over two links of 50 B/s. A line's ends have one: 24 seconds."""
    assert gathered(4) == 12
    assert gathered(4, wraps=False) == 24


def test_two_axes_gather_at_once():
    """Half of the data goes along each axis first: 3 parts of 50 B at 50 B/s, then 3 of 200; 15 · 100 B at 100 B/s."""
    assert gathered(4, 4) == 3 * 50 / 50 + 3 * 200 / 50 == 15 * 100 / 100


def test_unequal_axes_wait_for_each_other():
    """2 × 4, parts of 100: the half along the short axis is through first and waits. 1·100/50, 3·100/50; 3·200, 400."""
    assert gathered(2, 4) == max(100 / 50, 300 / 50) + max(3 * 200 / 50, 400 / 50)


def test_a_hop_is_late_once():
    """Both ways around four: two hops; along a line of four: three."""
    assert gathered(4, latency=1.0) - gathered(4) == 2
    assert gathered(4, wraps=False, latency=1.0) - gathered(4, wraps=False) == 3
    assert gathered(4, 6, latency=1.0) == pytest.approx(gathered(4, 6) + 2 + 3)


def test_a_neighbour_is_reached_over_one_link():
    place = torus(4, 4, tp_e=16)
    assert priced("send", 100, Span((2,), (), 2), links(up=400), place) == {"direct": 1}


def test_lanes_by_hand():
    """4 × 4, all wrapping: a row, two neighbouring rows, every second GPU, and six that are no box."""
    whole, half = Lane(4, 2, 1), Lane(2, 1, 1)
    assert span_of(torus(4, 4, dp_e=4, tp_e=4), "tp_e").lanes == (whole,)
    assert span_of(torus(4, 4, dp_e=4, tp_e=4), "dp_e").lanes == (whole,)
    assert span_of(torus(4, 4, dp_e=2, tp_e=8), "tp_e").lanes == (half, whole)
    assert span_of(torus(4, 4, dp_e=8, tp_e=2), "dp_e").lanes == (whole, Lane(2, 2, 2))
    assert span_of(torus(4, 4, wraps=False, dp_e=8, tp_e=2), "dp_e").lanes == (Lane(4, 1, 1), Lane(2, 1, 2))
    assert span_of(torus(4, 4, dp_e=2, tp_e=8), "dp_e").lanes == (Lane(2, 2, 2),)
    assert span_of(torus(4, 4, tp_e=6), "tp_e").lanes == (half, whole), "the box around six"


@pytest.mark.parametrize("kind", [*HALVES, "all_reduce", "all_to_all"])
def test_wrapping_around_never_takes_longer(kind):
    for shape in ((4,), (2, 4), (4, 4), (3, 6)):
        place, line = (torus(*shape, wraps=wraps, tp_e=prod(shape)) for wraps in (True, False))
        around, along = (
            min(priced(kind, 3600, span_of(one, "tp_e"), links(up=100, up_latency=1), one).values())
            for one in (place, line)
        )
        assert around < along


def test_the_smallest_slice_that_holds_them_is_taken():
    small, large = torus(2, 2, tp_e=4), torus(4, 4, wraps=False, tp_e=4)
    both = torus(4, 4, wraps=False)
    both.slices = (*small.slices, *large.slices)
    both.degrees = mesh_of(tp_e=4)
    assert span_of(both, "tp_e") == span_of(small, "tp_e") != span_of(large, "tp_e")
    both.degrees, both.known = mesh_of(tp_e=8), {}
    assert span_of(both, "tp_e").lanes == (Lane(2, 1, 1), Lane(4, 1, 1))
