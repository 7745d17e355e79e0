"""Binds a model spec to a config: the structure it calls for, and the value of every dim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, cast

from rooflight.expr import Tree, evaluate_tree, exact, names, print_tree
from rooflight.spec.config import (
    Config,
    config_amount,
    config_length,
    config_number,
    config_switch,
    config_value,
    fill_defaults,
    read_config,
    stored_dtype,
)
from rooflight.spec.reader import closest, described
from rooflight.spec.records import ComponentSpec, Formula, Library, ModelSpec, Rule, Schedule, Switch, Use
from rooflight.spec.storage import Storage, read_storage
from rooflight.values import SpecError

_MAX_LAYERS = 4_096
_LARGEST = 2**40  # positions; longer than any sequence by far


class Provenance(NamedTuple):
    """What is known of a checkpoint beside its config; None where unknown."""

    lab: str | None = None
    source: str | None = None
    config_state: str | None = None
    strength: str | None = None
    released: str | None = None
    notes: tuple[str, ...] = ()


class Model(NamedTuple):
    """One checkpoint: an architecture bound to a config.

    layers     stage -> the block of each layer, in order
    counts     (stage, block) -> how many layers that is, as a formula: the spec's, or a symbol of its own
    dims       every dim that this config gives a value
    unbound    every other dim, with the reason
    sources    dim -> where its value comes from
    unlisted   config key -> value, of keys nobody accounts for
    unexpected config key -> (value, values the spec was written for)
    """

    id: str
    spec: ModelSpec
    library: Library
    config: Config
    dtype: str
    storage: Storage
    layers: Mapping[str, tuple[str, ...]]
    counts: Mapping[tuple[str, str], Tree]
    dims: Mapping[str, int | Fraction]
    unbound: Mapping[str, SpecError]
    sources: Mapping[str, str]
    max_context: int
    warnings: tuple[str, ...]
    unlisted: Mapping[str, str]
    unexpected: Mapping[str, tuple[str, tuple[object, ...]]]
    provenance: Provenance


def find_spec(library: Library, config: Config) -> ModelSpec:
    """Return the model spec that covers a config. SpecError names the nearest where none does."""
    for name in config.architectures:
        for spec in library.models.values():
            if name in spec.architectures:
                return spec
    if not config.architectures:
        for spec in library.models.values():
            if config.model_type and config.model_type in spec.model_types:
                return spec
    covered = [name for spec in library.models.values() for name in spec.architectures]
    wanted = config.architectures[0] if config.architectures else config.model_type
    if not wanted:
        raise SpecError(
            "config-no-architecture",
            config.where,
            "architectures: [a class name], or model_type",
            "neither",
            "add architectures to the config",
        )
    close = closest(wanted, covered, 0.0)
    raise SpecError(
        "no-spec",
        config.where,
        "an architecture that a spec covers",
        f"no spec covers architecture {described(wanted)}",
        f"nearest: {close or 'none'}; docs/adding-a-model.md says how to write a spec",
    )


def bind(
    library: Library,
    data: Any,
    where: str,
    model_id: str = "",
    provenance: Provenance | None = None,
    storage: Any = None,
) -> Model:
    """Bind a parsed config.json to the spec that covers it. Raises SpecError with what is wrong in the config.

    storage is the located text of a storage.yaml that stands beside the config, if any.
    """
    config = read_config(data, where, library.config_keys)
    spec = find_spec(library, config)
    config = fill_defaults(config, spec.config)
    dims, unbound = _dim_values(library, spec, config)
    for constraint in library.dims.constraints:
        used = names(constraint.tree)
        if all(name in dims for name in used) and _evaluated(constraint.tree, dims.__getitem__, where) is False:
            got = ", ".join(f"{name} = {dims[name]}" for name in used)
            raise SpecError(
                "broken-constraint", where, f"{constraint.text} ({constraint.why})", got, "correct the config"
            )
    layers: dict[str, tuple[str, ...]] = {}
    counts: dict[tuple[str, str], Tree] = {}
    for stage in spec.stages:
        if stage.schedule is None or stage.repeat is None:
            continue
        blocks, formulas = _layers(stage.schedule, stage.repeat, stage.name, config, dims, unbound)
        layers[stage.name] = blocks
        for block in dict.fromkeys(blocks):
            counts[stage.name, block] = formulas.get(block) or count_symbol(stage.name, block)
            if block not in formulas:
                dims[count_symbol(stage.name, block)] = blocks.count(block)
    dtype = stored_dtype(config)
    stored = read_storage(config, dtype, library.schemes, storage)
    unlisted, unexpected = _unlisted(library, spec, config), _unexpected(spec, config)
    sources = {name: source_of(tree) for name, tree in spec.dims.items()}
    return Model(
        id=model_id or spec.name,
        spec=spec,
        library=library,
        config=config,
        dtype=dtype,
        storage=stored,
        layers=layers,
        counts=counts,
        dims=dims,
        unbound=unbound,
        sources=sources,
        max_context=_whole(config_length(config, spec.max_context, "max_context"), config, "max_context"),
        warnings=(*_warnings(spec, stored, unlisted, unexpected), *config.warnings),
        unlisted=unlisted,
        unexpected=unexpected,
        provenance=provenance or Provenance(),
    )


def source_of(tree: Tree) -> str:
    """Say where a dim's value comes from, as the spec writes it."""
    return print_tree(tree)


