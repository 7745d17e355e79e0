"""Reads a config.json of either transformers generation as one flat set of facts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, cast

from rooflight.expr import Tree, evaluate_tree, exact
from rooflight.spec.reader import described
from rooflight.spec.records import ConfigKeys, ConfigRules, Formula
from rooflight.values import CONFIG_NAMES, SpecError

_MAX_KEYS = 2_000
_MAX_DEPTH = 12
_MAX_LIST = 20_000
_MAX_VALUES = 100_000


class Config(NamedTuple):
    """The facts of one config. `facts` holds plain JSON values by key, the text section's keys among them."""

    where: str
    facts: Mapping[str, Any]
    warnings: tuple[str, ...]

    @property
    def architectures(self) -> tuple[str, ...]:
        """The class names the config gives itself."""
        names = self.facts.get("architectures")
        return tuple(str(n) for n in cast("list[object]", names)) if isinstance(names, list) else ()

    @property
    def model_type(self) -> str:
        """The config's own word for its architecture, or nothing."""
        word = self.facts.get("model_type")
        return word if isinstance(word, str) else ""


def read_config(data: Any, where: str, keys: ConfigKeys) -> Config:
    """Normalise a parsed config.json. Raises SpecError where it is no object, too large or too deep."""
    if not isinstance(data, dict):
        raise SpecError("config-not-object", where, "a JSON object", described(data), "pass the model's config.json")
    top = cast("dict[str, Any]", data)
    _bound(top, where, 0, [0])
    facts: dict[str, Any] = dict(top)
    warnings: list[str] = []
    for name in keys.text_sections:
        section = facts.pop(name, None)
        if isinstance(section, dict):
            nested = cast("dict[str, Any]", section)
            for key, value in nested.items():
                # The section is what the text model is built from; a different copy outside it is a leftover.
                if key in facts and facts[key] != value and key not in ("architectures", "model_type"):
                    warnings.append(f"{key} is {value!r} in {name} but {facts[key]!r} outside it; {name} is used")
                if key not in ("architectures", "model_type") or key not in facts:
                    facts[key] = value
    for name in keys.unpack:
        section = facts.pop(name, None)
        if isinstance(section, dict):
            for key, value in cast("dict[str, Any]", section).items():
                facts.setdefault(key, value)
    for old, new in keys.aliases.items():
        if old in facts:
            facts.setdefault(new, facts.pop(old))
            facts.pop(old, None)
    return Config(where, facts, tuple(warnings))


def _bound(value: Any, where: str, depth: int, count: list[int]) -> None:
    count[0] += 1
    if depth > _MAX_DEPTH or count[0] > _MAX_VALUES:
        most = f"{_MAX_DEPTH} levels" if depth > _MAX_DEPTH else f"{_MAX_VALUES:,} values"
        raise SpecError("config-too-large", where, f"at most {most}", "more", "pass the model's own config.json")
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        if len(mapping) > _MAX_KEYS:
            raise SpecError(
                "config-too-large",
                where,
                f"at most {_MAX_KEYS} keys",
                str(len(mapping)),
                "pass the model's own config.json",
            )
        for key, inner in mapping.items():
            if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a dict from Python holds anything
                raise SpecError("config-wrong-type", where, "text as keys", described(key), "write the key as text")
            _bound(inner, where, depth + 1, count)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        if len(items) > _MAX_LIST:
            raise SpecError(
                "config-too-large",
                where,
                f"lists of at most {_MAX_LIST}",
                str(len(items)),
                "pass the model's own config.json",
            )
        for inner in items:
            _bound(inner, where, depth + 1, count)


def fill_defaults(config: Config, rules: ConfigRules) -> Config:
    """Add what transformers fills in where the config says nothing; a list of one value per layer becomes the value."""
    filled = Config(config.where, dict(config.facts), config.warnings)
    for key in rules.alike:
        listed = filled.facts.get(key)
        if isinstance(listed, list):
            filled = _with(filled, key, _one_for_all(cast("list[Any]", listed), f"{config.where} {key}"))
    for key, default in rules.defaults.items():
        if key not in filled.facts:
            filled = _with(filled, key, default)
    for key, default in rules.nulls.items():
        if filled.facts.get(key) is None:
            filled = _with(filled, key, default)
    return filled


