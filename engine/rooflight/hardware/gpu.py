"""A GPU as facts, each with its unit and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rooflight.spec import Reader
from rooflight.values import SpecError, is_day

if TYPE_CHECKING:
    from collections.abc import Mapping

# Fact -> the unit its value is written in.
FACTS: dict[str, str] = {
    "memory": "B",
    "memory_bandwidth": "B/s",
    "scale_up_bandwidth": "B/s",  # per direction and GPU, inside a domain
    "scale_up_domain": "GPU",
    "scale_up_latency": "s",
    "scale_out_bandwidth": "B/s",
    "scale_out_latency": "s",
    "tdp": "W",
}


_COUNTED = ("B", "GPU")  # units of which there is no part


class Fact(NamedTuple):
    """One figure of a data sheet. `source` is None where nobody opened one; `copied_from` then says who states it."""

    value: float
    unit: str
    source: str | None
    date: str | None
    copied_from: str | None

    @property
    def origin(self) -> str:
        """Who says so."""
        return self.source or f"{self.copied_from}, copied and not opened"


class Gpu(NamedTuple):
    """One kind of GPU; `matmul` gives dense FLOP/s by operand format."""

    name: str
    facts: Mapping[str, Fact]
    matmul: Mapping[str, Fact]

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory."""
        return int(self.facts["memory"].value)


def read_gpu(section: Any, place: str) -> Gpu:
    """Check one GPU file for form. Raises SpecError at the first fault."""
    reader = Reader(section, "", place)
    name = _printable(reader, "name", reader.text("name"))
    facts = {key: _fact(reader.sub(key), unit) for key, unit in FACTS.items() if key in reader.section}
    for key in FACTS:
        reader.any(key, None)
    if "memory" not in facts:
        raise SpecError(
            "missing-key", reader.where(), "memory: a value in B with its source", "no such key", "add memory"
        )
    matmul: dict[str, Fact] = {}
    if "matmul" in reader.section:
        rates = reader.sub("matmul")
        matmul = {form: _fact(rates.sub(form), "FLOP/s") for form in rates.names()}
    else:
        reader.any("matmul", None)
    reader.done()
    return Gpu(name, facts, matmul)


def _fact(reader: Reader, unit: str) -> Fact:
    value = reader.any("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e21:  # noqa: PLR2004
        raise SpecError(
            "wrong-type", reader.where("value"), f"a number of {unit} from 0", repr(value), "correct the value"
        )
    if unit in _COUNTED and (value < 1 or value != int(value)):
        expected = f"a whole number of {unit} from 1"
        raise SpecError("wrong-type", reader.where("value"), expected, repr(value), "correct the value")
    written = reader.text("unit")
    if written != unit:
        raise SpecError(
            "unknown-word", reader.where("unit"), unit, written, f"convert the value to {unit} (1 GiB is 1073741824 B)"
        )
    fact = Fact(
        value,
        written,
        _printable(reader, "source", reader.maybe_text("source")),
        _dated(reader, "date", reader.maybe_text("date")),
        _printable(reader, "copied_from", reader.maybe_text("copied_from")),
    )
    if fact.source is None and fact.copied_from is None:
        raise SpecError(
            "unsourced",
            reader.where(),
            "source, or copied_from where nobody opened one",
            "neither",
            "say where it is from",
        )
    reader.done()
    return fact


_T = TypeVar("_T", str, str | None)


def _printable(reader: Reader, key: str, text: _T) -> _T:
    """Return a text that says something on one line, or nothing where the key is absent."""
    if text is not None and not (text.strip() and text.isprintable()):
        raise SpecError("wrong-type", reader.where(key), "printable text on one line", repr(text)[:80], f"write {key}")
    return text


def _dated(reader: Reader, key: str, text: str | None) -> str | None:
    if text is not None and not is_day(text):
        raise SpecError(
            "wrong-type", reader.where(key), "a date, YYYY-MM-DD", repr(text)[:80], "write the day it was read"
        )
    return text
