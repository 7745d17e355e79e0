"""Puts a snapshot together from what files say: config, headers, index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from rooflight.spec import Scheme, described
from rooflight.spec.records import ConfigKeys
from rooflight.truth.json_text import as_object, parse_json
from rooflight.truth.normal_config import normal_config
from rooflight.truth.patterns import collapse
from rooflight.truth.roles import assign_roles, unclaimed_scales
from rooflight.truth.rows import Row
from rooflight.truth.snapshot import Snapshot
from rooflight.truth.totals import kinds_that_make, totals, weakest
from rooflight.values import SpecError

_FIX_INDEX = "fetch the index again; if it stays so, remove it and pass the folder of files"
_FIX_CONFIG = "fetch the file again, it may be truncated"


class Index(NamedTuple):
    """What an index of shards says: which file holds each tensor, and how many bytes they take."""

    files: Mapping[str, str]
    total_size: int | None


class Origin(NamedTuple):
    """Where the facts of a snapshot come from."""

    id: str
    source: str
    revision: str | None
    date: str
    published_total: int | None = None
    published_total_source: str | None = None
    lab: str | None = None
    released: str | None = None


def read_index(raw: bytes, where: str) -> Index:
    """Return a parsed model.safetensors.index.json. SpecError where it is none."""
    data = as_object(parse_json(raw, where, "index-mismatch", _FIX_INDEX), where, "index-mismatch", _FIX_INDEX)
    files = data.get("weight_map")
    if (
        not isinstance(files, dict)
        or not files
        or not all(isinstance(f, str) for f in cast("dict[str, Any]", files).values())
    ):
        raise SpecError(
            "index-mismatch", f"{where} weight_map", "an object: tensor to file", described(files), _FIX_INDEX
        )
    metadata = data.get("metadata")
    total: Any = cast("dict[str, Any]", metadata).get("total_size") if isinstance(metadata, dict) else None
    whole = isinstance(total, int | float) and not isinstance(total, bool) and total == total // 1
    return Index(cast("dict[str, str]", files), int(total) if whole else None)


def assemble(
    origin: Origin,
    config: bytes,
    rows: Sequence[Row],
    index: Index | None,
    keys: ConfigKeys,
    schemes: Mapping[str, Scheme],
) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot, and what a reader of it should look into."""
    if not rows:
        raise SpecError(
            "no-safetensors", origin.id, "safetensors files that hold tensors", "headers without a tensor",
            "pass the files that hold the weights",
        )  # fmt: skip
    where = f"{origin.id}/config.json"
    normal = normal_config(parse_json(config, where, "config-not-json", _FIX_CONFIG), where, keys)
    plain = assign_roles(rows, normal.facts, schemes)
    tensors = collapse(plain, f"{origin.id} tensors")
    counts = kinds_that_make(origin.published_total, tensors) if origin.published_total else None
    warnings = [
        *normal.notes,
        *(f"config key {key[:80]} is left out: no known config spells a key so" for key in normal.left_out),
        *_against_index(rows, index),
        *_against_scales(plain),
    ]
    if origin.published_total and counts is None:
        warnings.append(
            f"the published total, {origin.published_total:,}, is no sum of the kinds of tensors that are stored"
        )
    marked = sorted({row.kind for row in tensors} - {"parameter"})
    notes = list(warnings)
    if marked:
        notes.append(f"told apart by name, dtype and config: {', '.join(marked)}")
    provenance = {
        "id": origin.id,
        "lab": origin.lab,
        "source": origin.source,
        "config_state": "complete",
        "strength": weakest(tensors),
        "revision": origin.revision,
        "date": origin.date,
        "released": origin.released,
        "published_total": origin.published_total,
        "published_total_counts": None if counts is None else list(counts),
        "published_total_source": origin.published_total_source if origin.published_total else None,
        "notes": notes,
    }
    return Snapshot(normal.facts, tensors, provenance), tuple(warnings)


def _against_index(rows: Sequence[Row], index: Index | None) -> list[str]:
    if index is None:
        return []
    found: list[str] = []
    stored = {row.name for row in rows}
    for names, what in ((stored - set(index.files), "not in the index"), (set(index.files) - stored, "in no header")):
        if names:
            found.append(f"{len(names):,} tensors are {what}, such as {min(names)[:120]}")
    payload = totals(rows)["bytes"]
    if index.total_size is not None and index.total_size != payload:
        found.append(f"the index declares total_size {index.total_size:,}; the payload is {payload:,} bytes")
    return found


def _against_scales(rows: Sequence[Row]) -> list[str]:
    names = unclaimed_scales(rows)
    if not names:
        return []
    said = f"{len(names):,} tensors are called like scales and count as parameters, such as {names[0]}"
    return [f"{said}: no scheme of specs/quant answers for them"]
