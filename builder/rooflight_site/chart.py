"""Where the marks of a chart with two logarithmic axes stand: along x in percent of its width, along y in pixels.

Percent, so that a chart takes any width while its text and marks keep their size.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import floor, log2, log10
from typing import Any, NamedTuple

HEIGHT = 300
LABEL = 18  # pixels between two names at the lines' ends
MARGIN = 12  # pixels above the highest mark and below the lowest
SIDE = 3  # percent left and right of the marks
_STEPS = (1, 2, 5)
_FEW = 4  # ticks; with fewer, the steps between decades are drawn too


class Mark(NamedTuple):
    """One point. `row` is what the sweep says of it."""

    x: float
    y: float
    row: Mapping[str, Any]
    fits: bool
    beyond: bool  # the published context


class Piece(NamedTuple):
    """A line between two marks; dashed where one of them is extrapolated or does not fit."""

    x1: float
    y1: float
    x2: float
    y2: float
    dashed: bool


class Series(NamedTuple):
    """One line of the chart. `at` is the height of its name beside the last mark."""

    name: str
    marks: tuple[Mark, ...]
    pieces: tuple[Piece, ...]
    at: float


class Tick(NamedTuple):
    """A line of the grid with its text."""

    at: float
    text: str


class Chart(NamedTuple):
    """Everything that is drawn. `late` are the series that do not begin at the first value, with where they begin, or
    None where no point can be shown.
    """

    height: int
    series: tuple[Series, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    late: tuple[tuple[str, str | None], ...]

    @property
    def beyond(self) -> bool:
        """Whether some point is extrapolated."""
        return any(mark.beyond for series in self.series for mark in series.marks)

    @property
    def hollow(self) -> bool:
        """Whether some point does not fit."""
        return any(not mark.fits for series in self.series for mark in series.marks)


def chart(sweep: Mapping[str, Any], y: str, *, hide: bool) -> Chart:
    """Lay out the rows of a sweep. Rows that were refused are left out, and with `hide` those that do not fit."""
    rows = [row for row in sweep["rows"] if row[y] is not None and row["error"] is None and (row["fits"] or not hide)]
    values = sorted({row[sweep["x"]] for row in rows or sweep["rows"]})
    levels = [row[y] for row in rows] or [1, 10]
    low, high = log10(min(levels)), log10(max(levels))
    span = max(high - low, 0.3)  # a flat chart is no cliff

    def across(value: float) -> float:
        whole = log2(values[-1] / values[0]) or 1
        return round(SIDE + (100 - 2 * SIDE) * log2(value / values[0]) / whole, 2)

    def down(value: float) -> float:
        return round(MARGIN + (HEIGHT - 2 * MARGIN) * (1 - (log10(value) - low) / span), 1)

    lines = {
        name: tuple(
            Mark(across(row[sweep["x"]]), down(row[y]), row, bool(row["fits"]), bool(row["beyond_published_context"]))
            for row in rows
            if str(row[sweep["series"]]) == key
        )
        for key, name in sweep["names"].items()
    }
    first = {name: f"{marks[0].row[sweep['x']]:,}" if marks else None for name, marks in lines.items()}
    shown = {name: marks for name, marks in lines.items() if marks}
    heights = _apart({name: marks[-1].y for name, marks in shown.items()})
    return Chart(
        HEIGHT,
        tuple(Series(name, marks, tuple(_pieces(marks)), heights[name]) for name, marks in shown.items()),
        tuple(Tick(across(value), f"{value:,}") for value in values),
        tuple(Tick(down(value), f"{value:,}") for value in _ticks(low, low + span)),
        tuple((name, begins) for name, begins in first.items() if begins != f"{values[0]:,}"),
    )


def _pieces(marks: Sequence[Mark]) -> Iterable[Piece]:
    for one, two in pairwise(marks):
        yield Piece(one.x, one.y, two.x, two.y, not (_sure(one) and _sure(two)))


def _sure(mark: Mark) -> bool:
    return mark.fits and not mark.beyond


def _ticks(low: float, high: float) -> list[int]:
    """Round numbers between two powers of ten: decades, and steps between them where those are few."""
    decades = range(floor(low), floor(high) + 1)
    every = [step * 10**decade for decade in decades for step in _STEPS if decade >= 0]
    inside = [value for value in every if low - 1e-9 <= log10(value) <= high + 1e-9]
    coarse = [value for value in inside if str(value).startswith("1")]
    return coarse if len(coarse) >= _FEW else inside


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """Heights for names, near those wanted, none over another and all inside the chart."""
    order = sorted(wanted, key=wanted.__getitem__)
    placed: dict[str, float] = {}
    lowest = 0.0
    for name in order:
        placed[name] = max(wanted[name], lowest)
        lowest = placed[name] + LABEL
    highest = float(HEIGHT)
    for name in reversed(order):
        placed[name] = round(min(placed[name], highest), 1)
        highest = placed[name] - LABEL
    return placed
