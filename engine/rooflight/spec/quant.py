"""A quantization scheme as a record: what a checkpoint stores in place of one weight, and how a config names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, cast

from rooflight.expr import Tree, names
from rooflight.spec.located import Items, Section
from rooflight.spec.reader import Reader, described, nearest
from rooflight.values import BITS, SpecError

PRESENT, ABSENT = "present", "absent"
MODEL_DTYPE = "model"  # in a scheme: the dtype the rest of the checkpoint is stored in


class StoreRule(NamedTuple):
    """One tensor stored for one weight. Its shape uses the weight's axis names and the scheme's numbers.

    suffix  what follows the module's name; a leading ^ puts the tensor beside the module, in its parent
    role    weight: the packed elements; scale, zero, order, shape: what it takes to read them; cache: a cache scale
    only    last parts of the module names that have it; empty means all
    when    a number of the scheme that must not be 0
    """

    suffix: str
    dtype: str
    shape: tuple[Tree, ...]
    role: str
    only: tuple[str, ...] = ()
    when: str | None = None


MAX_NUMBER = 1 << 20
STORE_ROLES = ("weight", "scale", "zero", "order", "shape", "cache")


class Number(NamedTuple):
    """A number of a scheme: where the config keeps it, what its absence means, and what words in its place mean."""

    path: str | None
    default: int | None
    words: Mapping[str, int]


class Scheme(NamedTuple):
    """One way to store weights. `recognized` are dotted keys of a quantization_config and the values they must have.

    ignored        keys of lists of modules that are left alone
    with_children  whether a module in them takes along what stands in it
    padded         whether a part of a block is filled up when weights are cut over GPUs; else no cut may leave one
    """

    name: str
    doc: str
    source: str
    recognized: Mapping[str, tuple[object, ...]]
    numbers: Mapping[str, Number]
    ignored: tuple[str, ...]
    with_children: bool
    padded: bool
    roles: tuple[str, ...]
    weight: str
    activation: str
    stores: tuple[StoreRule, ...]
    where: str


def read_scheme(name: str, section: Any, place: str, roles: Mapping[str, str]) -> Scheme:
    """Check one scheme for form. Raises SpecError at the first fault."""
    reader = Reader(section, name, place)
    wanted = reader.sub("recognized_by", Section(place))
    recognized: dict[str, tuple[object, ...]] = {}
    for key in wanted.names():
        value = wanted.any(key)
        recognized[key] = tuple(value) if isinstance(value, Items) else (value,)
    given = reader.sub("numbers", Section(place))
    numbers = {key: _read_number(given, key) for key in given.names()}
    axes = reader.words("axes", ("out", "in"))
    known = {*axes, *numbers}
    stores = tuple(_read_store(item, known) for item in reader.items("tensors"))
    scheme = Scheme(
        name=name,
        doc=reader.text("doc"),
        source=reader.text("source"),
        recognized=recognized,
        numbers=numbers,
        ignored=reader.words("ignored", ()),
        with_children=reader.flag("ignored_with_children", default=True),
        padded=reader.flag("padded", default=False),
        roles=reader.words("roles"),
        weight=reader.text("weight"),
        activation=reader.text("activation"),
        stores=stores,
        where=place,
    )
    for role in scheme.roles:
        if role not in roles:
            raise SpecError(
                "unknown-role", reader.where("roles"), "roles of roles.yaml", role, nearest(role, tuple(roles))
            )
    for key, number in scheme.numbers.items():
        for value in (*number.words.values(), *(() if number.default is None else (number.default,))):
            if not _least(scheme, key) <= value <= MAX_NUMBER:
                expected = f"a whole number from {_least(scheme, key)} to {MAX_NUMBER}"
                raise SpecError("wrong-type", given.where(key), expected, described(value), f"correct {key}")
    reader.done()
    return scheme


def _read_number(reader: Reader, key: str) -> Number:
    value = reader.any(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return Number(None, value, {})
    if isinstance(value, str):
        return Number(value, None, {})
    number = reader.sub(key)
    words = number.sub("words", Section(reader.section.at(key)))
    found = Number(
        number.maybe_text("key"),
        number.number("default") if "default" in number.section else None,
        {word: words.number(word) for word in words.names()},
    )
    number.any("default", None)
    number.done()
    return found


def _read_store(reader: Reader, known: set[str]) -> StoreRule:
    shape: list[Tree] = []
    for axis in reader.any("shape"):
        tree = axis if isinstance(axis, int) else reader.parsed("shape", str(axis))
        for used in names(tree):
            if used not in known:
                raise SpecError(
                    "undeclared-name",
                    reader.where("shape"),
                    "axes of the weight, or numbers of the scheme",
                    used,
                    nearest(used, tuple(known)),
                )
        shape.append(tree)
    dtype = reader.text("dtype")
    if dtype not in BITS and dtype != MODEL_DTYPE:
        raise SpecError(
            "unknown-word",
            reader.where("dtype"),
            "model, or one of " + ", ".join(BITS),
            dtype,
            nearest(dtype, tuple(BITS)),
        )
    rule = StoreRule(
        reader.text("suffix"),
        dtype,
        tuple(shape),
        reader.word("role", STORE_ROLES, "weight"),
        reader.words("only", ()),
        reader.maybe_text("when"),
    )
    if rule.when is not None and rule.when not in known:
        raise SpecError(
            "undeclared-name", reader.where("when"), "a number of the scheme", rule.when, "declare it in numbers"
        )
    reader.done()
    return rule


def recognizes(scheme: Scheme, quantization: Mapping[str, Any]) -> bool:
    """Say whether a scheme answers to a quantization_config."""
    for path, values in scheme.recognized.items():
        found = look(quantization, path)
        if values == (PRESENT,):
            if found is None:
                return False
        elif values == (ABSENT,):
            if found is not None:
                return False
        elif found not in values:
            return False
    return True


def look(data: Any, path: str) -> Any:
    """Follow a dotted path through mappings and lists; None where it leads nowhere."""
    for part in path.split("."):
        if isinstance(data, dict):
            data = cast("dict[str, Any]", data).get(part)
        elif isinstance(data, list) and part.isdigit() and int(part) < len(cast("list[Any]", data)):
            data = cast("list[Any]", data)[int(part)]
        else:
            return None
    return data


def scheme_numbers(scheme: Scheme, quantization: Mapping[str, Any], where: str) -> dict[str, int]:
    """Return the scheme's numbers for one config. SpecError where one is missing or no whole number in its range."""
    values: dict[str, int] = {}
    for name, number in scheme.numbers.items():
        value = None if number.path is None else _followed(scheme, number.path, quantization, where)
        if value is not None and not isinstance(value, dict | list) and str(value).lower() in number.words:
            value = number.words[str(value).lower()]
        if value is None:
            value = number.default
        least = _least(scheme, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_NUMBER:
            raise SpecError(
                "config-wrong-type",
                f"{where} quantization_config.{number.path or name}",
                f"a whole number, {name} of the scheme {scheme.name}, from {least} to {MAX_NUMBER}",
                described(value),
                "correct the config",
            )
        values[name] = value
    return values


def _least(scheme: Scheme, name: str) -> int:
    """The least a number may be: 0 where tensors depend on it not being 0, else 1, for lengths are divided by it."""
    return 0 if any(rule.when == name for rule in scheme.stores) else 1


def _followed(scheme: Scheme, path: str, quantization: Mapping[str, Any], where: str) -> Any:
    """Follow a number's path; None where the config leaves a key of it out. SpecError where it leads nowhere.

    A list on the way must be as long as the scheme's numbers read it.
    """
    data: Any = quantization
    parts = path.split(".")
    for depth, part in enumerate(parts):
        if data is None:
            return None
        before = ".".join(parts[:depth])
        if part.isdigit():
            length = _length_read(scheme, before)
            items = cast("list[Any]", data) if isinstance(data, list) else []
            if len(items) != length or None in items:
                _refuse(f"{where} quantization_config.{before}", f"a list of {length} values", data)
            data = items[int(part)]
        elif isinstance(data, dict):
            data = cast("dict[str, Any]", data).get(part)
        else:
            _refuse(f"{where} quantization_config.{before}", "an object", data)
    return data


def _length_read(scheme: Scheme, path: str) -> int:
    """How many elements of the list at a path the scheme's numbers read."""
    rests = [
        number.path[len(path) + 1 :]
        for number in scheme.numbers.values()
        if number.path and number.path.startswith(path + ".")
    ]
    return 1 + max(int(rest.partition(".")[0]) for rest in rests)


def _refuse(where: str, expected: str, got: Any) -> NoReturn:
    raise SpecError("config-wrong-type", where, expected, described(got), "correct the config")
