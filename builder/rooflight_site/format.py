"""The one number formatter of the site: an exact value and its unit in, the text a reader sees out.

Three significant digits everywhere; the exact value stands in the formula tip. Nothing is ever shown as zero
because it is unknown: a missing value is an em dash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

MISSING = "—"
GAP = "\N{NARROW NO-BREAK SPACE}"  # between a number and its unit
DIGITS = 3
BRIEF_DIGITS = 6
APPROXIMATELY = "≈ "  # begins the text of a value that was rounded
_LONGEST_FRACTION = 10**9

Number = int | float | Fraction


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure as text. `decimal` differs from `text` only where binary prefixes are used (GiB against GB)."""

    text: str
    decimal: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Prefixes of one base: the n-th stands for base to the n, and the n-th of `below` for base to the -n."""

    base: int
    names: Sequence[str]
    exact_below: int = 1000  # counts under this are written out
    below: Sequence[str] = ()


_COUNT = Scale(1000, ("", "K", "M", "B", "T", "Q"))
_FLOP = Scale(1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"))
_BYTE = Scale(1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))
_BYTE_DECIMAL = Scale(1000, ("B", "kB", "MB", "GB", "TB", "PB", "EB"))
_TIME = Scale(1000, ("s",), below=("s", "ms", "µs", "ns"))
_ENERGY = Scale(1000, ("J", "kJ", "MJ"), below=("J", "mJ", "µJ"))

_SCALES: dict[str, tuple[Scale, Scale, str]] = {
    "parameter": (_COUNT, _COUNT, ""),
    "element": (_COUNT, _COUNT, ""),
    "FLOP": (_FLOP, _FLOP, ""),
    "byte": (_BYTE, _BYTE_DECIMAL, ""),
    "byte/token": (_BYTE, _BYTE_DECIMAL, ""),
    "second": (_TIME, _TIME, ""),
    "joule": (_ENERGY, _ENERGY, ""),
    # As data sheets write them: rates have decimal prefixes, whatever bytes have.
    "B": (_BYTE, _BYTE_DECIMAL, ""),
    "B/s": (_BYTE_DECIMAL, _BYTE_DECIMAL, "/s"),
    "FLOP/s": (_FLOP, _FLOP, "/s"),
    "s": (_TIME, _TIME, ""),
}

_PLAIN: dict[str, str] = {
    "token": "",
    "layer": "",
    "copy": "",
    "sequence": "",
    "1": "",
    "FLOP/byte": "FLOP/B",
    "token/s": "tok/s",
    "USD": "USD",
    "GPU": "GPUs",
    "W": "W",
    "USD/GPU-hour": "USD per GPU-hour",
}
_PERCENT = 100
_LEAST_PERCENT = 0.1


def shown(value: Number | None, unit: str) -> Shown:
    """The text of one figure, with its unit where the unit is not plain from the column."""
    if value is None:
        return Shown(MISSING, MISSING)
    if value == 0:
        return Shown("0", "0")
    if unit in _SCALES:
        first, second, suffix = _SCALES[unit]
        return Shown(_scaled(value, first) + suffix, _scaled(value, second) + suffix)
    if unit == "share":
        return Shown(*(2 * (_rounded(Fraction(value) * _PERCENT) + GAP + "%",)))
    suffix = _PLAIN[unit]
    text = grouped(value) if _is_count(value) else _rounded(Fraction(value))
    return Shown(*(2 * (text + (GAP + suffix if suffix else ""),)))


def exact(value: Number) -> str:
    """The value in full: digits in groups of three, a fraction as a fraction.

    What has no short exact form, an expectation such as 1 − (1 − k/E)^n, is given to fifteen digits after `≈`.
    """
    if _is_count(value):
        return grouped(value)
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < _LONGEST_FRACTION:
        return f"{grouped(value.numerator)}/{grouped(value.denominator)}"
    return digits(value)


def digits(value: Number) -> str:
    """The value in digits: whole numbers in full, anything else to fifteen of them after `≈`, never as a fraction."""
    return grouped(value) if _is_count(value) else f"{APPROXIMATELY}{float(value):,.15g}"


def brief(value: Number) -> str:
    """The value to six digits at most, where fifteen would claim more than a peak rate knows."""
    if _is_count(value) and abs(value) < 10**BRIEF_DIGITS:
        return grouped(value)
    return APPROXIMATELY + _rounded(Fraction(value), BRIEF_DIGITS)


def part_of_whole(share: float) -> str:
    """A share at a glance: to a tenth of a per cent, and what is smaller as smaller than that."""
    percent = share * _PERCENT
    return f"{percent:.1f}{GAP}%" if percent >= _LEAST_PERCENT or share == 0 else f"<{GAP}{_LEAST_PERCENT}{GAP}%"


def given(value: Number) -> str:
    """A value that was given, not computed: what was written is all there is of it."""
    return exact(value).removeprefix(APPROXIMATELY)


def grouped(value: Number) -> str:
    """A whole number with a comma every three digits."""
    return f"{int(value):,}"


def tokens(value: int) -> str:
    """A context length the way people say it: 4K, 32K, 128K, else the digits."""
    thousands, rest = divmod(value, 1024)
    return f"{grouped(thousands)}K" if thousands and not rest else grouped(value)


def _is_count(value: Number) -> bool:
    return isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1)


def _scaled(value: Number, scale: Scale) -> str:
    size = abs(Fraction(value))
    if scale.below and _round(size) < 1:
        return _small(Fraction(value), scale)
    step = 0
    # The rounded text decides, so that 999,999 becomes 1.00 M and never 1000 K.
    while step < len(scale.names) - 1 and _round(size / scale.base**step) >= scale.exact_below:
        step += 1
    number = grouped(value) if step == 0 and _is_count(value) else _rounded(Fraction(value) / scale.base**step)
    name = scale.names[step]
    return number + (GAP + name if name else "")


def _small(value: Fraction, scale: Scale) -> str:
    step = 1
    while step < len(scale.below) - 1 and _round(abs(value) * scale.base**step) < 1:
        step += 1
    return _rounded(value * scale.base**step) + GAP + scale.below[step]


def _round(value: Fraction, digits: int = DIGITS) -> Decimal:
    # 50 digits carry any quotient the site meets; the second rounding is the one a reader sees.
    wide = Context(prec=50).divide(Decimal(value.numerator), Decimal(value.denominator))
    return Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(wide)


def _rounded(value: Fraction, digits: int = DIGITS) -> str:
    """Three significant digits, or as many as asked, without an exponent: 8.03, 16.1, 140, 0.977."""
    rounded = _round(value, digits)
    decimals = max(0, digits - 1 - rounded.adjusted())
    return f"{rounded:,.{decimals}f}"
