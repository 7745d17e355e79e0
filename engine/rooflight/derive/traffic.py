"""Bytes that cross a kernel's boundary in one step, one copy of each node, by what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.derive.storage import copy_bytes
from rooflight.expr import div, power, prod, total

if TYPE_CHECKING:
    from rooflight.analysis import Analysis
    from rooflight.expr import Value


def weight_bytes(analysis: Analysis) -> list[Value]:
    """Weights read, on average over the copies: each stored element once, of a table only the rows asked for.

    Of experts, only those that some token of the step chose are read.
    """
    width = analysis.binding["b_w"]
    shares = read_shares(analysis)
    # Of a table, which is never quantized, the rows asked for; of any other weight all that is stored for it.
    return [
        (elements * width if step.node.op.reads is not None else copy_bytes(analysis, index)) * share
        for index, (step, elements, share) in enumerate(
            zip(analysis.program.steps, analysis.weights_read.values, shares, strict=True)
        )
    ]


def read_shares(analysis: Analysis, repeats: Value = 1) -> list[Value]:
    """Expected share of each node's copies that some token needs: 1 − (1 − active/copies)^tokens.

    Where GPUs repeat the experts, each repetition sees its part of the tokens.
    Tokens choose independently and uniformly. A router that was trained towards balance spreads a batch further, so
    this is a floor on what is read.
    """
    tokens = div(prod((analysis.binding["B"], analysis.binding["s_q"], 1.0)), repeats)
    known: dict[tuple[Value, Value], Value] = {}
    shares: list[Value] = []
    for copies, active in analysis.inner.values:
        if copies is active or (type(copies) is int and copies == active):
            shares.append(1)
            continue
        if (copies, active) not in known:
            known[copies, active] = 1 - power(1 - div(active, copies), tokens)
        shares.append(known[copies, active])
    return shares


def activation_bytes(analysis: Analysis) -> list[Value]:
    """Inputs read and outputs written, cached tensors apart."""
    width = analysis.binding["b_a"]
    return [total((read, written)) * width for _, read, written in analysis.read.join(analysis.written)]


def kv_bytes(analysis: Analysis) -> list[Value]:
    """Cached tensors read, and their new positions written; states read and written whole."""
    width = analysis.binding["b_kv"]
    grown = [total((read, written)) * width for _, read, written in analysis.cache_read.join(analysis.cache_written)]
    return [
        moved if entry is None else total((moved, state * entry.each))
        for moved, state, entry in zip(grown, analysis.state_moved.values, analysis.cache.values, strict=True)
    ]
