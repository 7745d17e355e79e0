"""Days as facts name them: YYYY-MM-DD, by the calendar. No clock is asked, so the engine stays without one."""

from __future__ import annotations

import re

_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_day(text: str) -> bool:
    """Say whether a text is a day of the calendar."""
    match = _DAY.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= len(_LENGTHS) and 1 <= day <= _LENGTHS[month - 1] + (leap and month == 2)  # noqa: PLR2004
