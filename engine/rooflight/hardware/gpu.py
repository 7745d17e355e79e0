"""A GPU as facts, each with its unit and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Fact -> the unit its value is written in.
FACTS: dict[str, str] = {
    "memory": "B",
    "memory_bandwidth": "B/s",
    "vector": "FLOP/s",  # FP32, outside the matrix units
    "scale_up_bandwidth": "B/s",  # per direction and GPU, inside a domain, all links together
    "scale_up_domain": "GPU",
    "scale_up_latency": "s",
    "scale_out_bandwidth": "B/s",  # per direction and GPU, between domains
    "scale_out_latency": "s",
    "tdp": "W",
}

# How the GPUs of a domain are linked.
TOPOLOGIES: dict[str, str] = {
    "switch": "every pair at full bandwidth",
    "mesh": "every pair by a link of its own, an equal share of the bandwidth",
    "ring": "two neighbours each",
    "torus": "two neighbours along every axis",
}
STATUSES = ("shipping", "announced")


class Fact(NamedTuple):
    """One figure of a data sheet. `source` is None where nobody opened one; `copied_from` then says who states it."""

    value: float
    unit: str
    source: str | None
    date: str | None
    copied_from: str | None
    note: str | None = None

    @property
    def origin(self) -> str:
        """Who says so."""
        return self.source or f"{self.copied_from}, copied and not opened"


class Slice(NamedTuple):
    """A shape of a ring or torus that can be rented: GPUs along each axis, and whether the axis wraps around."""

    shape: tuple[int, ...]
    wraps: tuple[bool, ...]


class Stated(NamedTuple):
    """Something a source says that is no figure."""

    source: str | None
    date: str | None
    copied_from: str | None
    note: str | None = None


class Gpu(NamedTuple):
    """One kind of GPU; `matmul` gives dense FLOP/s by operand format."""

    name: str
    facts: Mapping[str, Fact]
    matmul: Mapping[str, Fact]
    id: str = ""
    maker: str = ""
    status: str = "shipping"
    topology: str = "switch"
    topology_from: Stated | None = None
    slices: tuple[Slice, ...] = ()
    slices_from: Stated | None = None
    notes: tuple[str, ...] = ()

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory."""
        return int(self.facts["memory"].value)

    def fact(self, key: str, why: str) -> float:
        """Return a figure that something cannot do without. SpecError, saying what for, where the file lacks it."""
        if key in self.facts:
            return self.facts[key].value
        raise SpecError(
            "missing-fact",
            f"gpu {self.name}",
            f"{key} in {FACTS[key]}, {why}",
            "no such figure in its file",
            f"add {key} with its source",
        )
