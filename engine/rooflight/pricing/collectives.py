"""How long a collective takes by every algorithm that the links allow: seconds until the first byte, and bytes sent.

`size` is what the collective works on: the input of a reduction or an exchange, the output of a gather. A group lies on
one tier of links or on two: GPUs of a domain, and domains across the network. A price follows from where GPUs stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, log2
from typing import TYPE_CHECKING

from rooflight.expr import Value, div, max_, min_, total
from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.pricing.place import Lane, Span
    from rooflight.pricing.rates import Link, Rates

Prices = Mapping[str, Value]  # algorithm -> seconds
_GATHERS = ("all_gather", "reduce_scatter", "lse_merge")  # one direction of an all-reduce each

ALGORITHMS: dict[str, str] = {
    "ring": "every GPU passes parts on to its neighbour",
    "tree": "halves of the group pair up, again and again; an all-reduce goes up two trees and down again",
    "one-shot": "everyone sends to everyone at once",
    "two-shot": "everyone sends each their part to sum, then the sums to everyone",
    "hierarchical": "inside every domain first, between domains on what is left, and back",
    "torus": "around all axes of a torus at the same time, a part of the data along each first",
    "direct": "from one GPU to another",
}


def prices(kind: str, size: Value, span: Span, rates: Rates, topology: str, domain: int) -> Prices:
    """Return the seconds of one collective by algorithm; nothing among one GPU."""
    if span.gpus == 1:
        return {}
    if kind == "send":
        if len(span.counts) > 1:
            link = _out(rates, span)
            return {"direct": link.latency + div(size, link.bandwidth)}
        link = _up(rates)
        return {"direct": link.latency + div(size * _narrower(topology, domain, span), link.bandwidth)}
    if len(span.counts) > 1:
        return _between(kind, size, span, rates, topology, domain)
    return _inside(kind, size, span.gpus, _up(rates), topology, domain, span)


def cheapest(found: Prices) -> tuple[str, Value]:
    """Return the algorithm with the lowest price, the first of equals."""
    name = min(found, key=lambda one: found[one])
    return name, found[name]


def _inside(kind: str, size: Value, gpus: int, link: Link, topology: str, domain: int, span: Span) -> Prices:
    """Prices within one domain."""
    if topology in ("ring", "torus"):
        return _around(kind, size, span, link)
    part = div(size, gpus)
    rest = part * (gpus - 1)
    # Where every pair has a link of its own, a pair uses its share of the bandwidth only, and a ring two of the links.
    pair = div(domain - 1, gpus - 1) if topology == "mesh" else 1
    neighbour = _narrower(topology, domain, span)

    def ring(times: int) -> Value:
        return times * ((gpus - 1) * link.latency + div(rest * neighbour, link.bandwidth))

    def at_once(sent: Value, times: int = 1) -> Value:
        return times * (link.latency + div(sent * pair, link.bandwidth))

    if kind == "all_to_all":
        return {"one-shot": at_once(rest)}
    if kind in _GATHERS:
        return {"one-shot": at_once(rest), "ring": ring(1)}
    found = {"two-shot": at_once(rest, 2), "one-shot": at_once(size * (gpus - 1)), "ring": ring(2)}
    if topology == "switch":
        found["tree"] = 2 * ceil(log2(gpus)) * link.latency + div(2 * size, link.bandwidth)
    return found


def _network(kind: str, size: Value, gpus: int, link: Link) -> Prices:
    """Prices between GPUs of which each has its own way to the network."""
    rest = div(size, gpus) * (gpus - 1)
    steps = ceil(log2(gpus))
    if kind == "all_reduce":
        return {
            "ring": 2 * ((gpus - 1) * link.latency + div(rest, link.bandwidth)),
            "tree": 2 * steps * link.latency + div(2 * size, link.bandwidth),
        }
    found = {"ring": (gpus - 1) * link.latency + div(rest, link.bandwidth)}
    if gpus == 1 << steps:
        found["tree"] = steps * link.latency + div(rest, link.bandwidth)
    return found


def _between(kind: str, size: Value, span: Span, rates: Rates, topology: str, domain: int) -> Prices:
    """Prices over several domains."""
    out, gpus, most, least = _out(rates, span), span.gpus, span.counts[0], span.counts[-1]
    part = div(size, gpus)
    if most == 1:
        if kind == "all_to_all":
            return {"one-shot": out.latency + div(part * (gpus - 1), out.bandwidth)}
        return _network(kind, size, gpus, out)
    up = _up(rates)
    if kind == "all_to_all":
        near = _least(_inside(kind, part * most, most, up, topology, domain, span))
        return {"one-shot": max_(near, out.latency + div(part * (gpus - least), out.bandwidth))}
    neighbour = div(up.bandwidth, _narrower(topology, domain, span))
    steps, slowest = (gpus - 1) * max_(up.latency, out.latency), min_(neighbour, out.bandwidth)
    times = 2 if kind == "all_reduce" else 1
    found: dict[str, Value] = {"ring": times * (steps + div(part * (gpus - 1), slowest))}
    if least == most:
        inner = "reduce_scatter" if kind == "all_reduce" else kind
        within = _least(_inside(inner, size, most, up, topology, domain, span))
        across = _least(_network(kind, div(size, most), len(span.counts), out))
        found["hierarchical"] = times * within + across
    return found


def _around(kind: str, size: Value, span: Span, link: Link) -> Prices:
    """Prices around the axes of a torus."""
    lanes = span.lanes
    wires = [div(link.bandwidth * lane.links, 2 * span.axes * lane.shared) for lane in lanes]
    late = total([_hops(lane) * link.latency for lane in lanes])
    name = "torus" if len(lanes) > 1 else "ring"
    if kind == "all_to_all":
        # What must cross the middle of an axis: half of everything, over all links that cross it.
        crossing = [
            div(size * (lane.extent * lane.extent - lane.extent % 2), 4 * lane.extent * wire)
            for lane, wire in zip(lanes, wires, strict=True)
        ]
        return {name: late + _most(crossing)}
    times = 2 if kind == "all_reduce" else 1
    return {name: times * (late + _rotated(size, lanes, wires))}


def _rotated(size: Value, lanes: tuple[Lane, ...], wires: list[Value]) -> Value:
    """Seconds of a gather: as many parts as axes, each taking the axes in turn from another first, all at once."""
    count = len(lanes)
    held = [div(size, count * _extent(lanes)) for _ in lanes]  # of each part, before the first turn
    turns: list[Value] = []
    for turn in range(count):
        taking: list[Value] = []
        for part in range(count):
            lane, wire = lanes[(part + turn) % count], wires[(part + turn) % count]
            taking.append(div(held[part] * (lane.extent - 1), wire))
            held[part] = held[part] * lane.extent
        turns.append(_most(taking))
    return total(turns)


def _extent(lanes: tuple[Lane, ...]) -> int:
    gpus = 1
    for lane in lanes:
        gpus *= lane.extent
    return gpus


def _hops(lane: Lane) -> int:
    return lane.extent // 2 if lane.links > 1 else lane.extent - 1


def _narrower(topology: str, domain: int, span: Span) -> int:
    """By how much the way to one neighbour in a domain is narrower than all of a GPU's links."""
    if topology == "switch":
        return 1
    return domain - 1 if topology == "mesh" else 2 * span.axes


def _up(rates: Rates) -> Link:
    assert rates.up is not None, "whoever places GPUs in one domain has looked"
    return rates.up


def _out(rates: Rates, span: Span) -> Link:
    if rates.out is None:
        raise SpecError(
            "missing-fact",
            "gpu",
            f"scale_out_bandwidth in B/s: a group of {span.gpus} GPUs stands in {len(span.counts)} domains",
            "no such figure in its file",
            "choose fewer GPUs, or add the figure with its source",
        )
    return rates.out


def _fold(values: list[Value], pick: Callable[[Value, Value], Value]) -> Value:
    found = values[0]
    for value in values[1:]:
        found = pick(found, value)
    return found


def _least(found: Prices) -> Value:
    return _fold(list(found.values()), min_)


def _most(values: list[Value]) -> Value:
    return _fold(values, max_)
