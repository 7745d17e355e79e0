"""The front door: pure functions from a bound model to plain data, text and records."""

from rooflight.api.binding import REFERENCE_CONTEXT, RUN_SYMBOLS, StepSize, numbers, step_size, symbol_values, symbols
from rooflight.api.check import check
from rooflight.api.cost import cost
from rooflight.api.formula import (
    FORMATS,
    explain,
    figure_names,
    formula,
    json_number,
    parse_key,
    quantity,
    read_quantity,
)
from rooflight.api.inspect import inspect, shape_words
from rooflight.api.memory import USABLE, Deployed, busiest, deployment, kernels, memory, stages
from rooflight.api.per_gpu import GPU_FIGURES, explain_gpu
from rooflight.api.plans import Verdict, nearest_plan, parse_plan, plan_words, plans, refusals
from rooflight.api.print_graph import print_graph
from rooflight.api.reading import Reading, reading
from rooflight.api.records import (
    CacheCard,
    Checkpoint,
    ComponentCard,
    Facts,
    Inspection,
    LayerKind,
    NodeRow,
    PhaseFigures,
    Symbol,
)
from rooflight.api.show import model_row, show
from rooflight.derive.tensors import TensorRow, buffer_rows, tensor_rows

__all__ = [
    "FORMATS",
    "GPU_FIGURES",
    "REFERENCE_CONTEXT",
    "RUN_SYMBOLS",
    "USABLE",
    "CacheCard",
    "Checkpoint",
    "ComponentCard",
    "Deployed",
    "Facts",
    "Inspection",
    "LayerKind",
    "NodeRow",
    "PhaseFigures",
    "Reading",
    "StepSize",
    "Symbol",
    "TensorRow",
    "Verdict",
    "buffer_rows",
    "busiest",
    "check",
    "cost",
    "deployment",
    "explain",
    "explain_gpu",
    "figure_names",
    "formula",
    "inspect",
    "json_number",
    "kernels",
    "memory",
    "model_row",
    "nearest_plan",
    "numbers",
    "parse_key",
    "parse_plan",
    "plan_words",
    "plans",
    "print_graph",
    "quantity",
    "read_quantity",
    "reading",
    "refusals",
    "shape_words",
    "show",
    "stages",
    "step_size",
    "symbol_values",
    "symbols",
    "tensor_rows",
]
