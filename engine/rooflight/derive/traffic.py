"""Bytes that cross a kernel's boundary in one step, one copy of each node, by what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.expr import total

if TYPE_CHECKING:
    from rooflight.analysis import Analysis
    from rooflight.expr import Value


def weight_bytes(analysis: Analysis) -> list[Value]:
    """Weights read: each stored element once, of a looked-up table only the rows asked for."""
    width = analysis.binding["b_w"]
    return [elements * width for elements in analysis.weights_read.values]


def activation_bytes(analysis: Analysis) -> list[Value]:
    """Inputs read and outputs written, cached tensors apart."""
    width = analysis.binding["b_a"]
    return [total((read, written)) * width for _, read, written in analysis.read.join(analysis.written)]


def kv_bytes(analysis: Analysis) -> list[Value]:
    """Cached tensors read, and their new positions written."""
    width = analysis.binding["b_kv"]
    return [total((read, written)) * width for _, read, written in analysis.cache_read.join(analysis.cache_written)]
