"""Days of the calendar, held against Python's own."""

from datetime import date

import pytest

from rooflight.values import is_day


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024, 2100])
def test_every_day_of_a_year(year):
    def known(month, day):
        try:
            date(year, month, day)
        except ValueError:
            return False
        return True

    for month in range(14):
        for day in range(33):
            assert is_day(f"{year}-{month:02}-{day:02}") == known(month, day)


@pytest.mark.parametrize("text", ["", "2025", "20250101", "2025-1-1", "2025-01-01\n", "2025-01-01T00:00", "٢٠٢٥-01-01"])
def test_other_texts(text):
    assert not is_day(text)
