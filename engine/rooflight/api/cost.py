"""What one step of a model computes and moves, node by node: the answer of `rooflight cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooflight.api.catalog import COLUMNS, FIGURES
from rooflight.api.formula import json_number
from rooflight.api.reading import reading

if TYPE_CHECKING:
    from rooflight.spec import Model, Precision
    from rooflight.walk import Step

TOTALS = ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")


def _formats(step: Step, precision: Precision) -> dict[str, Any]:
    """Say how a linear op's weight is stored and what its matrix product works on; nothing for other ops."""
    stored = step.node.formats.get("weight", ())
    if step.node.op.family != "linear" or not stored:
        return {}
    formats = [one.format for one in stored]
    return {
        "format": " + ".join(dict.fromkeys(one.name for one in formats)),
        "operands": [formats[0].weight, precision.operands or formats[0].activation],
    }


def cost(model: Model, phase: str = "prefill", **knobs: int | str | bool | None) -> dict[str, Any]:
    """Return totals and per-node rows of one step; every figure of a row is of all copies of its node.

    Device-independent: FLOPs, and bytes in the config's dtype. SpecError for a step no model can take.
    """
    read = reading(model, phase, **knobs)
    facts, step = read.numbers, read.step
    columns = {key: COLUMNS[key].each(facts) for key in ("params", *TOTALS)}
    nodes = [
        {
            "id": s.node.id,
            "op": s.node.op.name,
            "role": s.node.role,
            "component": s.node.component,
            "copies": copies,
            **_formats(s, step.precision),
            "shape": [json_number(length) for length in shape],
            **{key: json_number(values[at] * copies) for key, values in columns.items()},
        }
        for at, (s, shape, copies) in enumerate(
            zip(read.program.steps, facts.shape.values, facts.copies.values, strict=True)
        )
    ]
    return {
        "model": model.id,
        "architecture": model.spec.name,
        "phase": step.phase,
        "batch": step.batch,
        "context": step.context,
        "prefix": step.prefix,
        "new_tokens": step.new,
        "counting": step.counting._asdict(),
        "drafts": step.drafts,
        "precision": step.precision.name,
        "beyond_published_context": step.context > model.max_context,
        "warnings": list(model.warnings),
        "dtype": model.dtype,
        "totals": {
            **{key: json_number(FIGURES[key].of(facts)) for key in TOTALS},
            "cache_bytes_per_sequence": json_number(FIGURES["cache.bytes"].of(facts)),
        },
        "nodes": nodes,
    }
