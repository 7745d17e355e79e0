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
from rooflight.spec.precision import AS_STORED, Precision, storage_under
from rooflight.spec.quant import Scheme, read_scheme
from rooflight.spec.reader import Reader, described, nearest
from rooflight.spec.records import (
    GROWTH,
    Anchor,
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
from rooflight.spec.storage import Format, Storage, format_of, plain, read_storage

__all__ = [
    "AS_STORED",
    "GROWTH",
    "Anchor",
    "CacheEntry",
    "ComponentSpec",
    "Config",
    "Format",
    "Invariant",
    "Items",
    "Library",
    "Model",
    "ModelSpec",
    "NodeSpec",
    "Precision",
    "Provenance",
    "Reader",
    "Scheme",
    "Section",
    "Sources",
    "Stage",
    "Storage",
    "Tie",
    "Use",
    "bind",
    "count_symbol",
    "described",
    "find_component",
    "find_spec",
    "format_of",
    "locate",
    "nearest",
    "overlay",
    "plain",
    "read_library",
    "read_scheme",
    "read_storage",
    "source_of",
    "storage_under",
    "switch_value",
]
