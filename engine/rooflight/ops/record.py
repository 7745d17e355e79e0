"""An op is a record: how its axes meet, what it stores, what it computes. The table is the whole list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rooflight.dims import Axes, AxesError, DimMap, parse_axes, parse_dim_map
from rooflight.expr import Tree, parse_length


class Weight(NamedTuple):
    """A stored tensor of an op. `switch` names the node's yes/no field that must be on for it to exist."""

    name: str
    axes: Axes
    switch: str | None = None


class Op(NamedTuple):
    """One primitive op.

    Formulas may use the op's axis names, `rows` (the product of the leading axes), its switches (1 or 0) and its
    counts. A multiply-add is two FLOPs. `matmul` is work a matrix unit can do, `other` is everything else.

    dims      axis names the node must give in `dims:`
    switches  yes/no fields a node may set, off by default
    choices   named fields a node may set and their legal words; the first is the default
    counts    names that a rule computes: `pairs`, the (query, key) pairs a mask lets through
    lengths   names whose length, or number, follows from the others
    state     axes of what it carries from step to step, sequences first; None for most ops
    carries   output axis name -> input axis name whose cut it has, where the names differ
    reads     weight elements read in one step; None means each stored element once
    view      moves no bytes and computes nothing: the output is another look at the inputs
    narrows   a view of a part of its input
    repeats   a view that shows the same elements several times
    on_chip   its output stays inside the kernel that consumes it
    whole     axis names that no GPU may hold a part of while the op runs
    additive  linear in its operands taken together: of sums still owed, the sum may be taken after it
    shares    name of which one number per row is summed by the GPUs that hold parts of one
    picks     axis name of the positions picked for each query: of what is cached it reads no others
    rows      what it does with rows of experts, whose layout is the experts' and not the tokens': spread, share, gather
    """

    name: str
    family: str
    summary: str
    map: DimMap
    dims: tuple[str, ...]
    weights: tuple[Weight, ...]
    matmul: Tree
    other: Tree
    reads: Tree | None
    switches: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]]
    counts: tuple[str, ...]
    lengths: Mapping[str, Tree]
    view: bool
    narrows: bool
    repeats: bool
    on_chip: bool
    whole: tuple[str, ...] = ()
    additive: bool = False
    carries: Mapping[str, str] = {}
    rows: str = ""
    shares: str = ""
    state: Axes | None = None
    picks: str = ""
    axes: str = ""  # the line as written, for messages and tables


def op(
    name: str,
    *,
    family: str,
    summary: str,
    axes: str,
    dims: Sequence[str] = (),
    weights: Mapping[str, str] | None = None,
    matmul: str | int = 0,
    other: str | int = 0,
    reads: str | None = None,
    switches: Sequence[str] = (),
    choices: Mapping[str, tuple[str, ...]] | None = None,
    counts: Sequence[str] = (),
    lengths: Mapping[str, str] | None = None,
    view: bool = False,
    narrows: bool = False,
    repeats: bool = False,
    on_chip: bool = False,
    whole: Sequence[str] = (),
    additive: bool = False,
    carries: Mapping[str, str] | None = None,
    rows: str = "",
    shares: str = "",
    state: str | None = None,
    picks: str = "",
) -> Op:
    """Read the strings of one record. A weight `bias?: [out]` exists where the switch `bias` is on.

    Raises AxesError or ExpressionError where a string cannot be read.
    """
    stored: list[Weight] = []
    for key, shape in (weights or {}).items():
        optional = key.endswith("?")
        tensor = key.rstrip("?")
        stored.append(Weight(tensor, _bracketed(shape), tensor if optional else None))
    return Op(
        name=name,
        family=family,
        summary=summary,
        map=parse_dim_map(axes),
        dims=tuple(dims),
        weights=tuple(stored),
        matmul=_formula(matmul),
        other=_formula(other),
        reads=None if reads is None else parse_length(reads),
        switches=tuple(dict.fromkeys((*switches, *(w.switch for w in stored if w.switch)))),
        choices=dict(choices or {}),
        counts=tuple(counts),
        lengths={name: parse_length(text) for name, text in (lengths or {}).items()},
        view=view,
        narrows=narrows,
        repeats=repeats,
        on_chip=on_chip,
        whole=tuple(whole),
        additive=additive or view,
        carries=dict(carries or {}),
        rows=rows,
        shares=shares,
        state=None if state is None else _bracketed(state),
        picks=picks,
        axes=axes,
    )


def _bracketed(shape: str) -> Axes:
    if not (shape.startswith("[") and shape.endswith("]")):
        raise AxesError(f"a weight's axes stand in brackets: {shape!r}")
    return parse_axes(shape[1:-1])


def _formula(text: str | int) -> Tree:
    return parse_length(text)
