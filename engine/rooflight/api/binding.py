"""What is bound before a walk: a step's sizes, and the model's dims as numbers or as symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rooflight.expr import Space
from rooflight.spec import AS_STORED, Precision, nearest, storage_under
from rooflight.values import SpecError, bytes_per_element
from rooflight.walk import LEGAL_COUNTING, Counting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.expr import Value
    from rooflight.spec import Model

REFERENCE_CONTEXT = 4_096  # tokens; or the model's whole context where that is shorter
MAX_LOAD = 4_096  # one GPU gets the rows of all
_LARGEST = 10**9  # of a batch or a context: beyond any machine, and it keeps every figure exact in a float

# Symbols a step or a precision sets, with their meaning. T and P say in formulas what s_q and s_kv are in specs.
RUN_SYMBOLS: dict[str, str] = {
    "B": "sequences in the step",
    "T": "context: positions each sequence holds when the step is done",
    "P": "positions of each sequence that were cached before the step",
    "s": "new tokens of each sequence in the step",
    "b_w": "bytes per weight element",
    "b_a": "bytes per activation element",
    "b_kv": "bytes per cached element",
    "ep_load_factor": "rows of the busiest expert GPU, over the average",
}


@dataclass(frozen=True, slots=True)
class StepSize:
    """One step. `context` is what each sequence holds at its end, new tokens included.

    prefill processes context − prefix new positions; decode processes new_tokens at the end of the context.
    With drafts, the heads that guess ahead are deployed too. Where experts are spread over GPUs, the busiest gets
    ep_load_factor times the average number of rows.
    """

    phase: str = "prefill"
    batch: int = 1
    context: int = REFERENCE_CONTEXT
    prefix: int = 0
    new_tokens: int = 1
    counting: Counting = field(default_factory=Counting)
    drafts: bool = False
    precision: Precision = AS_STORED
    ep_load_factor: Value = 1

    @property
    def new(self) -> int:
        """New positions of each sequence."""
        return self.context - self.prefix if self.phase == "prefill" else self.new_tokens


def step_size(
    model: Model,
    phase: str = "prefill",
    *,
    batch: int = 1,
    context: int | None = None,
    prefix: int = 0,
    new_tokens: int = 1,
    head: str = "last",
    attention: str = "exact",
    decode: str = "variant",
    drafts: bool = False,
    precision: str | Precision = "factory",
    ep_load_factor: Value = 1,
) -> StepSize:
    """Return a step with defaults filled in. Raises SpecError for sizes no step can have."""
    if phase not in ("prefill", "decode"):
        raise SpecError("unknown-phase", "phase", "prefill or decode", repr(phase), "name one of the two")
    size = min(REFERENCE_CONTEXT, model.max_context) if context is None else context
    for name, value, least in (
        ("batch", batch, 1),
        ("context", size, 1),
        ("prefix", prefix, 0),
        ("new_tokens", new_tokens, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:  # type: ignore[reportUnnecessaryIsInstance]
            raise SpecError(
                "bad-step", name, f"a whole number from {least} to {_LARGEST:,}", repr(value), f"correct {name}"
            )
    if phase == "prefill" and prefix >= size:
        raise SpecError(
            "bad-step", "prefix", f"less than the context of {size:,}", f"{prefix:,}", "leave new positions"
        )
    if phase == "prefill" and new_tokens != 1:
        raise SpecError("bad-step", "new_tokens", "1 in prefill", str(new_tokens), "set context and prefix instead")
    if phase == "decode" and prefix:
        raise SpecError(
            "bad-step", "prefix", "0 in decode", f"{prefix:,}", "decode's context is all cached but the new tokens"
        )
    if phase == "decode" and new_tokens > size:
        raise SpecError(
            "bad-step", "new_tokens", f"at most the context of {size:,}", f"{new_tokens:,}", "raise context"
        )
    for name, word in (("attention", attention), ("head", head), ("decode", decode)):
        if word not in LEGAL_COUNTING[name]:
            raise SpecError("bad-step", name, " or ".join(LEGAL_COUNTING[name]), repr(word), f"correct {name}")
    if not 1 <= ep_load_factor <= MAX_LOAD:
        raise SpecError(
            "bad-step", "ep_load_factor", f"a number from 1 to {MAX_LOAD:,}", str(ep_load_factor), "1 is balanced"
        )
    counting = Counting(attention, head, decode)
    return StepSize(
        phase, batch, size, prefix, new_tokens, counting, drafts, _profile(model, precision), ep_load_factor
    )


def _profile(model: Model, name: str | Precision) -> Precision:
    if isinstance(name, Precision):
        return name
    known = {AS_STORED.name: AS_STORED, **model.library.precisions}
    if name not in known:
        raise SpecError("bad-step", "precision", "one of " + ", ".join(known), repr(name), nearest(name, tuple(known)))
    return known[name]


def widths(model: Model, step: StepSize) -> dict[str, int]:
    """Return bytes per element: of weights in the checkpoint's own dtype, of activations, of cached tensors."""
    stored = storage_under(step.precision, model.storage, model.library.schemes).dtype
    return {
        "b_w": bytes_per_element(stored),
        "b_a": bytes_per_element(step.precision.activations or model.dtype),
        "b_kv": bytes_per_element(step.precision.cache or model.dtype),
    }


def numbers(model: Model, step: StepSize) -> dict[str, Value]:
    """Bind everything to numbers."""
    return {
        **model.dims,
        "B": step.batch,
        "s_q": step.new,
        "s_kv": step.context,
        "s_head": _head(step, step.new),
        "ep_load_factor": step.ep_load_factor,
        **widths(model, step),
    }


def symbols(model: Model, step: StepSize, space: Space | None = None) -> dict[str, Value]:
    """Bind everything to symbols, in the step's own terms: T, P, and the number of new tokens in decode."""
    space = space or Space()
    table = model.library.dims.dims
    bound: dict[str, Value] = {
        name: space.symbol(name, minimum=table[name].minimum if name in table else 0) for name in model.dims
    }
    context = space.symbol("T")
    prefix = space.symbol("P", minimum=0) if step.prefix else 0
    new: Value = context - prefix
    if step.phase == "decode":
        new = 1 if step.new_tokens == 1 else space.symbol("s")
    return {
        **bound,
        "B": space.symbol("B"),
        "s_q": new,
        "s_kv": context,
        "s_head": _head(step, new),
        "b_w": space.symbol("b_w", whole=False),
        "b_a": space.symbol("b_a", whole=False),
        "b_kv": space.symbol("b_kv", whole=False),
        "ep_load_factor": space.symbol("ep_load_factor", whole=False) if step.ep_load_factor != 1 else 1,
    }


def symbol_values(model: Model, step: StepSize) -> Mapping[str, int | float]:
    """Return the number behind every symbol that a formula of this step may hold."""
    run = {
        "B": step.batch,
        "T": step.context,
        "P": step.prefix,
        "s": step.new,
        "ep_load_factor": step.ep_load_factor,
        **widths(model, step),
    }
    return {**{name: _number(value) for name, value in model.dims.items()}, **run}


def _head(step: StepSize, new: Value) -> Value:
    return new if step.phase == "decode" or step.counting.head == "all" else 1


def _number(value: Value) -> int | float:
    return value if isinstance(value, int) else float(value)
