"""What a machine does per second, as values to price with: numbers of a GPU file, or symbols with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.values import BITS, PACKED_BITS, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rooflight.expr import Value
    from rooflight.hardware import Gpu

_SIXTEEN = ("BF16", "F16")
_ALIKE = {"F16": "BF16", "BF16": "F16", "F8_E5M2": "F8_E4M3"}  # one unit, one rate, where only one is stated
VECTOR = "F32"  # what runs outside the matrix units where they cannot


class Link(NamedTuple):
    """One tier of links: bytes per second of one GPU in one direction, and seconds until the first byte arrives."""

    bandwidth: Value
    latency: Value


class Rates(NamedTuple):
    """FLOP/s of matrix products by operand format, FLOP/s of other work (None: not stated), and bytes per second."""

    matmul: Mapping[str, Value]
    vector: Value | None
    memory: Value
    up: Link | None
    out: Link | None


# Symbol -> (fact of the GPU file, meaning). Rates of matrix products are `r_` with the format.
SYMBOLS: dict[str, tuple[str, str]] = {
    "r_vector": ("vector", "FLOP/s outside the matrix units"),
    "bw": ("memory_bandwidth", "bytes per second from memory"),
    "bw_up": ("scale_up_bandwidth", "bytes per second and direction of one GPU inside a domain"),
    "lat_up": ("scale_up_latency", "seconds until the first byte arrives inside a domain"),
    "bw_out": ("scale_out_bandwidth", "bytes per second and direction of one GPU between domains"),
    "lat_out": ("scale_out_latency", "seconds until the first byte arrives between domains"),
}


def rates(gpu: Gpu, bind: Callable[[str, float], Value] = lambda _, value: value) -> Rates:
    """Return a GPU's rates, each through `bind(symbol, value)`. SpecError where its file lacks the memory's.

    A link without a latency has none; what lacks a link has None for it.
    """
    facts = gpu.facts

    def link(tier: str, suffix: str) -> Link | None:
        if f"{tier}_bandwidth" not in facts:
            return None
        latency = facts.get(f"{tier}_latency")
        late = 0 if latency is None or latency.value == 0 else bind(f"lat_{suffix}", latency.value)
        return Link(bind(f"bw_{suffix}", facts[f"{tier}_bandwidth"].value), late)

    return Rates(
        {form: bind(f"r_{form}", fact.value) for form, fact in gpu.matmul.items()},
        bind("r_vector", facts["vector"].value) if "vector" in facts else None,
        bind("bw", gpu.fact("memory_bandwidth", "to say how long a kernel reads")),
        link("scale_up", "up"),
        link("scale_out", "out"),
    )


def wider(formats: Iterable[str]) -> str:
    """Return the format a product of several runs in: the widest, the last of equals."""
    bits = BITS | PACKED_BITS
    return max(reversed(tuple(formats)), key=bits.__getitem__)


def runs_in(gpu: Gpu, wanted: str, sixteen: str) -> str:
    """Return the format in which a GPU multiplies what is given in `wanted`; `sixteen` is the model's own of 16 bits.

    A format that the matrix units lack is widened on the way in and multiplied in 16 bits; FP32 that they lack runs on
    the vector units, and in 16 bits, which is no slower, where nothing is stated of those. SpecError where a file
    states no rate that would do.
    """
    for form in (wanted, _ALIKE.get(wanted, wanted)):
        if form in gpu.matmul:
            return form
    if wanted == VECTOR and "vector" in gpu.facts:
        return VECTOR
    for form in (sixteen, *_SIXTEEN):
        if form in gpu.matmul:
            return form
    raise SpecError(
        "missing-fact",
        f"gpu {gpu.name}",
        "the rate of matrix products in " + " or ".join(dict.fromkeys((wanted, _SIXTEEN[0]))) + ", in FLOP/s",
        "one of " + ", ".join(gpu.matmul) if gpu.matmul else "no rate",
        "add it under matmul, with its source",
    )
