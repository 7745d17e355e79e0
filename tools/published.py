"""Figures that others published, and what the engine says to the same question; docs/validation.md shows both."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from rooflight.edge import front

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.api import Estimate

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "cases" / "published.yaml"
_UNITS = {
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "ms": 1e-3,
    "µs": 1e-6,
    "s": 1.0,
    "%": 0.01,
    "tok/s": 1.0,
    "requests": 1,
    "PFLOP": 1e15,
}


class Row(NamedTuple):
    """One published figure and ours, both in `unit`; `within` says how near ours must come, in words."""

    of: str
    unit: str
    published: float
    ours: float
    within: str
    holds: bool


@cache
def rows() -> tuple[Row, ...]:
    """Every row of the case table, with ours."""
    data = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    return tuple(_row(case, str(ROOT / data["gpu"])) for case in data["rows"])


def _row(case: dict[str, Any], gpu: str) -> Row:
    ours = _read(_estimate(case["model"], gpu, case["plan"], tuple(case.get("knobs", {}).items())), case["read"])
    ours /= _UNITS[case["unit"]]
    published = case["published"]
    if case.get("exact"):
        return Row(case["of"], case["unit"], published, ours, "exact", ours == published)
    if "points" in case:
        near = abs(ours - published) <= case["points"]
        return Row(case["of"], case["unit"], published, ours, f"{case['points']} points", near)
    near = abs(ours / published - 1) <= case["tolerance"]
    return Row(case["of"], case["unit"], published, ours, f"{100 * case['tolerance']:g} %", near)


@cache
def _estimate(model: str, gpu: str, plan: str, knobs: tuple[tuple[str, Any], ...]) -> Estimate:
    return front.estimated(model, gpu, plan, ask=front.asked(**dict(knobs)))


def _read(estimate: Estimate, path: str) -> float:
    if path in _READINGS:
        return _READINGS[path](estimate)
    found: Any = estimate.summary()
    for name in path.split("."):
        found = found[name]
    return found


def _per_token(estimate: Estimate) -> float:
    return estimate.ttft_seconds / estimate.ask.input_tokens / estimate.plan.attn_dp


def _attention(estimate: Estimate) -> float:
    """Seconds of one attention: of the last kind of layer."""
    timed = estimate.prefill
    nodes = timed.deployed.program.graph.nodes
    inside = {node.id: node.group for node in nodes if ".attention." in node.id}
    last = max(inside.values())
    return sum(float(line.spent.longest) for line in timed.lines if inside.get(line.id) == last)


def _flops(estimate: Estimate) -> float:
    return sum(row.get("matmul_flops", 0) for row in estimate.prefill.rows())


def _cache_read(estimate: Estimate) -> float:
    """Cache bytes of a decode step less those of the token it writes."""
    moved = sum(row.get("kv_bytes", 0) for row in estimate.decode.rows())
    return moved - moved / (estimate.context + 1)


_READINGS: dict[str, Callable[[Estimate], float]] = {
    "prefill_per_token": _per_token,
    "attention_of_a_layer": _attention,
    "prefill_flops": _flops,
    "cache_read": _cache_read,
}