def _dim_values(
    library: Library, spec: ModelSpec, config: Config
) -> tuple[dict[str, int | Fraction], dict[str, SpecError]]:
    """Evaluate the spec's dims. A dim whose key is missing is only an error once a graph uses it."""
    dims: dict[str, int | Fraction] = {}
    unbound: dict[str, SpecError] = {}
    table = library.dims.dims

    def look_up(name: str, tree: Tree) -> int | Fraction:
        if name.startswith("config."):
            return config_amount(config, name.removeprefix("config."), tree)
        if name in unbound:
            raise unbound[name]
        return dims[name]

    for name, tree in spec.dims.items():
        try:
            value = exact(evaluate_tree(tree, partial(look_up, tree=tree)))
        except SpecError as error:
            unbound[name] = error
            continue
        except ZeroDivisionError:
            unbound[name] = SpecError(
                "config-out-of-range",
                f"{config.where} {name}",
                "no division by zero",
                source_of(tree),
                "correct the config",
            )
            continue
        dim = table[name]
        if not dim.minimum <= value <= dim.maximum or isinstance(value, Fraction):
            key = names(tree)[0].removeprefix("config.") if names(tree) else name
            raise SpecError(
                "config-out-of-range",
                f"{config.where} {key}",
                f"{name} ({dim.meaning}) a whole number from {dim.minimum} to {dim.maximum}",
                f"{source_of(tree)} = {described(value) if isinstance(value, int) else value}",
                f"correct {key}",
            )
        dims[name] = value
    return dims, unbound


def _whole(value: int | Fraction, config: Config, key: str) -> int:
    if isinstance(value, Fraction) or not 1 <= value <= _LARGEST:
        got = str(value) if isinstance(value, Fraction) else described(value)
        raise SpecError(
            "config-out-of-range",
            f"{config.where} {key}",
            f"a whole number from 1 to {_LARGEST}",
            got,
            f"correct {key}",
        )
    return value


def _evaluated(tree: Tree, look_up: Callable[[str], Any], where: str) -> Any:
    """Evaluate a formula of a spec on the config's numbers."""
    try:
        return evaluate_tree(tree, look_up)
    except ZeroDivisionError:
        raise SpecError(
            "config-out-of-range", where, "no division by zero", print_tree(tree), "correct the config"
        ) from None


