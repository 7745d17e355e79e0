"""A figure that a page may show: what it is, its exact value, its unit and the formula it came from."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure. It has no operators on purpose (a tuple would have some): another number is the engine's to give.

    key      stable and unique in the model, e.g. `params.total` or `decode.matmul_flops/layers.attention.q_proj`
    label    what it is, in a reader's words
    value    exact: an int wherever the quantity is a count, else a Fraction or float
    unit     one of UNITS
    formula  an Expr over the model's symbols, or the bare number where nothing is symbolic
    """

    key: str
    label: str
    value: Any
    unit: str
    formula: Any


UNITS: dict[str, str] = {
    "parameter": "learned elements",
    "element": "tensor elements",
    "byte": "bytes",
    "byte/token": "bytes per token of one sequence",
    "FLOP": "floating-point operations, a multiply-add counting two",
    "FLOP/byte": "arithmetic intensity",
    "token": "tokens",
    "layer": "layers",
    "copy": "copies of the node in the whole model",
    "second": "seconds",
    "token/s": "tokens per second",
    "sequence": "sequences, or prompts",
    "USD": "US dollars",
    "joule": "joules",
    "share": "a part of a whole, 1 being all of it",
    "1": "a pure number",
}
