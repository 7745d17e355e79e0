"""Specs as records: read from located data, checked for form, bound to a config."""

from rooflight.spec.bind import (
    Model,
    Provenance,
    bind,
    count_symbol,
    find_component,
    find_spec,
    source_of,
    switch_value,
)
from rooflight.spec.config import Config
from rooflight.spec.library import Sources, read_library
from rooflight.spec.located import Items, Section, locate, overlay
from rooflight.spec.reader import Reader, described, nearest
from rooflight.spec.records import (
    GROWTH,
    CacheEntry,
    ComponentSpec,
    Invariant,
    Library,
    ModelSpec,
    NodeSpec,
    Stage,
    Tie,
    Use,
)

__all__ = [
    "GROWTH",
    "CacheEntry",
    "ComponentSpec",
    "Config",
    "Invariant",
    "Items",
    "Library",
    "Model",
    "ModelSpec",
    "NodeSpec",
    "Provenance",
    "Reader",
    "Section",
    "Sources",
    "Stage",
    "Tie",
    "Use",
    "bind",
    "count_symbol",
    "described",
    "find_component",
    "find_spec",
    "locate",
    "nearest",
    "overlay",
    "read_library",
    "source_of",
    "switch_value",
]