def _layers(
    schedule: Schedule,
    repeat: Tree,
    stage: str,
    config: Config,
    dims: Mapping[str, int | Fraction],
    unbound: Mapping[str, SpecError],
) -> tuple[tuple[str, ...], dict[str, Tree]]:
    """Return the block of every layer of a stack, and for each block a formula of its layers where one is known."""

    def look_up(name: str) -> int | Fraction:
        if name.startswith("config."):
            key = name.removeprefix("config.")
            return config_number(config, key, flags=True) if config.facts.get(key.split(".")[0]) is not None else 0
        if name in unbound:
            raise unbound[name]
        return dims[name]

    count = _evaluated(repeat, look_up, config.where)
    if isinstance(count, Fraction) or not 0 <= count <= _MAX_LAYERS:
        raise SpecError(
            "config-out-of-range",
            f"{config.where} {stage}",
            f"0 to {_MAX_LAYERS} layers",
            str(count),
            "correct the config",
        )
    listed = _listed(schedule, config, count, stage)
    if listed is not None:
        # A list says which layers, not by what rule: its counts are facts of their own.
        return listed, {listed[0]: repeat} if len(set(listed)) == 1 else {}
    blocks: list[str] = []
    for i in range(count):

        def at(name: str, i: int = i) -> int | Fraction:
            return i if name == "i" else look_up(name)

        chosen = next((r.block for r in schedule.rules if _holds(r, i, at, config)), None)
        if chosen is None:
            raise SpecError(
                "schedule-gap",
                schedule.where,
                "a block for every layer",
                f"no rule holds for layer {i}",
                "end the rules with one that has no `when`",
            )
        blocks.append(chosen)
    if len(set(blocks)) == 1:
        return tuple(blocks), {blocks[0]: repeat}
    formulas: dict[str, Tree] = {}
    for rule in schedule.rules:
        if rule.count is None:
            continue
        if rule.count_when is not None and _evaluated(rule.count_when, look_up, config.where) is not True:
            continue
        formulas[rule.block] = rule.count
        counted = _evaluated(rule.count, look_up, config.where)
        if counted != blocks.count(rule.block):
            raise SpecError(
                "schedule-count",
                rule.where,
                f"count {print_tree(rule.count)}, the layers its rule picks",
                f"{counted} against {blocks.count(rule.block)} picked",
                "correct count or when",
            )
    return tuple(blocks), formulas


def _holds(rule: Rule, layer: int, at: Callable[[str], Any], config: Config) -> bool:
    """Say whether a rule of a schedule picks a layer."""
    if rule.listed is not None:
        listed = config.facts.get(rule.listed.removeprefix("config."))
        if listed is None:
            return False
        if not isinstance(listed, list):
            raise SpecError(
                "config-wrong-type",
                f"{config.where} {rule.listed.removeprefix('config.')}",
                "a list of layer numbers",
                described(listed),
                "correct the config",
            )
        numbers = cast("list[Any]", listed)
        wrong = next((n for n in numbers if isinstance(n, bool) or not isinstance(n, int)), None)
        if wrong is not None:
            raise SpecError(
                "config-wrong-type",
                f"{config.where} {rule.listed.removeprefix('config.')}",
                "a list of layer numbers",
                described(wrong),
                "correct the config",
            )
        if layer not in numbers:
            return False
    return rule.when is None or _evaluated(rule.when, at, config.where) is True


def _listed(schedule: Schedule, config: Config, count: int, stage: str) -> tuple[str, ...] | None:
    if schedule.list_key is None:
        return None
    key = schedule.list_key.removeprefix("config.")
    try:
        words = config_value(config, key)
    except KeyError:
        if schedule.rules:
            return None
        raise SpecError(
            "config-missing-key",
            f"{config.where} {key}",
            f"the kind of each layer of {stage}",
            "no such key",
            f"add {key}",
        ) from None
    if isinstance(words, str) and all(len(word) == 1 for word in schedule.blocks):
        words = list(words)  # one letter per layer
    if not isinstance(words, list) or len(cast("list[Any]", words)) != count:
        got = f"{len(cast('list[Any]', words))} entries" if isinstance(words, list) else described(words)
        raise SpecError(
            "schedule-length", f"{config.where} {key}", f"a list of {count}, one per layer", got, f"correct {key}"
        )
    blocks: list[str] = []
    for index, word in enumerate(cast("list[Any]", words)):
        block = schedule.blocks.get(str(word))
        if block is None:
            raise SpecError(
                "schedule-value",
                f"{config.where} {key}[{index}]",
                "one of " + ", ".join(schedule.blocks),
                described(word),
                "add the kind to the spec's schedule, or correct the config",
            )
        blocks.append(block)
    return tuple(blocks)


def count_symbol(stage: str, block: str) -> str:
    """Name the number of layers of one kind where the spec gives no formula for it."""
    return f"n_{stage}_{block}"


def _warnings(
    spec: ModelSpec,
    storage: Storage,
    unlisted: Mapping[str, str],
    unexpected: Mapping[str, tuple[str, tuple[object, ...]]],
) -> list[str]:
    """Say in sentences what a reader of the model's figures should know."""
    said: list[str] = []
    if storage.refused is not None:
        got = storage.refused.got
        said.append(f"quantization_config is not understood ({got}): weights are counted in {storage.dtype}")
    for key, value in unlisted.items():
        said.append(f"config key {key} = {value} is neither bound nor knowingly ignored by the spec {spec.name}")
    for key, (value, legal) in unexpected.items():
        words = " or ".join(map(repr, legal))
        said.append(f"config key {key} = {value}, but the spec {spec.name} was written for {words}")
    return said


