"""Every number of the site passes through one formatter; these rows are its contract."""

from fractions import Fraction

import pytest

from rooflight.values import UNITS
from rooflight_site.format import MISSING, brief, digits, exact, given, part_of_whole, shown, tokens

ROWS = [
    ("zero_needs_no_unit", 0, "byte", "0", "0"),
    ("bytes_are_written_out_below_a_thousand", 576, "byte", "576 B", "576 B"),
    ("kv_per_token", 131072, "byte/token", "128 KiB", "131 kB"),
    ("three_digits_before_the_next_prefix", 1023 * 1024, "byte", "0.999 MiB", "1.05 MB"),
    ("weights", 16_060_522_496, "byte", "15.0 GiB", "16.1 GB"),
    ("terabytes", 811_706_908_672, "byte", "756 GiB", "812 GB"),
    ("parameters", 8_030_261_248, "parameter", "8.03 B", "8.03 B"),
    ("parameters_never_read_1000_K", 999_999, "parameter", "1.00 M", "1.00 M"),
    ("few_parameters", 768, "parameter", "768", "768"),
    ("many_parameters", 405_853_388_800, "parameter", "406 B", "406 B"),
    ("flops", 15_009_562_624, "FLOP", "15.0 GFLOP", "15.0 GFLOP"),
    ("petaflops", 3_400_000_000_000_000, "FLOP", "3.40 PFLOP", "3.40 PFLOP"),
    ("context_is_exact", 131072, "token", "131,072", "131,072"),
    ("layers", 126, "layer", "126", "126"),
    ("intensity", Fraction(1, 3), "FLOP/byte", "0.333 FLOP/B", "0.333 FLOP/B"),
    ("pure_float", 1234.5, "1", "1,230", "1,230"),
    ("half_to_even_on_the_exact_value", Fraction(12345, 1000), "1", "12.3", "12.3"),
    ("milliseconds", 0.0370328, "second", "37.0 ms", "37.0 ms"),
    ("microseconds", 1.5e-6, "second", "1.50 µs", "1.50 µs"),
    ("a_second_never_reads_1000_ms", 0.9996, "second", "1.00 s", "1.00 s"),
    ("below_the_last_name", 2e-10, "second", "0.200 ns", "0.200 ns"),
    ("rate", 13690.5, "token/s", "13,700 tok/s", "13,700 tok/s"),
    ("price", 0.07304, "USD", "0.0730 USD", "0.0730 USD"),
    ("energy", 0.07304, "joule", "73.0 mJ", "73.0 mJ"),
    ("sequences", 4056, "sequence", "4,056", "4,056"),
    ("share", 0.0916556, "share", "9.17 %", "9.17 %"),
    ("bandwidth_is_decimal", 7.7e12, "B/s", "7.70 TB/s", "7.70 TB/s"),
    ("peak", 4.5e15, "FLOP/s", "4.50 PFLOP/s", "4.50 PFLOP/s"),
    ("missing", None, "byte", MISSING, MISSING),
]


@pytest.mark.parametrize(("value", "unit", "text", "decimal"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_a_figure_reads(value, unit, text, decimal):
    figure = shown(value, unit)
    assert (figure.text.replace("\u202f", " "), figure.decimal.replace("\u202f", " ")) == (text, decimal)


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_of_the_engine_can_be_shown(unit):
    assert shown(12_345, unit).text


def test_an_unknown_unit_is_an_error():
    with pytest.raises(KeyError):
        shown(1, "furlong")


def test_exact_values_lose_nothing():
    assert exact(2**70) == "1,180,591,620,717,411,303,424"
    assert exact(Fraction(1, 3)) == "1/3"


def test_what_has_no_short_exact_form_says_so():
    assert exact(0.1) == "≈ 0.1"
    assert exact(19_327_352_832.0) == "≈ 19,327,352,832"
    assert exact(1 - Fraction(7, 8) ** 4096) == "≈ 1"


def test_round_contexts_are_said_as_people_say_them():
    assert [tokens(n) for n in (4096, 32768, 131072, 1048576, 1000, 512)] == [
        "4K",
        "32K",
        "128K",
        "1,024K",
        "1,000",
        "512",
    ]


def test_what_was_given_is_no_approximation():
    assert [given(0.9), given(3.6), given(2e-06), given(512)] == ["0.9", "3.6", "2e-06", "512"]


def test_digits_are_never_a_fraction():
    assert [digits(Fraction(1, 4)), digits(Fraction(8, 2)), digits(1234)] == ["≈ 0.25", "4", "1,234"]


def test_a_brief_value_has_six_digits_at_most():
    values = (2450.530515907, 12_345_678.9, 4, Fraction(1, 3))
    assert [brief(value) for value in values] == ["≈ 2,450.53", "≈ 12,345,700", "4", "≈ 0.333333"]


def test_a_part_too_small_to_say_is_not_zero():
    assert [part_of_whole(value) for value in (0.4217, 1, 0.00004, 0)] == [
        "42.2\u202f%",
        "100.0\u202f%",
        "<\u202f0.1\u202f%",
        "0.0\u202f%",
    ]
