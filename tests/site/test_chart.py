"""The layout of charts: rising values rise, names stand apart, what cannot be shown is left out and said."""

from itertools import pairwise

import pytest

from rooflight_site.chart import HEIGHT, LABEL, chart


def row(gpus, gpu, rate, *, fits=True, beyond=False, error=None):
    return {
        "gpus": gpus,
        "gpu": gpu,
        "tok_s_gpu": rate,
        "fits": fits,
        "beyond_published_context": beyond,
        "error": error,
    }


def drawn(*rows, hide=True):
    names = {name: name.upper() for name in dict.fromkeys(one["gpu"] for one in rows)}
    return chart({"x": "gpus", "series": "gpu", "names": names, "rows": rows}, "tok_s_gpu", hide=hide)


def test_equal_factors_are_equal_distances_on_both_axes():
    marks = drawn(row(1, "a", 10), row(2, "a", 100), row(4, "a", 1000)).series[0].marks
    assert marks[1].x - marks[0].x == pytest.approx(marks[2].x - marks[1].x)
    assert marks[0].y - marks[1].y == pytest.approx(marks[1].y - marks[2].y, abs=0.2)
    assert marks[0].y > marks[2].y  # more is higher
    assert all(0 <= mark.x <= 100 and 0 <= mark.y <= HEIGHT for mark in marks)


def test_what_does_not_fit_is_left_out_and_said():
    shown = drawn(
        row(1, "a", 5, fits=False), row(1, "b", 5, fits=False), row(2, "a", 10), row(2, "b", 5, fits=False),
        row(4, "a", 12), row(4, "b", 9), row(4, "c", 1, fits=False),
    )  # fmt: skip
    assert [tick.text for tick in shown.x_ticks] == ["2", "4"]  # the axis begins where something fits
    assert shown.late == (("B", "4"), ("C", None))
    assert not shown.hollow


def test_what_does_not_fit_is_hollow_where_it_is_shown():
    shown = drawn(row(1, "a", 5), row(2, "a", 6, fits=False), hide=False)
    assert [mark.fits for mark in shown.series[0].marks] == [True, False]
    assert [piece.dashed for piece in shown.series[0].pieces] == [True]
    assert shown.hollow


def test_a_line_to_an_extrapolated_point_is_dashed():
    shown = drawn(row(1, "a", 5), row(2, "a", 6), row(4, "a", 7, beyond=True))
    assert [piece.dashed for piece in shown.series[0].pieces] == [False, True]
    assert shown.beyond


def test_a_refused_plan_is_no_point():
    shown = drawn(row(1, "a", 5), row(2, "a", None, error="bad-plan: no"), row(4, "a", 7, error="bad-plan: no"))
    assert [mark.row["gpus"] for mark in shown.series[0].marks] == [1]


def test_names_of_lines_that_end_together_stand_apart():
    shown = drawn(*(row(gpus, name, 100 + at) for at, name in enumerate("abcd") for gpus in (1, 2)))
    heights = sorted(series.at for series in shown.series)
    assert all(two - one >= LABEL - 0.2 for one, two in pairwise(heights))
    assert heights[0] >= 0
    assert heights[-1] <= HEIGHT


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (150, 14_000, ["200", "500", "1,000", "2,000", "5,000", "10,000"]),
        (1, 10_000, ["1", "10", "100", "1,000", "10,000"]),
        (100, 100, ["100"]),
    ],
)
def test_ticks_are_round_numbers(low, high, said):
    ticks = drawn(row(1, "a", low), row(2, "a", high)).y_ticks
    assert [tick.text for tick in ticks] == said


def test_a_chart_of_nothing_is_empty():
    shown = drawn(row(1, "a", 5, fits=False))
    assert shown.series == ()
    assert shown.late == (("A", None),)