def _one_for_all(listed: list[Any], where: str) -> Any:
    if not listed or any(type(value) is not type(listed[0]) or value != listed[0] for value in listed):
        raise SpecError(
            "config-wrong-type", where, "one value, or a list of it for every layer", described(listed),
            "describe the layers apart in the spec: it was written for layers that are alike",
        )  # fmt: skip
    return listed[0]


def _with(config: Config, key: str, default: object) -> Config:
    value = config_length(config, default.tree, key) if isinstance(default, Formula) else default
    return Config(config.where, {**config.facts, key: value}, config.warnings)


def config_value(config: Config, dotted: str) -> Any:
    """Look a key up, `a.b` meaning key b of the object a. Raises KeyError where it is absent or null."""
    value: Any = config.facts
    for part in dotted.split("."):
        if not isinstance(value, dict) or cast("dict[str, Any]", value).get(part) is None:
            raise KeyError(dotted)
        value = cast("dict[str, Any]", value)[part]
    return value


def config_number(config: Config, dotted: str, *, flags: bool = False) -> int:
    """Look up a whole number. SpecError where it is absent or something else.

    With flags, true and false count as 1 and 0: a condition may ask for them, a length may not be one.
    """
    try:
        value = config_value(config, dotted)
    except KeyError:
        raise SpecError(
            "config-missing-key",
            f"{config.where} {dotted}",
            "a whole number",
            "no such key",
            f"add {dotted} to the config, or check that this is a complete config.json",
        ) from None
    if isinstance(value, bool) and flags:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise SpecError(
            "config-wrong-type", f"{config.where} {dotted}", "a whole number", described(value), f"correct {dotted}"
        )
    return value


def config_amount(config: Config, dotted: str, tree: Tree) -> int | Fraction:
    """Look up what a formula over config keys works on: a whole number, or a share such as 0.25, exactly.

    A share says how much of something else a length is. A key that is the whole formula is a length itself.
    """
    if tree != f"config.{dotted}":
        try:
            value = config_value(config, dotted)
        except KeyError:
            value = None
        if isinstance(value, float) and 0 < value < 1:
            return Fraction(str(value))
    return config_number(config, dotted)


def config_length(config: Config, tree: Tree, key: str) -> int | Fraction:
    """Evaluate a formula over config keys. SpecError where a key is missing or the result is no number."""
    try:
        value = exact(evaluate_tree(tree, lambda name: config_amount(config, name.removeprefix("config."), tree)))
    except ZeroDivisionError:
        raise SpecError(
            "config-out-of-range",
            f"{config.where} {key}",
            "no division by zero",
            "a key that is 0",
            "correct the config",
        ) from None
    return value


def config_switch(config: Config, dotted: str) -> bool:
    """Look up a yes/no fact; absent counts as no."""
    try:
        value = config_value(config, dotted)
    except KeyError:
        return False
    if isinstance(value, bool):
        return value
    raise SpecError(
        "config-wrong-type", f"{config.where} {dotted}", "true or false", described(value), f"correct {dotted}"
    )


def stored_dtype(config: Config) -> str:
    """Return the dtype weights are stored in, by safetensors' name; F32 where the config names none."""
    name = config.facts.get("dtype")
    if name is None:
        return "F32"  # what transformers assumes
    word = str(name).removeprefix("torch.")
    if word not in CONFIG_NAMES:
        raise SpecError(
            "config-unknown-dtype",
            f"{config.where} dtype",
            "one of " + ", ".join(CONFIG_NAMES),
            described(name),
            "name the dtype the weights are stored in",
        )
    return CONFIG_NAMES[word]
