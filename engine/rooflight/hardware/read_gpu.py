"""Reads a GPU file: facts in one unit each, every one with who says so."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

from rooflight.hardware.gpu import FACTS, STATUSES, TOPOLOGIES, Fact, Gpu, Slice, Stated
from rooflight.spec import Items, Reader
from rooflight.values import BITS, PACKED_BITS, SpecError, is_day

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNTED = ("B", "GPU")  # units of which there is no part
_GIB: dict[str, str] = dict.fromkeys(("B", "B/s"), " (1 GiB is 1073741824 B)")
_PRICE = "USD/GPU-hour"
_MOST = {"s": 1.0}  # of a latency; any other figure is below 1e21
_LEAST = {"s": 0.0}  # of a latency; a rate of less than one per second is a slip
_MAX_SLICES = 256
_MAX_DOMAIN = 1 << 16
_DIGITS = 5


def read_gpu(section: Any, place: str, name: str = "") -> Gpu:
    """Check one GPU file for form; `name` is its id. Raises SpecError at the first fault."""
    reader = Reader(section, "", place)
    shown = _printable(reader, "name", reader.text("name"))
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
        known = (*BITS, *PACKED_BITS)
        for form in rates.names():
            if form not in known:
                raise SpecError("unknown-word", rates.where(form), "one of " + ", ".join(known), form, "use a format")
        matmul = {form: _fact(rates.sub(form), "FLOP/s") for form in rates.names()}
    else:
        reader.any("matmul", None)
    topology, topology_from = _topology(reader)
    slices, slices_from = _slices(reader, topology)
    _hold(reader, slices, facts)
    found = Gpu(
        shown,
        facts,
        matmul,
        name,
        _printable(reader, "maker", reader.maybe_text("maker")) or "",
        reader.word("status", STATUSES, "shipping"),
        topology,
        topology_from,
        slices,
        slices_from,
        tuple(reader.words("notes", ())),
    )
    for note in found.notes:
        if not (note.strip() and note.isprintable()):
            raise SpecError(
                "wrong-type", reader.where("notes"), "printable text on one line", repr(note)[:80], "write the note"
            )
    reader.done()
    return found


def read_prices(section: Any, place: str) -> Mapping[str, Fact]:
    """Read what a GPU-hour costs, by GPU id. Raises SpecError at the first fault."""
    reader = Reader(section, "", place)
    currency = reader.word("currency", ("USD",))
    rows = reader.sub("prices")
    found = {name: _fact(rows.sub(name), f"{currency}/GPU-hour") for name in rows.names()}
    reader.done()
    return found


def _topology(reader: Reader) -> tuple[str, Stated | None]:
    if "topology" not in reader.section:
        reader.any("topology", None)
        return "switch", None
    part = reader.sub("topology")
    word = part.word("value", tuple(TOPOLOGIES))
    stated = _stated(part)
    part.done()
    return word, stated


def _slices(reader: Reader, topology: str) -> tuple[tuple[Slice, ...], Stated | None]:
    if "slices" not in reader.section:
        reader.any("slices", None)
        if topology in ("ring", "torus"):
            raise SpecError(
                "missing-key",
                reader.where(),
                f"slices: the shapes of the {topology}, and which axes wrap",
                "no such key",
                "add slices",
            )
        return (), None
    part = reader.sub("slices")
    if topology not in ("ring", "torus"):
        raise SpecError(
            "unknown-key", reader.where("slices"), "slices of a ring or torus only", topology, "remove slices"
        )
    shapes = part.sub("value")
    names = shapes.names()
    if not 1 <= len(names) <= _MAX_SLICES:
        raise SpecError(
            "wrong-type", part.where("value"), f"1 to {_MAX_SLICES} shapes", str(len(names)), "list the shapes"
        )
    found = tuple(_slice(shapes, name, topology) for name in names)
    stated = _stated(part)
    part.done()
    return tuple(sorted(found, key=lambda one: (prod(one.shape), max(one.shape), one.shape))), stated


def _hold(reader: Reader, slices: tuple[Slice, ...], facts: Mapping[str, Fact]) -> None:
    """Refuse a shape that no domain holds."""
    for one in slices:
        domain = int(facts["scale_up_domain"].value) if "scale_up_domain" in facts else 1
        if prod(one.shape) > domain:
            shape = "x".join(map(str, one.shape))
            raise SpecError(
                "wrong-type",
                reader.where("slices"),
                f"shapes of at most scale_up_domain = {domain} GPUs",
                shape,
                "remove the shape, or correct scale_up_domain",
            )


def _slice(shapes: Reader, name: str, topology: str) -> Slice:
    parts = name.split("x")
    good = all(part.isascii() and part.isdigit() and part[0] != "0" and len(part) <= _DIGITS for part in parts)
    if not good or (topology == "ring" and len(parts) > 1):
        asked = "GPUs along the ring, as in 12" if topology == "ring" else "GPUs along each axis, as in 4x4x8"
        raise SpecError("wrong-type", shapes.where(name), asked, repr(name)[:80], "write the shape")
    shape = tuple(int(part) for part in parts)
    if prod(shape) > _MAX_DOMAIN:
        raise SpecError("wrong-type", shapes.where(name), f"at most {_MAX_DOMAIN} GPUs", name, "correct the shape")
    said = shapes.any(name)
    if said in ("all", "none"):
        return Slice(shape, (said == "all",) * len(shape))
    if isinstance(said, Items) and len(said) == len(shape) and all(isinstance(one, bool) for one in said):
        return Slice(shape, tuple(said))
    raise SpecError(
        "wrong-type",
        shapes.where(name),
        f"all, none, or {len(shape)} times true or false: which axes wrap around",
        repr(said)[:80],
        "say which axes wrap",
    )


def _fact(reader: Reader, unit: str) -> Fact:
    value = reader.any("value")
    least, most = _LEAST.get(unit, 1.0 if unit != _PRICE else 0.0), _MOST.get(unit, 1e21)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most or (unit in _COUNTED and value != int(value)):
        kind = "a whole number" if unit in _COUNTED else "a number"
        fix = "correct the value, or leave out what is not known"
        expected = f"{kind} of {unit} from {least:g} to {most:g}"
        raise SpecError("wrong-type", reader.where("value"), expected, repr(value)[:80], fix)
    written = reader.text("unit")
    if written != unit:
        raise SpecError(
            "unknown-word", reader.where("unit"), unit, written, f"convert the value to {unit}" + _GIB.get(unit, "")
        )
    stated = _stated(reader)
    reader.done()
    return Fact(value, written, *stated)


def _stated(reader: Reader) -> Stated:
    found = Stated(
        _printable(reader, "source", reader.maybe_text("source")),
        _dated(reader, "date", reader.maybe_text("date")),
        _printable(reader, "copied_from", reader.maybe_text("copied_from")),
        _printable(reader, "note", reader.maybe_text("note")),
    )
    if found.source is None and found.copied_from is None:
        raise SpecError(
            "unsourced",
            reader.where(),
            "source, or copied_from where nobody opened one",
            "neither",
            "say where it is from",
        )
    return found


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
