"""Begins a model spec from a config: a copy of the nearest spec, with this config's names and numbers in it.

The copy keeps the nearest spec's own lines, comments among them, so that a reader can compare the two.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.edge.library import specs_folder
from rooflight.edge.yaml_text import read_yaml
from rooflight.expr import evaluate_tree, exact, names
from rooflight.spec import described, find_spec
from rooflight.spec.config import Config, config_amount, config_value, fill_defaults, read_config
from rooflight.spec.read_model import read_model
from rooflight.spec.scope import check_model_names
from rooflight.truth import normal_config
from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.edge.library import Catalog
    from rooflight.expr import Tree
    from rooflight.spec import ModelSpec

_TOP = re.compile(r"([a-z_]+):")
_DIM = re.compile(r"  ([A-Za-z_][A-Za-z0-9_]*): [^#]*")
_READ = re.compile(r"config\.([A-Za-z_][A-Za-z0-9_]*)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_NAMED = ("architectures", "model_type", "dtype")
# What families of configs call the same thing.
_SYNONYMS = (
    ("hidden_size", "n_embd", "d_model", "dim", "model_dim"),
    ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    ("num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    ("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "d_ff"),
    ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "max_sequence_length"),
    ("vocab_size", "n_vocab", "padded_vocab_size"),
    ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    ("num_experts_per_tok", "moe_topk", "moe_top_k", "top_k_experts"),
)


class Begun(NamedTuple):
    """A spec that has been begun: where it goes, its text, and what to do next."""

    path: Path
    text: str
    report: str


def scaffold(data: Any, where: str, catalog: Catalog, out: Path | None) -> Begun:
    """Return a spec for the config, and the report. SpecError where a spec covers the architecture already."""
    library = catalog.library
    facts = normal_config(data, where, library.config_keys).facts
    config = read_config(facts, where, library.config_keys)
    architecture = _uncovered(catalog, config)
    near = nearest_spec(config, architecture, library.models, library.config_keys.ignores)
    source = (catalog.folder / "models" / f"{near.name}.yaml").read_text(encoding="utf-8")
    name = _file_name(config, architecture, near)
    # Specs inside an installed package are no place to write into.
    models = Path() if catalog.folder.parent.name == "_data" else catalog.folder / "models"
    path = out or models / f"{name}.yaml"
    if path.exists():
        raise SpecError(
            "spec-exists", str(path), "no such file yet", "one that is there", "pass another name with --out"
        )
    text, renamed = _renamed(source, near, config)
    spec = _checked(text, near.name, catalog)
    undecided = _undecided(text, spec, config, library.config_keys.ignores)
    text = _rewritten(text, near, spec, config, architecture, undecided, catalog)
    _checked(text, path.stem, catalog)
    return Begun(path, text, _report(path, near, config, renamed, undecided, _command(catalog.folder)))


def nearest_spec(
    config: Config, architecture: str, models: Mapping[str, ModelSpec], ignores: Mapping[str, str]
) -> ModelSpec:
    """Return the spec whose keys and class name are most like a config's.

    A key weighs the more, the fewer specs know it: every config has a hidden_size.
    """
    held = {key for key, value in config.facts.items() if key not in ignores and value is not None}
    known = {spec.name: _bound(spec) - {*_NAMED} for spec in models.values()}
    weights = {key: 1 / sum(key in keys for keys in known.values()) for keys in known.values() for key in keys}
    words = _words(architecture)

    def likeness(spec: ModelSpec) -> float:
        shared = sum(weights[key] for key in held & known[spec.name])
        missed = sum(weights[key] for key in known[spec.name] - held - {*spec.config.ignores, *spec.config.expects}) / 2
        names = max(SequenceMatcher(None, words, _words(name)).ratio() for name in spec.architectures)
        return (shared - missed) / max(1, sum(weights.get(key, 0) for key in held)) + names

    return max(models.values(), key=lambda spec: (likeness(spec), spec.name))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _bound(spec: ModelSpec) -> set[str]:
    """The config keys a spec gives a meaning, as far as its records say."""
    rules = spec.config
    found = {*rules.defaults, *rules.nulls, *rules.expects, *rules.ignores}
    for tree in (*spec.dims.values(), spec.max_context):
        found |= set(_READ.findall(repr(tree)))
    return found


def _uncovered(catalog: Catalog, config: Config) -> str:
    try:
        covered = find_spec(catalog.library, config)
    except SpecError as error:
        if error.code != "no-spec":
            raise
        return config.architectures[0] if config.architectures else config.model_type
    raise SpecError(
        "spec-exists",
        config.where,
        "an architecture that no spec covers yet",
        f"{covered.name} covers it",
        f"look at it with `rooflight show {config.where}`, or change models/{covered.name}.yaml",
    )


def _file_name(config: Config, architecture: str, near: ModelSpec) -> str:
    name = config.model_type or "_".join(_words(architecture))
    name = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "new_model"
    return name if name != near.name else name + "_2"


def _renamed(text: str, near: ModelSpec, config: Config) -> tuple[str, dict[str, str]]:
    """The text with keys that this config spells otherwise, and which those are."""
    renamed: dict[str, str] = {}
    has_default = {**near.config.defaults, **near.config.nulls}
    for key in dict.fromkeys(_READ.findall(text)):
        if key in config.facts or key in has_default:
            continue
        others = next((group for group in _SYNONYMS if key in group), ())
        there = [other for other in others if other in config.facts and f"config.{other}" not in text]
        if len(there) == 1:
            renamed[key] = there[0]
            text = re.sub(rf"\bconfig\.{key}\b", f"config.{there[0]}", text)
    return text, renamed


def _checked(text: str, name: str, catalog: Catalog) -> ModelSpec:
    """Read the text the way the library reads its own files."""
    section = read_yaml(text, f"models/{name}.yaml")
    spec = read_model(name, section, f"models/{name}.yaml", catalog.library.roles)
    check_model_names(spec, section, catalog.library.dims)
    return spec


def _undecided(text: str, spec: ModelSpec, config: Config, ignores: Mapping[str, str]) -> list[str]:
    """One line per key that the spec does not account for, and per value that it was not written for."""
    bound = {*_NAMED, *_bound(spec), *_READ.findall(text), *ignores}
    found = [
        f"{key}: {described(value)}"
        for key, value in sorted(config.facts.items())
        if key not in bound and value is not None
    ]
    for key, legal in spec.config.expects.items():
        value = config.facts.get(key)
        if value is not None and value not in legal:
            found.append(f"{key}: {described(value)}, where config.expects says {' or '.join(map(repr, legal))}")
    return found


def _rewritten(
    text: str,
    near: ModelSpec,
    spec: ModelSpec,
    config: Config,
    architecture: str,
    undecided: list[str],
    catalog: Catalog,
) -> str:
    blocks = _blocks(text)
    blocks["doc"] = [f"doc: Begun from the spec {near.name}. Say here what its layers are made of."]
    module = re.sub(r"[^a-z0-9_]+", "_", (config.model_type or near.name).lower())
    blocks["source"] = [
        "# A guess: name the file whose forward()s you read.",
        f"source: transformers/models/{module}/modeling_{module}.py",
    ]
    blocks["architectures"] = [f"architectures: [{_quoted(architecture)}]"]
    taken = {word for other in catalog.library.models.values() for word in other.model_types}
    free = config.model_type and config.model_type not in taken
    blocks["model_types"] = [f"model_types: [{_quoted(config.model_type)}]" if free else "model_types: []"]
    config_block = blocks.setdefault("config", ["config: {}"])
    if undecided:
        config_block += [
            "# This config also holds what follows. Bind each key in `dims` or a switch, or list it under",
            "# `config.ignores` with the reason why it changes nothing that is counted:",
            *(f"#   {line}" for line in undecided),
        ]
    blocks["dims"] = _with_values(blocks["dims"], spec, config)
    blocks["drafts"] = ["drafts: []"]
    blocks["checkpoint"] = [
        f"# Names as in {near.name}: hold them against a snapshot's tensors.",
        *blocks["checkpoint"],
    ]
    # The nearest spec's anchors quote another file.
    order = [key for key in blocks if key not in ("drafts", "anchors")]
    order.insert(order.index("blocks"), "drafts")
    return "\n".join(line for key in order for line in blocks[key]).rstrip() + "\n"


def _blocks(text: str) -> dict[str, list[str]]:
    """The lines of each key of the outermost mapping; comments before a key stay with it."""
    blocks: dict[str, list[str]] = {}
    waiting: list[str] = []
    key = ""
    for line in text.splitlines():
        match = _TOP.match(line)
        if match:
            key = match[1]
            blocks[key] = [*waiting, line]
            waiting = []
        elif line.startswith("#"):
            waiting.append(line)
        elif key:
            blocks[key] += [*waiting, line]
            waiting = []
    return blocks


def _with_values(lines: list[str], spec: ModelSpec, config: Config) -> list[str]:
    """The lines of dims with what each comes to for this config."""
    values = _dim_values(spec, config)
    return [
        f"{line}  # {values[match[1]]}" if (match := _DIM.fullmatch(line)) and match[1] in values else line
        for line in lines
    ]


def _dim_values(spec: ModelSpec, config: Config) -> dict[str, str]:
    try:
        filled = fill_defaults(config, spec.config)
    except SpecError:
        filled = config  # a default that follows from a key this config lacks
    known: dict[str, Any] = {}
    said: dict[str, str] = {}

    def look_up(name: str, tree: Tree) -> Any:
        if name.startswith("config."):
            return config_amount(filled, name.removeprefix("config."), tree)
        return known[name]

    for name, tree in spec.dims.items():
        try:
            known[name] = exact(evaluate_tree(tree, partial(look_up, tree=tree)))
            said[name] = str(known[name]) + ("" if _says(config, tree) else ", by a default: the config does not say")
        except SpecError as error:
            said[name] = f"the config has {error.got} {error.where.rpartition(' ')[2]}"
        except (KeyError, ZeroDivisionError, ArithmeticError):
            said[name] = "follows from a dim above that is still open"
    return said


def _says(config: Config, tree: Tree) -> bool:
    """Say whether a config itself holds every key a length is read from."""
    try:
        for word in names(tree):
            if word.startswith("config."):
                config_value(config, word.removeprefix("config."))
    except KeyError:
        return False
    return True


def _quoted(word: str) -> str:
    # Short words may be numbers or truths to some YAML reader; JSON's quotes and escapes are YAML's too.
    return word if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{5,}", word) else json.dumps(word)


def _command(folder: Path) -> str:
    """The command as it must be typed to read the same specs."""
    if folder == specs_folder():
        return "rooflight"
    here = Path.cwd()
    return f"rooflight --specs {shlex.quote(str(folder.relative_to(here) if folder.is_relative_to(here) else folder))}"


def _report(
    path: Path, near: ModelSpec, config: Config, renamed: Mapping[str, str], undecided: list[str], command: str
) -> str:
    target = config.where
    lines = [f"{path} is begun from {near.name}, the nearest spec by config keys and class name"]
    if renamed:
        lines.append("keys that this config spells otherwise: " + ", ".join(f"{a} → {b}" for a, b in renamed.items()))
    if undecided:
        lines += ["to decide, bind or ignore:", *(f"  {line}" for line in undecided)]
    lines += [
        "next:",
        f"  read the model's forward()s against models/{near.name}.yaml and change what differs",
        f"  {command} show {target}   for parameters and cache; warnings name keys that are still open",
        f"  {command} snapshot ORG/NAME   for the tensors to hold it against",
        f"  {command} validate ORG/NAME   for what still disagrees",
    ]
    return "\n".join(lines)
