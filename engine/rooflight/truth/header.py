"""Reads the header of a safetensors file: an eight-byte length, then JSON that says where each tensor lies."""

from __future__ import annotations

import re
from itertools import pairwise
from math import prod
from typing import Any, cast

from rooflight.spec import described, nearest
from rooflight.truth.json_text import as_object, parse_json
from rooflight.truth.patterns import split_name
from rooflight.truth.rows import MAX_TENSORS, Row
from rooflight.values import BITS, SpecError

PREFIX = 8  # bytes that hold the header's length, little-endian
MAX_HEADER = 100_000_000  # what the format allows
_MAX_RANK = 16
_MAX_LENGTH = 2**40
_KEYS = ("dtype", "shape", "data_offsets")
_AGAIN = "fetch the file again; if it stays so, the file is damaged"
_METADATA = "__metadata__"
_SHARD = re.compile(r"(.*)-([0-9]{5})-of-([0-9]{5})\.safetensors", re.ASCII)


def header_length(prefix: bytes, file_bytes: int | None, where: str) -> int:
    """Return how many bytes of JSON follow the prefix. SpecError where no safetensors file can begin so."""
    if len(prefix) < PREFIX:
        raise SpecError("header-size", where, f"{PREFIX} bytes of length", f"{len(prefix)} bytes", _AGAIN)
    length = int.from_bytes(prefix[:PREFIX], "little")
    most = MAX_HEADER if file_bytes is None else min(MAX_HEADER, file_bytes - PREFIX)
    if not 2 <= length <= most:  # noqa: PLR2004 - {} is the shortest header
        raise SpecError(
            "header-size",
            where,
            f"a header of 2 to {max(most, 0):,} bytes",
            f"{length:,}",
            "pass a safetensors file; this one is damaged, or of another format",
        )
    return length


def read_header(text: bytes, data_bytes: int | None, where: str, strength: str) -> tuple[Row, ...]:
    """Return one row per tensor, in the order of their bytes.

    SpecError where the header is no header: unknown dtypes, shapes that do not fill their bytes, gaps, overlaps.
    data_bytes is how many bytes follow the header in the file, None where unknown.
    """
    if text[:1] != b"{":
        raise SpecError("header-json", where, "a header that begins with {", repr(text[:8]), _AGAIN)
    header = as_object(parse_json(text, where, "header-json", _AGAIN), where, "header-json", _AGAIN)
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict):
        raise SpecError("header-entry", f"{where} {_METADATA}", "an object", described(metadata), _AGAIN)
    if len(header) > MAX_TENSORS:
        raise SpecError(
            "too-many-tensors", where, f"at most {MAX_TENSORS:,} tensors", f"{len(header):,}", "pass one checkpoint"
        )
    found = sorted(
        (_read_entry(name, entry, where, strength) for name, entry in header.items()),
        key=lambda held: (held[0], held[1], held[2].name),
    )
    _check_offsets(found, data_bytes, where)
    return tuple(row for _, _, row in found)


def _read_entry(name: str, entry: Any, where: str, strength: str) -> tuple[int, int, Row]:
    split_name(name, where)
    place = f"{where} {name}"
    if not isinstance(entry, dict) or set(cast("dict[str, Any]", entry)) != set(_KEYS):
        keys = ", ".join(cast("dict[str, Any]", entry)) if isinstance(entry, dict) else described(entry)
        raise SpecError("header-entry", place, "an object of " + ", ".join(_KEYS), keys[:80] or "no keys", _AGAIN)
    facts = cast("dict[str, Any]", entry)
    dtype, shape, offsets = (facts[key] for key in _KEYS)
    if not isinstance(dtype, str) or dtype not in BITS:
        raise SpecError(
            "header-entry",
            f"{place}.dtype",
            "one of " + ", ".join(BITS),
            described(dtype),
            nearest(str(dtype), tuple(BITS), "add the dtype to rooflight.values if the format gained it"),
        )
    if not _lengths(shape, _MAX_RANK):
        raise SpecError("header-entry", f"{place}.shape", "a list of whole numbers from 0", described(shape), _AGAIN)
    if not _lengths(offsets, 2) or len(offsets) != 2 or offsets[0] > offsets[1]:  # noqa: PLR2004 - begin and end
        raise SpecError("header-entry", f"{place}.data_offsets", "[begin, end]", described(offsets), _AGAIN)
    begin, end = offsets
    bits = prod(shape) * BITS[dtype]
    if bits != 8 * (end - begin):
        raise SpecError(
            "header-offsets",
            f"{place}.data_offsets",
            f"{bits / 8:,.10g} bytes: {' × '.join(map(str, shape)) or 'one element'} of {dtype}",
            f"{end - begin:,} bytes",
            _AGAIN,
        )
    return begin, end, Row(name, dtype, tuple(shape), 1, strength)


