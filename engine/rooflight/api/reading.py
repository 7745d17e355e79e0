"""One model in one step, walked twice: once with numbers, once with symbols. A Quantity pairs what the two say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rooflight.analysis import Analysis, evaluate
from rooflight.api.binding import numbers, step_size, symbols
from rooflight.graph import expand
from rooflight.spec import storage_under
from rooflight.values import Quantity
from rooflight.walk import compile_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.api.binding import StepSize
    from rooflight.expr import Value
    from rooflight.spec import Model
    from rooflight.walk import Program


@dataclass
class Reading:
    """A model and a step. Nothing is computed before it is asked for, and then once."""

    model: Model
    step: StepSize
    compiled: Program | None = field(default=None, repr=False)

    @cached_property
    def program(self) -> Program:
        """The model's structure in this phase."""
        if self.compiled is not None:
            return self.compiled
        counting = self.step.counting
        model, step = self.model, self.step
        graph = expand(
            model,
            step.phase,
            drafts=step.drafts,
            variants=counting.decode == "variant",
            storage=storage_under(step.precision, model.storage, model.library.schemes),
            states=step.precision.states,
        )
        return compile_graph(graph, counting)

    @cached_property
    def numbers(self) -> Analysis:
        """The walk with numbers."""
        return evaluate(self.program, numbers(self.model, self.step))

    @cached_property
    def formulas(self) -> Analysis:
        """The walk with symbols."""
        return evaluate(self.program, symbols(self.model, self.step))

    def quantity(self, key: str, label: str, unit: str, of: Callable[[Analysis], Value]) -> Quantity:
        """Return one figure with its formula: the same function read off both walks."""
        return Quantity(key, label, of(self.numbers), unit, of(self.formulas))

    def at(self, context: int) -> Reading:
        """Return the same model in a step of another context."""
        return Reading(self.model, replace(self.step, context=context), self.program)

    @cached_property
    def with_drafts(self) -> Reading:
        """The same step with draft heads deployed."""
        return self if self.step.drafts else Reading(self.model, replace(self.step, drafts=True))


def reading(model: Model, phase: str = "prefill", **knobs: int | str | bool | None) -> Reading:
    """Return a Reading of a step; knobs as in step_size. Raises SpecError for sizes no step can have."""
    return Reading(model, step_size(model, phase, **knobs))  # type: ignore[reportArgumentType]
