"""Reads a model spec: what it covers, how it reads a config, and its stages from token to logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflight.spec.located import Items, Section
from rooflight.spec.read_component import read_component, read_lengths, read_use
from rooflight.spec.reader import Reader, described, nearest
from rooflight.spec.records import (
    Anchor,
    Buffer,
    ConfigRules,
    Formula,
    ModelSpec,
    Rule,
    Schedule,
    Stage,
    Tie,
    Use,
)
from rooflight.values import BITS, SpecError

PARTS = ("main", "draft")
SOURCES = ("tokens", "positions")  # what a step is given: ids [B, s_q], and the position numbers [s_q]


def read_model(name: str, section: Any, place: str, roles: Mapping[str, str]) -> ModelSpec:
    """Check one model spec for form. Raises SpecError at the first fault."""
    reader = Reader(section, name, place)
    blocks = {key: read_use(sub) for key, sub in reader.entries("blocks", Section(place))}
    stages: list[Stage] = []
    for item in reader.items("model"):
        stages.append(_read_stage(item, blocks, tuple(stage.name for stage in stages)))
    if not stages:
        raise SpecError("empty-graph", reader.where("model"), "at least one stage", "none", "write the model's stages")
    checkpoint = reader.sub("checkpoint")
    modules_reader = checkpoint.sub("modules")
    modules = {path: modules_reader.text(path) for path in modules_reader.names()}
    dtypes_reader = checkpoint.sub("dtypes", Section(place))
    dtypes = {path: dtypes_reader.word(path, tuple(BITS)) for path in dtypes_reader.names()}
    buffers = tuple(_read_buffer(item) for item in checkpoint.items("buffers", Items(place)))
    checkpoint.done()
    spec = ModelSpec(
        name=name,
        doc=reader.text("doc"),
        family=reader.text("family"),
        source=reader.text("source"),
        architectures=reader.words("architectures"),
        model_types=reader.words("model_types", ()),
        config=_read_config_rules(reader.sub("config")),
        dims=read_lengths(reader),
        max_context=reader.length("max_context"),
        blocks=blocks,
        stages=tuple(stages),
        modules=modules,
        dtypes=dtypes,
        buffers=buffers,
        anchors=_read_anchors(reader),
        components={
            key: read_component(key, reader.section["components"][key], sub.where(), roles)
            for key, sub in reader.entries("components", Section(place))
        },
        drafts=reader.words("drafts", ()),
        where=place,
    )
    reader.done()
    return spec


def _read_config_rules(reader: Reader) -> ConfigRules:
    defaults, nulls = _read_defaults(reader, "defaults"), _read_defaults(reader, "nulls")
    wanted = reader.sub("expects", Section(reader.section.at()))
    expects: dict[str, tuple[object, ...]] = {}
    for key in wanted.names():
        value = wanted.any(key)
        expects[key] = tuple(value) if isinstance(value, Items) else (value,)
    ignored = reader.sub("ignores", Section(reader.section.at()))
    ignores = {key: ignored.text(key) for key in ignored.names()}
    alike = reader.words("alike", ())
    reader.done()
    return ConfigRules(defaults, nulls, expects, ignores, alike)


def _read_defaults(reader: Reader, group: str) -> dict[str, object]:
    given = reader.sub(group, Section(reader.section.at()))
    defaults: dict[str, object] = {}
    for key in given.names():
        value = given.any(key)
        if isinstance(value, Section | Items):
            raise SpecError("wrong-type", given.where(key), "a plain value or a formula", described(value), "write one")
        is_formula = isinstance(value, str) and "config." in value
        defaults[key] = Formula(given.parsed(key, value)) if is_formula else value
    return defaults


def _read_stage(reader: Reader, blocks: Mapping[str, Use], before: tuple[str, ...]) -> Stage:
    name = reader.text("name")
    where = reader.where()
    if name in before or name in SOURCES:
        raise SpecError("name-taken", where, "a name no earlier stage has", name, "rename the stage")
    inputs = reader.words("inputs")
    for source in inputs:
        if source not in before and source not in SOURCES:
            known = (*SOURCES, *before)
            raise SpecError(
                "unknown-node", where, "an earlier stage, tokens or positions", source, nearest(source, known)
            )
    part = reader.word("part", PARTS, "main")
    if "repeat" not in reader.section:
        use = read_use(_only(reader, ("use", "cases", "dims", "switches", "slots")))
        ties = (_read_tie(reader.sub("tie")),) if "tie" in reader.section else ()
        return Stage(name, inputs, where, use=use, ties=ties, part=part)
    repeat = reader.length("repeat")
    carries = [key for key, sub in reader.entries("streams") if _carries(sub)]
    if len(carries) != 1:
        raise SpecError(
            "carried-stream",
            reader.where("streams"),
            "exactly one stream that carries: true",
            ", ".join(carries) or "none",
            "mark the trunk, e.g. hidden: { carries: true }",
        )
    if "block" in reader.section:
        block = _block(reader.text("block"), reader.where("block"), blocks)
        schedule = Schedule(None, {}, (Rule(block, None, repeat, where),), where)
    else:
        schedule = _read_schedule(reader.sub("schedule"), blocks)
    first = reader.length("first", 0)
    ties = tuple(_read_tie(item) for item in reader.items("ties", Items(reader.section.at())))
    reader.done()
    return Stage(
        name, inputs, where, repeat=repeat, schedule=schedule, carries=carries[0], ties=ties, part=part, first=first
    )


def _only(reader: Reader, keys: tuple[str, ...]) -> Reader:
    """Return a reader of a few of the keys, marking them as read in the whole."""
    part = Section(reader.section.at())
    for key in (*keys, "name", "inputs", "tie", "part"):
        reader.any(key, None)
        if key in keys and key in reader.section:
            part.put(key, reader.section[key], reader.section.at(key))
    reader.done()
    return Reader(part, reader.path, reader.section.at())


def _carries(reader: Reader) -> bool:
    carries = reader.flag("carries")
    reader.done()
    return carries


def _block(name: str, where: str, blocks: Mapping[str, Use]) -> str:
    if name not in blocks:
        raise SpecError("unknown-block", where, "a block of the model", name, nearest(name, tuple(blocks)))
    return name


def _read_schedule(reader: Reader, blocks: Mapping[str, Use]) -> Schedule:
    list_key = reader.maybe_text("list")
    named = reader.sub("blocks", Section(reader.section.at()))
    values = {value: _block(named.text(value), named.where(value), blocks) for value in named.names()}
    rules: list[Rule] = []
    for item in reader.items("rules", Items(reader.section.at())):
        block = _block(item.text("block"), item.where("block"), blocks)
        when, count, listed = item.condition("when", None), item.maybe_length("count"), item.maybe_text("listed")
        count_when = item.condition("count_when", None)
        rules.append(Rule(block, when, count, item.where(), listed, count_when))
        item.done()
    if not rules and list_key is None:
        raise SpecError("empty-schedule", reader.where(), "a list in the config, or rules", "neither", "write rules")
    reader.done()
    return Schedule(list_key, values, tuple(rules), reader.where())


def _read_tie(reader: Reader) -> Tie:
    when = reader.any("when", default=True)
    if not isinstance(when, bool | str):
        raise SpecError("wrong-type", reader.where("when"), "true, false or config.KEY", described(when), "write one")
    tie = Tie(reader.text("node"), reader.text("to"), when, reader.where())
    reader.done()
    return tie


def _read_anchors(reader: Reader) -> tuple[Anchor, ...]:
    anchors: list[Anchor] = []
    for item in reader.items("anchors", Items(reader.section.at())):
        file = item.maybe_text("file") or reader.text("source")
        anchors.append(Anchor(item.text("what"), file, item.text("quote"), item.where()))
        item.done()
    return tuple(anchors)


def _read_buffer(reader: Reader) -> Buffer:
    shape = tuple(reader.parsed("shape", text) for text in reader.words("shape"))
    dtype = reader.word("dtype", tuple(BITS), "F32")
    buffer = Buffer(reader.text("name"), shape, dtype, reader.where())
    reader.done()
    return buffer
