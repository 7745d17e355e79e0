"""Reads the tables that all specs share: dims, roles, config keys."""

from typing import Any

from rooflight.dims import SHARDS, Constraint, Dim, DimTable
from rooflight.expr import ExpressionError, names, parse_condition, parse_length
from rooflight.spec.located import Items, Section
from rooflight.spec.reader import Reader, nearest
from rooflight.spec.records import ConfigKeys
from rooflight.values import SpecError

_LARGEST = 2**40  # no axis of any model comes near; a larger length in a config is a mistake or an attack


def read_dims(section: Any, place: str) -> DimTable:
    """Read dims.yaml."""
    reader = Reader(section, "", place)
    kinds_reader = reader.sub("kinds")
    kinds = {kind: kinds_reader.text(kind) for kind in kinds_reader.names()}
    dims: dict[str, Dim] = {}
    for name, entry in reader.entries("dims"):
        if not _is_name(name):
            raise SpecError("bad-expression", entry.where(), "a name that expressions can use", name, "rename the dim")
        dims[name] = Dim(
            name,
            entry.word("kind", tuple(kinds)),
            entry.text("meaning"),
            entry.number("min", 1),
            entry.number("max", _LARGEST),
            entry.word("shard", SHARDS) if "shard" in entry.section else entry.maybe_text("shard"),
        )
        entry.done()
    constraints: list[Constraint] = []
    for item in reader.items("constraints", Items(place)):
        text = item.text("rule")
        tree = item.parsed("rule", text, parse_condition)
        for used in names(tree):
            if used not in dims:
                raise SpecError(
                    "undeclared-dim", item.where("rule"), "dims of this table", used, nearest(used, tuple(dims))
                )
        constraints.append(Constraint(text, tree, item.text("why"), item.where()))
        item.done()
    reader.done()
    return DimTable(kinds, dims, tuple(constraints))


def _is_name(text: str) -> bool:
    try:
        return parse_length(text) == text
    except ExpressionError:
        return False


def read_roles(section: Any, place: str) -> dict[str, str]:
    """Read roles.yaml: role -> meaning."""
    reader = Reader(section, "", place)
    roles = {role: reader.text(role) for role in reader.names()}
    reader.done()
    return roles


def read_config_keys(section: Any, place: str) -> ConfigKeys:
    """Read config_keys.yaml."""
    reader = Reader(section, "", place)
    aliases = reader.sub("aliases", Section(place))
    ignores = reader.sub("ignores", Section(place))
    keys = ConfigKeys(
        aliases={key: aliases.text(key) for key in aliases.names()},
        text_sections=reader.words("text_sections", ()),
        unpack=reader.words("unpack", ()),
        ignores={key: ignores.text(key) for key in ignores.names()},
    )
    reader.done()
    return keys
