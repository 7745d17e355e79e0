"""Plants faults in specs, configs and snapshots, and says which guards see each: all in memory, specs read once.

A fault is data (faults.yaml). `at` is a path of keys into the located text of a file of specs/, so a change goes where
an author would make the mistake, and everything after that is what `rooflight validate` does.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from rooflight import api
from rooflight.checks import DIAGNOSTICS, GUARDS, Subject, examine
from rooflight.derive import tensor_rows
from rooflight.edge.library import read_json
from rooflight.edge.yaml_text import read_yaml
from rooflight.spec import Items, Section, bind, locate, read_library
from rooflight.spec.library import Sources
from rooflight.truth import Row, read_tensors
from rooflight.values import SpecError

HERE = Path(__file__).parent
SPECS = HERE.parents[1] / "specs"
FOLDERS = {"schemes": "quant", "precisions": "precision"}
READING = "reading"  # a spec that is refused before any guard looks
# A decoder layer as the sources of these specs write it. The texts of the pinned wheels themselves are looked up by
# tests/checks/test_source.py; here the quotes alone count, so that the table is the same without them.
LAYER = """
class DecoderLayer:
    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = residual + attention(hidden_states)
        residual = hidden_states
        hidden_states = residual + ffn(hidden_states)
"""
# Where a layer is one mixer alone.
LAYERS = {
    "nemotron_h": """
class MixerBlock:
    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = residual + mixer(hidden_states)
"""
}


class Fault(NamedTuple):
    """One row of faults.yaml. `caught_by` starts with the guard that must see it; empty where none does."""

    id: str
    model: str
    fault: str
    change: tuple[dict, ...]
    caught_by: tuple[str, ...]
    hints: tuple[str, ...]


class Seen(NamedTuple):
    """What looked at a planted fault and found something: guards that block, and diagnostics."""

    guards: tuple[str, ...]
    hints: tuple[str, ...]
    codes: dict


@cache
def faults():
    """All rows, in the order of the file."""
    rows = yaml.safe_load((HERE / "faults.yaml").read_text(encoding="utf-8"))
    return tuple(
        Fault(
            row["id"],
            row["model"],
            row["fault"],
            tuple(row["change"] if isinstance(row["change"], list) else [row["change"]]),
            _listed(row["caught_by"]),
            _listed(row.get("hints")),
        )
        for row in rows
    )


def _listed(value):
    if value in (None, "none"):
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


@cache
def texts():
    """The located text of every file of specs/, by field of Sources; files of a folder by name."""

    def one(path):
        return read_yaml(path.read_text(encoding="utf-8"), path.relative_to(SPECS.parent).as_posix())

    found = {}
    for field in Sources._fields:
        path = SPECS / f"{field}.yaml"
        folder = SPECS / FOLDERS.get(field, field)
        found[field] = one(path) if path.is_file() else {p.stem: one(p) for p in sorted(folder.glob("*.yaml"))}
    return Sources(**found)


@cache
def library():
    """The specs as they are."""
    return read_library(texts())


@cache
def checkpoint(model):
    """A checkpoint's config, its tensors, its published total and what that leaves out."""
    folder = SPECS / "truth" / model.replace("/", "--")
    facts = read_json(folder / "provenance.json")
    published = None
    if facts.get("published_total") is not None:
        published = facts["published_total"], tuple(facts.get("published_total_counts") or ("parameter",))
    left_out = tuple(facts.get("published_total_leaves_out") or ())
    rows = read_tensors(read_json(folder / "tensors.json"), model)
    return read_json(folder / "config.json"), rows, published, left_out


def changed(data, path, change):
    """A copy of located data in which the value at a path of keys is another, is gone, or is there."""
    key, *rest = path
    made = _copied(data)
    if isinstance(made, Items):
        key = int(key)
    if rest:
        made[key] = changed(data[key], rest, change)
        return made
    if "old" in change:
        held = data[key] if isinstance(data, Items) or key in data else None
        assert _plain(held) == change["old"], f"{path}: {_plain(held)!r} stands there, not {change['old']!r}"
    elif "new" in change:
        assert key not in data, f"{path} is there already: say what it was"
    if "new" not in change:
        del made[key]
        made.places.pop(key) if isinstance(made, Items) else made.places.pop(key, None)
    elif key in data or isinstance(made, Items):
        made[key] = locate(change["new"], data.at(key))
    else:
        made.put(key, locate(change["new"], data.place), data.place)
    return made


