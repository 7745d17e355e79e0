"""A snapshot as records: a checkpoint's config, its tensors and where both come from; to and from the three files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from rooflight.spec import described
from rooflight.truth.json_text import as_object, parse_json, write_json
from rooflight.truth.patterns import expand
from rooflight.truth.rows import PARTS, ROLES, STRENGTHS, Row
from rooflight.truth.totals import totals
from rooflight.values import BITS, SpecError

FILES = ("config.json", "tensors.json", "provenance.json")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}", re.ASCII)
_FIX = "take the snapshot again with `rooflight snapshot`"
_REQUIRED = ("name", "dtype", "shape", "count", "strength")
_OPTIONAL = ("role", "part", "packing")


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
        data["config.json"], read_tensors(data["tensors.json"], f"{where}/tensors.json"), data["provenance.json"]
    )


def read_tensors(data: Mapping[str, Any], where: str) -> tuple[Row, ...]:
    """Return the rows of a parsed tensors.json. SpecError where rows or totals are not what they claim."""
    listed = data.get("tensors")
    if not isinstance(listed, list) or not listed or set(data) != {"tensors", "totals"}:
        raise SpecError("bad-snapshot", where, "tensors: a list of rows, and totals", ", ".join(data)[:80], _FIX)
    rows = tuple(_read_row(row, f"{where} tensors[{i}]") for i, row in enumerate(cast("list[Any]", listed)))
    expand(rows, where)  # each pattern in the one form, and its count right
    added = totals(rows)
    if data["totals"] != added:
        key = next((key for key in added if _mapping(data["totals"]).get(key) != added[key]), "another key")
        raise SpecError(
            "bad-snapshot",
            f"{where} totals",
            f"sums over the rows: {key} {added.get(key)}",
            described(_mapping(data["totals"]).get(key)),
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
        "shape": isinstance(shape, list) and all(_is_length(axis) for axis in cast("list[Any]", shape)),
        "count": type(count) is int and count > 0,
        "strength": isinstance(strength, str) and strength in STRENGTHS,
        "role": role in ("", *ROLES),
        "part": part in ("", *PARTS),
        "packing": type(packing) is int and packing > 0,
    }
    for key, holds in tests.items():
        if not holds:
            raise SpecError(
                "bad-snapshot", f"{where}.{key}", "a value that schema/tensors.schema.json allows",
                described(facts.get(key)), _FIX,
            )  # fmt: skip
    return Row(name, dtype, tuple(cast("list[int]", shape)), count, strength, role, part, packing)


def _is_length(value: Any) -> bool:
    return type(value) is int and value >= 0


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
