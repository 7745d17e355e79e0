"""The dimension table: every name a spec may use as a length, said once, with the rules that tie names together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rooflight.expr import Tree


class Dim(NamedTuple):
    """A length or a count. `kind` is a key of the table's kinds; a `run` dim is set by the step, not by the model."""

    name: str
    kind: str
    meaning: str
    minimum: int
    maximum: int
    shard: str | None = None  # key of SHARDS: what may cut it


class Constraint(NamedTuple):
    """A rule between dims that holds in any model that binds them all."""

    text: str
    tree: Tree
    why: str
    where: str


class DimTable(NamedTuple):
    """All dims by name, what the kinds mean, and the constraints."""

    kinds: Mapping[str, str]
    dims: Mapping[str, Dim]
    constraints: tuple[Constraint, ...]

    @property
    def shards(self) -> dict[str, str]:
        """What may cut the dims that anything may cut."""
        return {name: dim.shard for name, dim in self.dims.items() if dim.shard is not None}


# What may cut a dim: groups of heads, widths inside a feed-forward network, rows of the vocabulary.
SHARDS = ("heads", "width", "vocabulary")

RUN = "run"  # the kind of a dim that the step sets
