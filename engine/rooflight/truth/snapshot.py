"""A snapshot as records: a checkpoint's config, its tensors and where both come from; to and from the three files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from rooflight.spec import described
from rooflight.truth.json_text import as_object, parse_json, write_json
from rooflight.truth.patterns import expand
from rooflight.truth.rows import KINDS, PARTS, ROLES, STRENGTHS, Row
from rooflight.truth.totals import totals
from rooflight.values import BITS, SpecError, is_day

FILES = ("config.json", "tensors.json", "provenance.json")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}", re.ASCII)
_FIX = "take the snapshot again with `rooflight snapshot`"
_FIX_PROVENANCE = "correct the file, or remove it"
_REQUIRED = ("name", "dtype", "shape", "count", "strength")
_OPTIONAL = ("role", "part", "packing")
_MAX_LENGTH = 2**40
_MAX_RANK = 16
_MAX_PACKING = 64
_MAX_TOTAL = 2**60
CONFIG_STATES = ("complete", "nearly complete", "reconstructed", "partial")


class Snapshot(NamedTuple):
    """What is known of one checkpoint from outside the project."""

    config: Mapping[str, Any]
    tensors: tuple[Row, ...]
    provenance: Mapping[str, Any]


def is_model_id(text: str) -> bool:
    """Say whether a text can be ORG/NAME, and the name of a folder once the slash is two dashes."""
    org = text.partition("/")[0]
    return bool(_ID.fullmatch(text)) and ".." not in text and "--" not in org and not text.startswith(("-", "."))


def folder_name(model_id: str) -> str:
    """Return the folder of a checkpoint's snapshot: `<org>--<name>`."""
    return model_id.replace("/", "--", 1)


def write_snapshot(snapshot: Snapshot) -> dict[str, str]:
    """Return the text of each file."""
    tensors = {"tensors": [_as_json(row) for row in snapshot.tensors], "totals": totals(snapshot.tensors)}
    return {
        "config.json": write_json(snapshot.config),
        "tensors.json": write_json(tensors),
        "provenance.json": write_json(snapshot.provenance),
    }


def read_snapshot(files: Mapping[str, bytes], where: str) -> Snapshot:
    """Return the snapshot that the three files hold. SpecError where they are not what write_snapshot writes."""
    data = {
        name: as_object(
            parse_json(files[name], f"{where}/{name}", "bad-snapshot", _FIX), f"{where}/{name}", "bad-snapshot", _FIX
        )
        for name in FILES
    }
    return Snapshot(
        data["config.json"],
        read_tensors(data["tensors.json"], f"{where}/tensors.json"),
        read_provenance(data["provenance.json"], f"{where}/provenance.json"),
    )


def read_provenance(data: Any, where: str) -> dict[str, Any]:
    """Return a parsed provenance.json; any of its keys may be missing. SpecError where one is not what it claims."""
    facts = as_object(data, where, "bad-snapshot", _FIX_PROVENANCE)
    for key, (expected, holds) in _PROVENANCE.items():
        if facts.get(key) is not None and not holds(facts[key]):
            raise SpecError("bad-snapshot", f"{where} {key}", expected, described(facts[key]), _FIX_PROVENANCE)
    if "notes" in facts and facts["notes"] is None:
        raise SpecError("bad-snapshot", f"{where} notes", _PROVENANCE["notes"][0], "nothing", _FIX_PROVENANCE)
    return facts


