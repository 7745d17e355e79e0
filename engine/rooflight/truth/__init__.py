"""Facts from outside the project: tensor lists as patterns, safetensors headers, snapshots in one normal form."""

from rooflight.truth.assemble import Index, Origin, assemble, read_index
from rooflight.truth.header import MAX_HEADER, PREFIX, choose_files, header_length, read_header
from rooflight.truth.json_text import parse_json
from rooflight.truth.normal_config import Normal, normal_config
from rooflight.truth.patterns import collapse, expand
from rooflight.truth.roles import assign_roles, unclaimed_scales
from rooflight.truth.rows import KINDS, MAX_TENSORS, STRENGTHS, Row
from rooflight.truth.snapshot import (
    FILES,
    Snapshot,
    folder_name,
    is_model_id,
    read_provenance,
    read_snapshot,
    read_tensors,
    write_snapshot,
)
from rooflight.truth.totals import kinds_that_make, totals, values_by_kind, weakest

__all__ = [
    "FILES",
    "KINDS",
    "MAX_HEADER",
    "MAX_TENSORS",
    "PREFIX",
    "STRENGTHS",
    "Index",
    "Normal",
    "Origin",
    "Row",
    "Snapshot",
    "assemble",
    "assign_roles",
    "choose_files",
    "collapse",
    "expand",
    "folder_name",
    "header_length",
    "is_model_id",
    "kinds_that_make",
    "normal_config",
    "parse_json",
    "read_header",
    "read_index",
    "read_provenance",
    "read_snapshot",
    "read_tensors",
    "totals",
    "unclaimed_scales",
    "values_by_kind",
    "weakest",
    "write_snapshot",
]
