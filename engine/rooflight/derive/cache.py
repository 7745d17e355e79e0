"""What a sequence leaves behind between steps, by each entry's own growth law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.derive.totals import summed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.analysis import Analysis
    from rooflight.analysis.analysis import CacheFact
    from rooflight.expr import Value


def cache_bytes(analysis: Analysis) -> Value:
    """Bytes one sequence holds at the end of the step, in all layers."""
    return summed(analysis, "cache", entry_bytes(analysis))


def cache_bytes_per_token(analysis: Analysis) -> Value:
    """Bytes one more token adds to a long sequence: entries that have reached their cap add nothing."""
    return summed(analysis, "cache_per_token", _column(analysis, lambda e: e.width if e.growth == "per_token" else 0))


def cache_constant_bytes(analysis: Analysis) -> Value:
    """Bytes a long sequence holds whatever its length. With bytes per token T: cache = per_token·T + constant."""
    return summed(analysis, "cache_constant", entry_constant_bytes(analysis))


def cache_first_token_bytes(analysis: Analysis) -> Value:
    """Bytes the first token of a sequence adds, before any entry is capped; states come with it, whole."""
    return summed(analysis, "cache_first", _column(analysis, lambda e: e.width))


def cache_bytes_per_token_decompressed(analysis: Analysis) -> Value:
    """Bytes one more token would add if the keys and values that attention reads were kept as they are.

    Equal to cache_bytes_per_token where no key or value is rebuilt from something smaller. Entries that have reached
    their cap add nothing, as there.
    """
    width = analysis.binding["b_kv"]
    masks = _masks(analysis)
    column = [
        0 if masks[index] == "sliding" else elements * width for index, elements in enumerate(analysis.attended.values)
    ]
    return summed(analysis, "cache_decompressed", column)


def _masks(analysis: Analysis) -> list[str]:
    """The mask of each attention node, also of those behind the scores."""
    masks: list[str] = []
    for step in analysis.program.steps:
        own = step.node.choices.get("mask")
        first = step.node.inputs[0] if step.node.inputs else -1
        masks.append(own or (masks[first] if first >= 0 else ""))
    return masks


def entry_bytes(analysis: Analysis) -> list[Value]:
    """Bytes each node keeps of one sequence at the end of the step, one copy; 0 for most nodes."""
    return _column(analysis, lambda e: e.width * e.positions)


def entry_bytes_per_token(analysis: Analysis) -> list[Value]:
    """Bytes each node keeps of one position, one copy; 0 for most nodes, and for states."""
    return _column(analysis, lambda e: 0 if e.growth == "constant" else e.width)


def entry_constant_bytes(analysis: Analysis) -> list[Value]:
    """Bytes each node keeps of a long sequence whatever its length, one copy: full windows and states."""
    return _column(analysis, _constant)


def _constant(entry: CacheFact) -> Value:
    if entry.growth == "constant":
        return entry.width
    return 0 if entry.window is None else entry.width * entry.window


def _column(analysis: Analysis, elements: Callable[[CacheFact], Value]) -> list[Value]:
    return [0 if entry is None else elements(entry) * entry.each for entry in analysis.cache.values]
