"""Made-up GPUs and placements: every figure is an argument, and nothing has latency unless a test says so."""

from math import prod

from rooflight.hardware import FACTS, Fact, Gpu, Slice
from rooflight.layout import NUMBERED, Plan, degrees
from rooflight.pricing import Link, Place, Rates

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "lse_merge", "all_to_all")
HALVES = ("all_gather", "reduce_scatter", "lse_merge")


def fact(value, unit="FLOP/s"):
    """A figure of nobody's data sheet."""
    return Fact(value, unit, None, None, "a test")


def chip(matmul=(("BF16", 1e15),), topology="switch", slices=(), **facts):
    """A GPU of 8 to a domain whose memory takes most of the time; a fact of None is left out."""
    known = {
        "memory": 1 << 40,
        "memory_bandwidth": 1e12,
        "vector": 1e14,
        "scale_up_bandwidth": 450e9,
        "scale_up_domain": 8,
        "scale_out_bandwidth": 50e9,
        **facts,
    }
    stated = {key: fact(value, FACTS[key]) for key, value in known.items() if value is not None}
    return Gpu("Made up", stated, {form: fact(rate) for form, rate in matmul}, topology=topology, slices=slices)


def other(gpu, key, value):
    """The same GPU with one fact, or the rate of one format, replaced."""
    if key in gpu.matmul:
        return gpu._replace(matmul={**gpu.matmul, key: gpu.matmul[key]._replace(value=value)})
    return gpu._replace(facts={**gpu.facts, key: fact(value, FACTS[key])})


def links(up=450e9, out=50e9, up_latency=0.0, out_latency=0.0):
    """Rates of which only the links matter."""
    return Rates({}, None, 1e12, Link(up, up_latency), Link(out, out_latency))


def mesh_of(**named):
    """Degrees of mesh axes, 1 where none is named."""
    return {**degrees(Plan()), **named}


def placed(domain=8, stages=1, topology="switch", slices=(), **named):
    """Where the GPUs of a mesh stand."""
    return Place(mesh_of(**named), stages, topology, domain, slices)


def torus(*shape, wraps=True, **named):
    """The GPUs of a mesh on one slice of a torus, numbered along its last axis first."""
    each = (wraps,) * len(shape) if isinstance(wraps, bool) else wraps
    return placed(prod(shape), topology="torus", slices=(Slice(shape, each),), **named)


def span_of(place, *axes):
    """How the groups over some mesh axes lie, where all lie alike."""
    (span,) = place.spans(axes)
    return span


assert set(mesh_of()) >= set(NUMBERED)
