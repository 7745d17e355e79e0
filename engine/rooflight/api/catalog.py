"""Every figure that has a name: its key, what it is, its unit, and the function of an Analysis that gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rooflight import derive
from rooflight.derive import summed
from rooflight.expr import div, prod, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rooflight.analysis import Analysis
    from rooflight.expr import Value


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a whole model. `phased` ones differ between prefill and decode."""

    key: str
    label: str
    unit: str
    phased: bool
    of: Callable[[Analysis], Value]


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of one node, all its copies together, and the sum of it over the model."""

    key: str
    label: str
    unit: str
    phased: bool
    each: Callable[[Analysis], Sequence[Value]]  # of one copy, by node


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("params", "Parameters", "parameter", False, lambda a: a.params.values),
        Column("stored_bytes", "Stored weights", "byte", False, derive.stored_bytes),
        Column("matmul_flops", "Matrix FLOPs", "FLOP", True, lambda a: a.matmul.values),
        Column("other_flops", "Other FLOPs", "FLOP", True, lambda a: a.other.values),
        Column("weight_bytes", "Weights read", "byte", True, derive.weight_bytes),
        Column("activation_bytes", "Activations read and written", "byte", True, derive.activation_bytes),
        Column("kv_bytes", "Cache read and written", "byte", True, derive.kv_bytes),
    )
}


def column_total(analysis: Analysis, key: str) -> Value:
    """Return one column summed over the model, layers kept together."""
    return summed(analysis, key, COLUMNS[key].each(analysis))


def flops(analysis: Analysis) -> Value:
    """All floating-point operations of the step."""
    return total((column_total(analysis, "matmul_flops"), column_total(analysis, "other_flops")))


def traffic(analysis: Analysis) -> Value:
    """All bytes that cross a kernel's boundary in the step."""
    return total([column_total(analysis, key) for key in ("weight_bytes", "activation_bytes", "kv_bytes")])


def new_tokens(analysis: Analysis) -> Value:
    """New positions of all sequences of the step."""
    return prod((analysis.binding["B"], analysis.binding["s_q"]))


FIGURES: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        Figure("params.total", "Parameters", "parameter", False, derive.params_total),
        Figure("params.active", "Active parameters", "parameter", False, derive.params_active),
        Figure(
            "params.embedding",
            "Embedding parameters",
            "parameter",
            False,
            lambda a: derive.params_of_role(a, "embedding"),
        ),
        Figure("weights.bytes", "Weights", "byte", False, lambda a: summed(a, "stored_bytes", derive.stored_bytes(a))),
        Figure("cache.bytes", "Cache of one sequence at the context", "byte", False, derive.cache_bytes),
        Figure("cache.bytes_per_token", "Cache per token", "byte/token", False, derive.cache_bytes_per_token),
        Figure(
            "cache.bytes_per_token_decompressed",
            "Cache per token if keys and values were kept as attention reads them",
            "byte/token",
            False,
            derive.cache_bytes_per_token_decompressed,
        ),
        Figure("cache.constant_bytes", "Cache that does not grow", "byte", False, derive.cache_constant_bytes),
        Figure(
            "cache.first_token_bytes", "Cache of the first token", "byte/token", False, derive.cache_first_token_bytes
        ),
        *(
            Figure(column.key, column.label, column.unit, True, lambda a, key=column.key: column_total(a, key))
            for column in COLUMNS.values()
            if column.phased
        ),
        Figure("flops", "FLOPs of the step", "FLOP", True, flops),
        Figure("flops_per_token", "FLOPs per new token", "FLOP", True, lambda a: div(flops(a), new_tokens(a))),
        Figure("bytes", "Bytes moved in the step", "byte", True, traffic),
        Figure("intensity", "Arithmetic intensity", "FLOP/byte", True, lambda a: div(flops(a), traffic(a))),
    )
}