def _copied(data):
    made = Section(data.place) if isinstance(data, Section) else Items(data.place)
    made.update(data) if isinstance(made, Section) else made.extend(data)
    made.places = copy(data.places)
    return made


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def keys_of(path):
    """A path as keys: dots part them, brackets hold a key that has dots of its own."""
    found, rest = [], path
    while rest:
        if rest.startswith("["):
            key, _, rest = rest[1:].partition("]")
        else:
            cut = min((at for at in (rest.find("."), rest.find("[")) if at >= 0), default=len(rest))
            key, rest = rest[:cut], rest[cut:]
        found.append(key)
        rest = rest.removeprefix(".")
    return found


def plant(fault):
    """The subject that a fault makes. Raises SpecError where reading or binding refuses it."""
    sources, (config, rows, published, left_out) = texts(), checkpoint(fault.model)
    storage = None
    for change in fault.change:
        place = change["in"]
        if place == "config":
            config = {**config, change["at"]: change["new"]} if "new" in change else _without(config, change)
        elif place == "snapshot":
            rows = _rows(rows, change)
        elif place == "storage.yaml":
            storage = locate(change["new"], "storage.yaml:1")
        else:
            field, _, name = place.partition("/")
            field = next((f for f, folder in FOLDERS.items() if folder == field), field)
            held = getattr(sources, field)
            if "at" not in change:
                new = locate(change["new"], f"specs/{place}.yaml:1")
                sources = sources._replace(**{field: {**held, name: new}})
                continue
            new = changed(held[name] if name else held, keys_of(change["at"]), change)
            sources = sources._replace(**{field: {**held, name: new} if name else new})
    read = library() if sources is texts() else read_library(sources)
    model = bind(read, config, "config.json", fault.model, storage=storage)
    quotes = "\n".join(anchor.quote for spec in library().models.values() for anchor in spec.anchors)
    text = f'r"""\n{quotes}\n"""\n{LAYERS.get(model.spec.name, LAYER)}'
    files = {anchor.file for anchor in model.spec.anchors} | {model.spec.source}
    binding = api.numbers(model, api.step_size(model))
    subject = Subject(model, binding, rows, dict.fromkeys(files, text), published, left_out)
    tensor_rows(model, subject.facts)  # as every command does: a graph that does not hold together is refused here
    _ = subject.programs
    return subject


def _without(config, change):
    assert change["at"] in config, f"{change['at']} is no key of the config"
    return {key: value for key, value in config.items() if key != change["at"]}


def _rows(rows, change):
    """The snapshot's rows with one taken out, put in, or changed in one fact."""
    if "row" in change:
        given = {"strength": "rule", "role": "", "part": "", "packing": 1, **change["row"]}
        return (*rows, Row(**given | {"shape": tuple(given["shape"])}))
    assert any(row.name == change["at"] for row in rows), f"no row {change['at']}"
    if "new" not in change:
        return tuple(row for row in rows if row.name != change["at"])
    given = {key: tuple(value) if key == "shape" else value for key, value in change["new"].items()}
    return tuple(row._replace(**given) if row.name == change["at"] else row for row in rows)


@cache
def seen(fault_id):
    """Which guards and diagnostics find something in a planted fault, each run without the others."""
    fault = next(fault for fault in faults() if fault.id == fault_id)
    try:
        subject = plant(fault)
    except SpecError as error:
        return Seen((READING,), (), {READING: {error.code}})
    return look(subject)


def look(subject):
    """Run every guard and diagnostic by itself."""
    everyone = {*GUARDS, *DIAGNOSTICS}
    codes = {}
    for name in everyone:
        found = {f.code for f in examine(subject, frozenset(everyone - {name})) if f.blocking or name in DIAGNOSTICS}
        if found:
            codes[name] = found
    return Seen(
        tuple(name for name in GUARDS if name in codes), tuple(name for name in DIAGNOSTICS if name in codes), codes
    )
