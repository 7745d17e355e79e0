"""Reads JSON that others wrote: no key twice, no NaN or infinity, no half characters; a fault is a repair order."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, cast

from rooflight.values import SpecError

_FIX_TWICE = "keep one of the two, or fetch the file again"
_LONGEST = 60  # characters of a list that stands on its key's line
_ROWS = ("tensors", "notes")  # lists that always have one value a line


def parse_json(raw: bytes, where: str, code: str, fix: str) -> Any:
    """Return the parsed text. SpecError with the code where it is not UTF-8 or not JSON."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            key = ascii(next(key for i, key in enumerate(keys) if key in keys[:i]))[1:-1][:80]
            raise SpecError("duplicate-key", f"{where} {key}", "every key once", f"{key} twice", _FIX_TWICE)
        return found

    def no_constant(word: str) -> Any:
        message = f"{word} is not JSON"
        raise ValueError(message)

    def finite(word: str) -> float:
        value = float(word)
        if isinf(value):
            message = f"{word[:40]} is larger than any number of a config"
            raise ValueError(message)
        return value

    try:
        data = json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=unique, parse_constant=no_constant, parse_float=finite
        )
        if b"\\u" in raw:  # only an escape can hold half of a surrogate pair, which no file can be written with
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise SpecError(code, where, "JSON", reason, fix) from None
    return data


def as_object(data: Any, where: str, code: str, fix: str) -> dict[str, Any]:
    """Return parsed JSON that must be an object."""
    if not isinstance(data, dict):
        raise SpecError(code, where, "a JSON object", type(data).__name__, fix)
    return cast("dict[str, Any]", data)


def write_json(data: Any) -> str:
    """Return sorted JSON with one key of the outermost object a line, and long lists one value a line."""
    lines: list[str] = []
    for key in sorted(data):
        value = data[key]
        text = _inline(value)
        if isinstance(value, list) and (len(text) > _LONGEST or key in _ROWS):
            items = [_inline(item) for item in cast("list[Any]", value)]
            text = "[\n" + ",\n".join("  " + item for item in items) + "\n ]"
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _inline(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
