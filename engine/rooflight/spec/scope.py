"""Checks that every name in a model spec's formulas means something where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rooflight.dims import RUN, DimTable
from rooflight.expr import Tree, names
from rooflight.spec.located import Section
from rooflight.spec.reader import nearest
from rooflight.spec.records import Formula, ModelSpec, Use
from rooflight.values import SpecError

LAYER = "i"  # in a schedule's `when`: the layer's number, from 0


def check_model_names(spec: ModelSpec, section: Any, table: DimTable) -> None:
    """Raise SpecError at the first name that nothing gives a meaning."""
    _check_dims(spec, section, table)
    dims = tuple(spec.dims)
    for use in (*spec.blocks.values(), *(stage.use for stage in spec.stages if stage.use is not None)):
        _check_cases(use, dims)
    for stage in spec.stages:
        if stage.schedule is None or stage.repeat is None:
            continue
        _check(stage.repeat, dims, f"{stage.where}.repeat")
        for rule in stage.schedule.rules:
            _check(rule.when, (*dims, LAYER), f"{rule.where}.when")
            _check(rule.count, dims, f"{rule.where}.count")
        key = stage.schedule.list_key
        if key is not None and not key.startswith("config."):
            raise SpecError(
                "bad-expression", f"{stage.schedule.where}.list", "config.KEY", repr(key), f"write config.{key}"
            )
    for buffer in spec.buffers:
        for axis in buffer.shape:
            _check(axis, dims, f"{buffer.where}.shape", config=False)
    _check(spec.max_context, (), _at(section, "max_context", spec.name))
    for group, rules in (("defaults", spec.config.defaults), ("nulls", spec.config.nulls)):
        for key, value in rules.items():
            if isinstance(value, Formula):
                _check(value.tree, (), f"{_at(section['config'][group], key, f'{spec.name}.config.{group}')}")


def _check_cases(use: Use, dims: tuple[str, ...]) -> None:
    for when, case in use.cases:
        _check(when, dims, f"{case.where}.when")
        _check_cases(case, dims)
    for filled in use.slots.values():
        _check_cases(filled, dims)


def _check_dims(spec: ModelSpec, section: Any, table: DimTable) -> None:
    earlier: list[str] = []
    for dim, tree in spec.dims.items():
        where = _at(section["dims"], dim, f"{spec.name}.dims")
        if dim not in table.dims:
            raise SpecError("undeclared-dim", where, "names of dims.yaml", dim, nearest(dim, tuple(table.dims)))
        if table.dims[dim].kind == RUN:
            raise SpecError("run-dim", where, "a dim of the model", f"{dim}, which the step sets", "remove it")
        for used in names(tree):
            if not used.startswith("config.") and used not in earlier:
                fix = f"move {dim} below {used}" if used in spec.dims and used != dim else nearest(used, earlier)
                raise SpecError("undeclared-dim", where, "config.KEY or an earlier dim of the model", used, fix)
        earlier.append(dim)


def _check(tree: Tree | None, known: Iterable[str], where: str, *, config: bool = True) -> None:
    if tree is None:
        return
    legal = tuple(known)
    for name in names(tree):
        if name in legal or (config and name.startswith("config.")):
            continue
        expected = " or ".join(filter(None, ("config.KEY" if config else "", "a dim of the model" if legal else "")))
        raise SpecError("undeclared-dim", where, expected, name, nearest(name, legal))


def _at(section: Section, key: str, path: str) -> str:
    return f"{section.at(key)} {path}.{key}"
