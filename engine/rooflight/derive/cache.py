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
    return summed(analysis, "cache_per_token", _column(analysis, lambda e: 0 if e.window is not None else e.width))


def cache_constant_bytes(analysis: Analysis) -> Value:
    """Bytes a long sequence holds whatever its length. With bytes per token T: cache = per_token·T + constant."""
    return summed(
        analysis, "cache_constant", _column(analysis, lambda e: 0 if e.window is None else e.width * e.window)
    )


def cache_first_token_bytes(analysis: Analysis) -> Value:
    """Bytes the first token of a sequence adds, before any entry is capped."""
    return summed(analysis, "cache_first", _column(analysis, lambda e: e.width))


def entry_bytes(analysis: Analysis) -> list[Value]:
    """Bytes each node keeps of one sequence at the end of the step, one copy; 0 for most nodes."""
    return _column(analysis, lambda e: e.width * e.positions)


def entry_bytes_per_token(analysis: Analysis) -> list[Value]:
    """Bytes each node keeps of one position, one copy; 0 for most nodes."""
    return _column(analysis, lambda e: e.width)


def _column(analysis: Analysis, elements: Callable[[CacheFact], Value]) -> list[Value]:
    width = analysis.binding["b_kv"]
    return [0 if entry is None else elements(entry) * width for entry in analysis.cache.values]
