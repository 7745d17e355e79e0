"""The front door: pure functions from a bound model to plain data, text and records."""

from rooflight.api.binding import REFERENCE_CONTEXT, RUN_SYMBOLS, StepSize, numbers, step_size, symbol_values, symbols
from rooflight.api.check import check
from rooflight.api.choose import chosen, enough, smallest, suited
from rooflight.api.cost import cost
from rooflight.api.estimate import Ask, Estimate
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
from rooflight.api.machines import gpu_facts, gpu_row
from rooflight.api.memory import USABLE, Deployed, deployment, memory, stages
from rooflight.api.per_gpu import GPU_FIGURES, explain_gpu
from rooflight.api.plans import (
    Verdict,
    nearest_plan,
    parse_plan,
    plan_words,
    plans,
    refusals,
    replicated,
)
from rooflight.api.priced import PricedStep
from rooflight.api.priced_figures import PRICED_FIGURES, ROW_FIGURES, Terms
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
from rooflight.api.serving import KernelCard, Serving, StepCard, serving
from rooflight.api.show import model_row, show
from rooflight.api.steps import RESOURCES, Timed, timed
from rooflight.api.sweep import AXES as SWEEP_AXES
from rooflight.api.sweep import COLUMNS as SWEEP_COLUMNS
from rooflight.api.sweep import Request, parse_axis, sweep, whole_number
from rooflight.derive.tensors import TensorRow, buffer_rows, tensor_rows

__all__ = [
    "FORMATS",
    "GPU_FIGURES",
    "PRICED_FIGURES",
    "REFERENCE_CONTEXT",
    "RESOURCES",
    "ROW_FIGURES",
    "RUN_SYMBOLS",
    "SWEEP_AXES",
    "SWEEP_COLUMNS",
    "USABLE",
    "Ask",
    "CacheCard",
    "Checkpoint",
    "ComponentCard",
    "Deployed",
    "Estimate",
    "Facts",
    "Inspection",
    "KernelCard",
    "LayerKind",
    "NodeRow",
    "PhaseFigures",
    "PricedStep",
    "Reading",
    "Request",
    "Serving",
    "StepCard",
    "StepSize",
    "Symbol",
    "TensorRow",
    "Terms",
    "Timed",
    "Verdict",
    "buffer_rows",
    "check",
    "chosen",
    "cost",
    "deployment",
    "enough",
    "explain",
    "explain_gpu",
    "figure_names",
    "formula",
    "gpu_facts",
    "gpu_row",
    "inspect",
    "json_number",
    "memory",
    "model_row",
    "nearest_plan",
    "numbers",
    "parse_axis",
    "parse_key",
    "parse_plan",
    "plan_words",
    "plans",
    "print_graph",
    "quantity",
    "read_quantity",
    "reading",
    "refusals",
    "replicated",
    "serving",
    "shape_words",
    "show",
    "smallest",
    "stages",
    "step_size",
    "suited",
    "sweep",
    "symbol_values",
    "symbols",
    "tensor_rows",
    "timed",
    "whole_number",
]
