"""The page of GPUs, and what of docs/time.md and docs/validation.md is read from the code and its case tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import published
from docs_markdown import anchor, code, page, table

from rooflight import api
from rooflight.edge.deploy.show import seconds
from rooflight.edge.machines import all_gpus, open_prices
from rooflight.edge.screen import size
from rooflight.hardware import TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.hardware import Fact, Gpu

_INTRO = """\
The accelerators whose facts ship with the project, from `gpus/`: one file each, every figure with its unit and who says
so. A source that nobody opened is marked *copied*. Rates are dense, in TFLOP/s by the format of the operands; links are
per GPU and direction. `rooflight gpus ID` prints the same; `--gpu` also takes
[a file of your own](spec-language.md#gpu-files). What a GPU-hour costs stands in `gpus/prices.yaml`: working figures
for comparison, not offers; `--price` replaces them."""


def gpus() -> str:
    """Every GPU, with its sources."""
    prices = open_prices()
    found = all_gpus()
    overview = table(
        ("GPU", "memory", "memory bandwidth", "BF16", "FP8", "FP4", "links", "domain", "TDP", "USD / GPU-hour"),
        [_row(gpu, prices.get(gpu.id)) for gpu in found],
    )
    parts = [overview, *(_section(gpu, prices.get(gpu.id)) for gpu in found)]
    return page("GPUs", _INTRO, *parts)


def _row(gpu: Gpu, price: Fact | None) -> tuple[str, ...]:
    def rate(form: str) -> str:
        return f"{gpu.matmul[form].value / 1e12:,.4g}" if form in gpu.matmul else ""

    facts = gpu.facts
    return (
        f"[{gpu.name}](#{anchor(gpu.name)})",
        size(facts["memory"].value),
        f"{facts['memory_bandwidth'].value / 1e12:.3g} TB/s",
        rate("BF16"),
        rate("F8_E4M3"),
        rate("F4_E2M1"),
        f"{gpu.topology}, {facts['scale_up_bandwidth'].value / 1e9:,.4g} GB/s",
        f"{facts['scale_up_domain'].value:,}",
        f"{facts['tdp'].value:,} W",
        "" if price is None else f"{price.value:.2f}",
    )


def _section(gpu: Gpu, price: Fact | None) -> str:
    listed = {**gpu.facts, **{f"matmul {form}": fact for form, fact in gpu.matmul.items()}}
    if price is not None:
        listed["price"] = price
    rows = [(code(name), _value(fact), _origin(fact), fact.note or "") for name, fact in listed.items()]
    stated = gpu.topology_from
    if stated is not None:
        rows.append(
            (code("topology"), f"{gpu.topology}: {TOPOLOGIES[gpu.topology]}", _origin(stated), stated.note or "")
        )
    notes = "\n".join(f"- {note}" for note in gpu.notes)
    head = f"## {gpu.name}"
    announced = "Announced, not shipping: its figures may change.\n\n" if gpu.status == "announced" else ""
    by = f"`{gpu.id}` · {gpu.maker}"
    return f"{head}\n\n{by}\n\n{announced}{table(('fact', 'value', 'by', 'note'), rows)}\n\n{notes}".rstrip()


def _value(fact: Fact) -> str:
    if fact.unit == "B":
        return f"{fact.value:,} B ({size(fact.value)})"
    if fact.unit == "s":
        return seconds(fact.value)
    for limit, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G")):
        if fact.value >= limit:
            return f"{fact.value / limit:,.4g} {prefix}{fact.unit}"
    return f"{fact.value:,} {fact.unit}"


def _origin(fact: object) -> str:
    source, date = getattr(fact, "source", None), getattr(fact, "date", None)
    if source is None:
        return f"*copied* from {getattr(fact, 'copied_from', None)}"
    return f"{source}, read {date}" if date else source


def sweep_axes() -> str:
    """What can be swept, and what a row says."""
    axes = table(("axis", "values"), [(code(name), axis.meaning) for name, axis in api.SWEEP_AXES.items()])
    return axes + "\n\nA row holds the values, the plan in `deployed`, " + ", ".join(_columns()) + ", and `error`."


def _columns() -> Iterator[str]:
    return (code(name) for name in api.SWEEP_COLUMNS)


def compared() -> str:
    """Published figures and ours."""
    rows = [
        (row.of, f"{row.published:,} {row.unit}", f"{row.ours:,.4g} {row.unit}", _difference(row), row.within)
        for row in published.rows()
    ]
    return table(("figure", "published", "ours", "difference", "within"), rows)


def _difference(row: published.Row) -> str:
    if row.unit == "%":
        return f"{row.ours - row.published:+.1f} points"
    return "0" if row.ours == row.published else f"{100 * (row.ours / row.published - 1):+.1f} %"


def topologies() -> str:
    """The ways in which GPUs of a domain are linked."""
    return table(("topology", "who is linked to whom"), list(TOPOLOGIES.items()))


PARTS = {"sweep_axes": sweep_axes, "published": compared, "topologies": topologies}