def read_tensors(data: Any, where: str) -> tuple[Row, ...]:
    """Return the rows of a parsed tensors.json. SpecError where rows or totals are not what they claim."""
    facts = as_object(data, where, "bad-snapshot", _FIX)
    listed = facts.get("tensors")
    if not isinstance(listed, list) or not listed or set(facts) != {"tensors", "totals"}:
        got = described(listed) if set(facts) == {"tensors", "totals"} else ", ".join(facts)[:80] or "no keys"
        raise SpecError("bad-snapshot", where, "tensors: a list of rows, and totals", got, _FIX)
    rows = tuple(_read_row(row, f"{where} tensors[{i}]") for i, row in enumerate(cast("list[Any]", listed)))
    expand(rows, where)  # each pattern in the one form, and its count right
    added = totals(rows)
    if facts["totals"] != added:
        key = next((key for key in added if _mapping(facts["totals"]).get(key) != added[key]), "another key")
        raise SpecError(
            "bad-snapshot",
            f"{where} totals",
            f"sums over the rows: {key} {added.get(key)}",
            described(_mapping(facts["totals"]).get(key)),
            _FIX,
        )
    return rows


def _read_row(row: Any, where: str) -> Row:
    facts = _mapping(row)
    expected = ", ".join(_REQUIRED) + ", and perhaps " + ", ".join(_OPTIONAL)
    if not set(_REQUIRED) <= set(facts) <= {*_REQUIRED, *_OPTIONAL}:
        raise SpecError("bad-snapshot", where, expected, ", ".join(facts)[:80] or described(row), _FIX)
    name, dtype, shape, count, strength = (facts[key] for key in _REQUIRED)
    role, part, packing = facts.get("role", ""), facts.get("part", ""), facts.get("packing", 1)
    tests = {
        "name": isinstance(name, str),
        "dtype": isinstance(dtype, str) and dtype in BITS,
        "shape": isinstance(shape, list)
        and len(cast("list[Any]", shape)) <= _MAX_RANK
        and all(_is_length(axis) for axis in cast("list[Any]", shape)),
        "count": type(count) is int and count > 0,
        "strength": isinstance(strength, str) and strength in STRENGTHS,
        "role": isinstance(role, str) and role in ("", *ROLES),
        "part": isinstance(part, str) and part in ("", *PARTS),
        "packing": type(packing) is int and 0 < packing <= _MAX_PACKING,
    }
    for key, holds in tests.items():
        if not holds:
            raise SpecError(
                "bad-snapshot", f"{where}.{key}", "a value that schema/tensors.schema.json allows",
                described(facts.get(key)), _FIX,
            )  # fmt: skip
    return Row(name, dtype, tuple(cast("list[int]", shape)), count, strength, role, part, packing)


def _is_length(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MAX_LENGTH


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and is_day(value)


def _all(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(holds(item) for item in cast("list[Any]", value))


# Key of provenance.json -> what it holds where it is not null, in words and as a test.
_PROVENANCE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "id": ("ORG/NAME", lambda value: isinstance(value, str) and is_model_id(value)),
    "lab": ("text", _is_text),
    "source": ("text", _is_text),
    "config_state": ("one of " + ", ".join(CONFIG_STATES), lambda value: value in CONFIG_STATES),
    "strength": ("one of " + ", ".join(STRENGTHS), lambda value: isinstance(value, str) and value in STRENGTHS),
    "revision": ("text", _is_text),
    "date": ("a date, YYYY-MM-DD", _is_date),
    "released": ("a date, YYYY-MM-DD", _is_date),
    "published_total": ("a whole number from 1", lambda value: type(value) is int and 0 < value <= _MAX_TOTAL),
    "published_total_counts": ("a list of " + ", ".join(KINDS), lambda value: _all(value, KINDS.__contains__)),
    "published_total_leaves_out": ("a list of texts", lambda value: _all(value, _is_text)),
    "published_total_source": ("text", _is_text),
    "notes": ("a list of texts", lambda value: _all(value, _is_text)),
}


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_json(row: Row) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": row.name,
        "dtype": row.dtype,
        "shape": list(row.shape),
        "count": row.copies,
        "strength": row.strength,
    }
    if row.role:
        facts["role"] = row.role
    if row.part:
        facts["part"] = row.part
    if row.packing != 1:
        facts["packing"] = row.packing
    return facts
