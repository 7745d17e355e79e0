"""Where the GPUs of a replica stand: which of them share a domain of fast links, and how a group lies among them."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from rooflight.layout import CONTEXT, HEADS, NUMBERED
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.hardware import Gpu, Slice
    from rooflight.layout import Group


class Lane(NamedTuple):
    """One axis of a torus that a group lies along.

    extent   GPUs of the group along it
    links    of each GPU that carry the group's traffic: 2 around a ring, 1 along a line, whose ends see one only
    shared   groups that use the same links
    """

    extent: int
    links: int
    shared: int


class Span(NamedTuple):
    """How one group lies: its GPUs in each domain, the most first, and its lanes where the domain is a torus."""

    counts: tuple[int, ...]
    lanes: tuple[Lane, ...] = ()
    axes: int = 1  # of the torus

    @property
    def gpus(self) -> int:
        """GPUs of the group."""
        return sum(self.counts)


class Place:
    """A replica's GPUs, numbered through the mesh, stage after stage, and put into domains in that order."""

    def __init__(
        self, degrees: Mapping[str, int], stages: int, topology: str, domain: int, slices: tuple[Slice, ...]
    ) -> None:
        self.degrees = degrees
        self.stages = stages
        self.topology = topology
        self.domain = domain
        self.slices = slices
        self.known: dict[Group, tuple[Span, ...]] = {}

    @property
    def stage(self) -> int:
        """GPUs of one stage."""
        return prod(self.degrees[axis] for axis in NUMBERED)

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return self.stage * self.stages

    @property
    def per_domain(self) -> int:
        """GPUs that stand together: as few domains as will do, as evenly filled as keeps blocks together.

        Blocks are the GPUs that share heads, those that share a sequence, and a stage.
        """
        domains = -(-self.gpus // self.domain)
        least = -(-self.gpus // domains)
        shared = prod(self.degrees[axis] for axis in HEADS)
        inside = shared * prod(self.degrees[axis] for axis in CONTEXT)
        cut = [block for block in (shared, inside, self.stage) if block < self.gpus]
        fit = (n for n in range(least, self.domain + 1) if all(n % block == 0 or block % n == 0 for block in cut))
        return next(fit, least)

    def spans(self, group: Group) -> tuple[Span, ...]:
        """Return the different ways in which groups over some mesh axes lie."""
        if group not in self.known:
            self.known[group] = tuple(dict.fromkeys(self._span(ranks) for ranks in self._groups(group)))
        return self.known[group]

    def hops(self) -> tuple[Span, ...]:
        """Return the different ways in which a GPU and the one after it in the next stage lie."""
        pairs = ((rank, rank + self.stage) for rank in range(self.gpus - self.stage))
        return tuple(dict.fromkeys(self._span(pair) for pair in pairs))

    def _groups(self, group: Group) -> list[tuple[int, ...]]:
        strides: dict[str, int] = {}
        stride = 1
        for axis in reversed(NUMBERED):
            strides[axis] = stride
            stride *= self.degrees[axis]

        def offsets(axes: Sequence[str]) -> list[int]:
            steps = [range(0, self.degrees[axis] * strides[axis], strides[axis]) for axis in axes]
            return [sum(parts) for parts in product(*steps)]

        inside = sorted(offsets(group))
        starts = offsets([axis for axis in NUMBERED if axis not in group])
        first = [stage * self.stage for stage in range(self.stages)]
        return [tuple(at + start + one for one in inside) for at in first for start in starts]

    def _span(self, ranks: tuple[int, ...]) -> Span:
        """A price sees where GPUs stand, not how the plan came to them."""
        each = self.per_domain
        found: dict[int, list[int]] = {}
        for rank in ranks:
            found.setdefault(rank // each, []).append(rank % each)
        together = sorted(found.values(), key=len, reverse=True)
        counts = tuple(map(len, together))
        if not self.slices or counts[0] == 1:
            return Span(counts)
        cut = self._slice()
        return Span(counts, _lanes([_coordinates(one, cut.shape) for one in together[0]], cut), len(cut.shape))

    def _slice(self) -> Slice:
        """The smallest shape that holds a domain's GPUs."""
        return next(one for one in self.slices if prod(one.shape) >= self.per_domain)


def place(gpu: Gpu, degrees: Mapping[str, int], stages: int) -> Place:
    """Put a replica onto a kind of GPU. SpecError where more GPUs are asked for than its links hold together."""
    gpus = prod(degrees[axis] for axis in NUMBERED) * stages
    if gpus > 1 and "scale_up_bandwidth" in gpu.facts:
        gpu.fact("scale_up_domain", "to say how many GPUs its fast links join")
    domain = int(gpu.facts["scale_up_domain"].value) if "scale_up_domain" in gpu.facts else 1
    domain = max((prod(one.shape) for one in gpu.slices), default=domain)
    if gpus > domain and "scale_out_bandwidth" not in gpu.facts:
        raise SpecError(
            "missing-fact",
            f"gpu {gpu.name}",
            f"scale_out_bandwidth in B/s: {gpus} GPUs stand in domains of {domain}",
            "no such figure in its file",
            f"choose {_at_most(domain)}, or add the figure with its source",
        )
    if gpus > 1 and domain > 1:
        gpu.fact("scale_up_bandwidth", "to say how long GPUs exchange")
    return Place(degrees, stages, gpu.topology, domain, gpu.slices)


def _at_most(gpus: int) -> str:
    return "one GPU" if gpus == 1 else f"at most {gpus} GPUs"


def _coordinates(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for length in reversed(shape):
        rank, at = divmod(rank, length)
        found.append(at)
    return tuple(reversed(found))


def _lanes(at: Sequence[tuple[int, ...]], cut: Slice) -> tuple[Lane, ...]:
    """The axes along which GPUs extend. What fills no box is taken for the box around it, which a bound may."""
    places = [sorted({one[axis] for one in at}) for axis in range(len(cut.shape))]
    gaps = [{b - a for a, b in pairwise(found)} for found in places]
    lanes: list[Lane] = []
    for found, gap, length, wraps in zip(places, gaps, cut.shape, cut.wraps, strict=True):
        if len(found) < 2:  # noqa: PLR2004 - it does not extend along this axis
            continue
        step = min(gap) if len(gap) == 1 else 1
        around = wraps and len(found) * step == length
        lanes.append(Lane(len(found), 2 if around else 1, step))
    return tuple(lanes)