def _unlisted(library: Library, spec: ModelSpec, config: Config) -> dict[str, str]:
    """Return the config keys, with their values, that the spec neither binds nor knowingly ignores."""
    bound = {"architectures", "model_type", "dtype", "quantization_config", "compression_config"}
    # A default alone binds nothing: a key that the spec fills in and never reads has been forgotten somewhere.
    bound |= {*spec.config.expects, *spec.config.ignores}
    bound |= set(library.config_keys.ignores)
    for tree in _config_trees(spec):
        bound |= {name.split(".")[1] for name in names(tree) if name.startswith("config.")}
    for switch in _config_switches(spec):
        if isinstance(switch, str) and switch.startswith("config."):
            bound.add(switch.partition("=")[0].strip().split(".")[1])
    for stage in spec.stages:
        if stage.schedule is not None and stage.schedule.list_key is not None:
            bound.add(stage.schedule.list_key.split(".")[1])
    return {
        key: described(value) for key, value in sorted(config.facts.items()) if key not in bound and value is not None
    }


def _unexpected(spec: ModelSpec, config: Config) -> dict[str, tuple[str, tuple[object, ...]]]:
    """Return the config keys whose value the spec was not written for, with the value and those it was."""
    return {
        key: (described(config.facts[key]), legal)
        for key, legal in spec.config.expects.items()
        if config.facts.get(key) is not None and config.facts[key] not in legal
    }


def _config_trees(spec: ModelSpec) -> list[Tree]:
    defaults = [*spec.config.defaults.values(), *spec.config.nulls.values()]
    trees: list[Tree] = [*spec.dims.values(), spec.max_context]
    trees += [default.tree for default in defaults if isinstance(default, Formula)]
    for stage in spec.stages:
        if stage.repeat is not None:
            trees.append(stage.repeat)
        for rule in stage.schedule.rules if stage.schedule is not None else ():
            trees += [tree for tree in (rule.when, rule.count, rule.listed, rule.count_when) if tree is not None]
        trees.append(stage.first)
    trees += [when for use in _uses(spec) for when, _ in use.cases]
    return trees


def _config_switches(spec: ModelSpec) -> list[Switch]:
    switches: list[Switch] = [tie.when for stage in spec.stages for tie in stage.ties]
    for use in _uses(spec):
        switches += use.switches.values()
    return switches


def _uses(spec: ModelSpec) -> list[Use]:
    """Return every use in a model spec, those in slots and cases too."""
    found: list[Use] = []
    waiting = [*spec.blocks.values(), *(stage.use for stage in spec.stages if stage.use is not None)]
    while waiting:
        use = waiting.pop()
        found.append(use)
        waiting += [*use.slots.values(), *(case for _, case in use.cases)]
    return found


def switch_value(model_config: Config, switch: Switch, outer: Mapping[str, bool], where: str) -> bool:
    """Resolve a switch: fixed, from the config, or one of the enclosing component's."""
    if isinstance(switch, bool):
        return switch
    key, equals, word = (part.strip() for part in switch.partition("="))
    if equals:
        return str(model_config.facts.get(key.removeprefix("config."))) == word
    if switch.startswith("config."):
        return config_switch(model_config, switch.removeprefix("config."))
    if switch not in outer:
        raise SpecError(
            "unknown-switch",
            where,
            "true, false, config.KEY or one of " + (", ".join(outer) or "no switches"),
            switch,
            "declare the switch in the component",
        )
    return outer[switch]


def find_component(
    library: Library, spec: ModelSpec, name: str, scope: Mapping[str, ComponentSpec], where: str
) -> ComponentSpec:
    """Find a component by name: inline ones first, then drafts the model declares, then the library."""
    if name in scope:
        return scope[name]
    if name in spec.components:
        return spec.components[name]
    if name in spec.drafts and name in library.drafts:
        return library.drafts[name]
    if name in library.components:
        return library.components[name]
    if name in library.drafts:
        raise SpecError(
            "undeclared-draft",
            where,
            "a component of the library, or a draft the model declares",
            f"{name}, a draft",
            f"add {name} to the drafts of {spec.name}",
        )
    known = [*scope, *spec.components, *library.components]
    close = closest(name, known)
    raise SpecError(
        "unknown-component",
        where,
        "a component of the library",
        name,
        f"you may have intended {close}" if close else "write the component, or use one of docs/components.md",
    )
