"""What a way of pricing must answer, and the first one: the speed of light.

A back end prices one kernel, prices one collective, and combines what was spent into seconds. Nothing else in the
engine knows how; another back end is another object with these three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from rooflight.expr import Value, div, max_, total
from rooflight.pricing.collectives import prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.pricing.collectives import Prices
    from rooflight.pricing.place import Place, Span
    from rooflight.pricing.rates import Rates
    from rooflight.pricing.work import Work


class Spent(NamedTuple):
    """Seconds that one kernel or collective keeps each resource busy, and how often it runs in the step."""

    compute: Value
    memory: Value
    communication: Value
    times: Value = 1

    @property
    def longest(self) -> Value:
        """Seconds of the resource that is busy longest, once."""
        return max_(max_(self.compute, self.memory), self.communication)


class Backend(Protocol):
    """A way of pricing."""

    name: str

    def kernel(self, work: Work, rates: Rates) -> Spent:
        """Return what one kernel keeps busy."""
        ...

    def collective(self, kind: str, size: Value, span: Span, rates: Rates, place: Place) -> Prices:
        """Return the seconds of one collective by algorithm; the cheapest is taken."""
        ...

    def combine(self, spent: Sequence[Spent]) -> Value:
        """Return the seconds of a step."""
        ...


class SpeedOfLight:
    """Every kernel as fast as its slowest resource at its peak, one kernel after another."""

    name = "sol"

    def kernel(self, work: Work, rates: Rates) -> Spent:
        """Matrix and vector units work at the same time, and so does memory; what no matrix unit can is vector work."""
        matrix = total([div(flops, rates.matmul[form]) for form, flops in work.matmul if form in rates.matmul])
        rest = [flops for form, flops in work.matmul if form not in rates.matmul]
        vector = 0 if rates.vector is None else div(total((*rest, work.other)), rates.vector)
        return Spent(max_(matrix, vector), div(work.bytes, rates.memory), 0)

    def collective(self, kind: str, size: Value, span: Span, rates: Rates, place: Place) -> Prices:
        """Price every algorithm that the links allow."""
        return prices(kind, size, span, rates, place.topology, place.domain)

    def combine(self, spent: Sequence[Spent]) -> Value:
        """Add up what each takes."""
        return total([one.longest * one.times for one in spent])


BACKENDS: dict[str, Backend] = {"sol": SpeedOfLight()}
