"""What the guards look at: a bound model, what its checkpoint stores, and the text of its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rooflight.analysis import Analysis, evaluate
from rooflight.derive import TensorRow, buffer_rows, tensor_rows, tied_rows
from rooflight.graph import expand
from rooflight.truth import Row
from rooflight.truth import expand as expand_rows
from rooflight.walk import Program, compile_graph

if TYPE_CHECKING:
    from rooflight.expr import Value
    from rooflight.spec import Model


@dataclass
class Subject:
    """A model under examination. Everything is computed when first asked for, once.

    rows         what the checkpoint holds, as patterns; None where no tensor list is known
    sources      source path -> its text, for those that are at hand
    published    a total that was published, and the kinds of tensors it adds up; None where unknown
    left_out     names of rows that the published total leaves out although it adds up their kind
    binding      the numbers of one prefill step of the reference context
    """

    model: Model
    binding: Mapping[str, Value]
    rows: tuple[Row, ...] | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    published: tuple[int, tuple[str, ...]] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def elements_left_out(self) -> int:
        """Elements of the rows that the published total leaves out."""
        return sum(row.elements for row in self.rows or () if row.name in self.left_out)

    @cached_property
    def stored(self) -> Mapping[str, Row] | None:
        """Full name -> the tensor that the checkpoint holds under it."""
        if self.rows is None:
            return None
        return {row.name: row for row in expand_rows(self.rows, self.model.id)}

    @cached_property
    def programs(self) -> Mapping[str, Program]:
        """The model with its draft heads in both phases."""
        return {phase: compile_graph(expand(self.model, phase, drafts=True)) for phase in ("prefill", "decode")}

    @cached_property
    def facts(self) -> Analysis:
        """The tables of the reference step."""
        return evaluate(self.programs["prefill"], self.binding)

    @cached_property
    def claims(self) -> tuple[TensorRow, ...]:
        """What the spec says the checkpoint holds; two nodes that claim one tensor both stand in it."""
        return tensor_rows(self.model, self.facts)

    @cached_property
    def allowed(self) -> Mapping[str, TensorRow]:
        """Pattern -> what a checkpoint may hold besides: buffers, and tied weights stored a second time."""
        rows = (*buffer_rows(self.model), *tied_rows(self.model, self.facts))
        return {row.name: row for row in rows}

    @cached_property
    def named_claims(self) -> tuple[tuple[TensorRow, tuple[str, ...]], ...]:
        """Every claim with the full names of its tensors."""
        return tuple((row, names_of(row)) for row in self.claims)

    @cached_property
    def named_allowed(self) -> tuple[tuple[TensorRow, tuple[str, ...]], ...]:
        """The same of what may be held besides."""
        return tuple((row, names_of(row)) for row in self.allowed.values())

    def holds(self, row: TensorRow) -> bool:
        """Say whether the checkpoint holds what a row stands for."""
        stored = self.stored or {}
        return all(name in stored for name in names_of(row))


def names_of(row: TensorRow) -> tuple[str, ...]:
    """Return the full name of every tensor a claim stands for."""
    bare = Row(row.name, row.dtype, row.shape, row.copies, "rule")
    return tuple(one.name for one in expand_rows((bare,), row.node or row.name))