def _lengths(value: Any, most: int) -> bool:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > most:
        return False
    return all(type(item) is int and 0 <= item <= _MAX_LENGTH for item in cast("list[Any]", value))


def _check_offsets(found: list[tuple[int, int, Row]], data_bytes: int | None, where: str) -> None:
    """The format allows neither gaps nor overlaps: what no tensor owns could hide anything."""
    if found and found[0][0] != 0:
        raise SpecError("header-offsets", f"{where} {found[0][2].name}", "tensors from byte 0 on", f"from {found[0][0]:,}", _AGAIN)  # fmt: skip  # noqa: E501
    for (_, end, before), (begin, _, after) in pairwise(found):
        if begin != end:
            kind = "a gap" if begin > end else "an overlap"
            raise SpecError(
                "header-offsets",
                f"{where} {after.name}",
                f"from byte {end:,} on, where {before.name} ends",
                f"from {begin:,} on, {kind}",
                _AGAIN,
            )
    end = found[-1][1] if found else 0
    if data_bytes is not None and end != data_bytes:
        raise SpecError(
            "header-offsets",
            where,
            f"tensors that fill the {data_bytes:,} bytes behind the header",
            f"they end at {end:,}",
            _AGAIN,
        )


def choose_files(names: tuple[str, ...], where: str, index_names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return which safetensors files of a folder are the checkpoint, sorted.

    What the index lists; else model.safetensors; else the only one; else one complete set of numbered shards.
    SpecError where there are none, several that could be meant, or only part of a set of shards.
    """
    weights = sorted(name for name in names if name.endswith(".safetensors") and "/" not in name)
    if index_names is not None:
        missing = sorted(set(index_names) - set(names))
        if missing:
            raise SpecError(
                "index-mismatch", where, "every file that the index lists", f"no {missing[0][:120]}",
                "download the whole checkpoint, or fix the index",
            )  # fmt: skip
        return tuple(sorted(index_names))
    if "model.safetensors" in weights:
        return ("model.safetensors",)
    if len(weights) == 1 and not _SHARD.fullmatch(weights[0]):
        return tuple(weights)
    sets: dict[tuple[str, int], set[int]] = {}
    for name in weights:
        match = _SHARD.fullmatch(name)
        if match:
            sets.setdefault((match[1], int(match[3])), set()).add(int(match[2]))
    complete = [(stem, last) for (stem, last), held in sets.items() if held == set(range(1, last + 1))]
    if len(complete) == 1:
        stem, last = complete[0]
        return tuple(f"{stem}-{number:05d}-of-{last:05d}.safetensors" for number in range(1, last + 1))
    if weights:
        raise SpecError(
            "several-checkpoints",
            where,
            "model.safetensors, one safetensors file, an index, or one complete set of shards",
            ", ".join(weights[:4]) + (f" and {len(weights) - 4} more" if len(weights) > 4 else ""),  # noqa: PLR2004
            "download the whole checkpoint, pass the file that is meant, or add the index",
        )
    others = sorted(name for name in names if name.endswith((".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack")))
    raise SpecError(
        "no-safetensors",
        where,
        "weights as safetensors, whose headers can be read alone",
        f"only {others[0][:80]}" if others else "no weights",
        "take a repository or revision with safetensors files, or convert the checkpoint",
    )
