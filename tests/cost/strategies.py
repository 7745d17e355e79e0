"""Meshes on every kind of links: groups in one domain and in several, alike and not, boxes of a torus and no boxes."""

from math import prod

from hypothesis import strategies as st

from cost.machines import placed
from rooflight.hardware import Slice
from rooflight.pricing import Link, Rates, prices

_SHAPES = ((4,), (6,), (2, 2), (4, 2), (4, 4), (3, 4), (2, 2, 2))
_SIZES = st.sampled_from((1, 1, 2, 3, 4, 8))
_AXES = ("dp_e", "cp_e", "tp_r", "tp_e")


@st.composite
def places(draw):
    """A mesh of at most 96 GPUs and where they stand."""
    topology = draw(st.sampled_from(("switch", "mesh", "ring", "torus")))
    shape = draw(st.sampled_from([s for s in _SHAPES if topology == "torus" or len(s) == 1]))
    wraps = tuple(draw(st.booleans()) for _ in shape)
    slices = (Slice(shape, wraps),) if topology in ("ring", "torus") else ()
    domain = prod(shape) if slices else draw(st.sampled_from((1, 4, 6, 8, 72)))
    named = {}
    for axis in _AXES:
        size = draw(_SIZES)
        named[axis] = size if prod(named.values()) * size <= 96 else 1
    return placed(domain, topology=topology, slices=slices, **named)


@st.composite
def spans(draw):
    """A place and how one group of at least two GPUs lies in it."""
    place = draw(places().filter(lambda one: one.gpus > 1))
    wide = [axis for axis in _AXES if place.degrees[axis] > 1]
    group = draw(st.lists(st.sampled_from(wide), min_size=1, unique=True))
    return place, draw(st.sampled_from(place.spans(tuple(group))))


@st.composite
def linked(draw):
    """Bandwidths and latencies of both tiers."""
    bandwidth, latency = st.sampled_from((25e9, 50e9, 450e9, 900e9)), st.sampled_from((0.0, 1e-6, 2e-5))
    return Rates({}, None, 1e12, Link(draw(bandwidth), draw(latency)), Link(draw(bandwidth), draw(latency)))


def priced(kind, size, span, rates, place):
    """The seconds of a collective by algorithm."""
    return prices(kind, size, span, rates, place.topology, place.domain)
