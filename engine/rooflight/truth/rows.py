"""The rows of a tensor list, and what may stand in them."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from rooflight.values import BITS

MAX_TENSORS = 2_000_000  # ten times what the largest checkpoints hold
MAX_NAME = 512  # characters of one tensor's name

# What names and shapes rest on, the strongest first.
STRENGTHS: dict[str, str] = {
    "hub-headers": "read from the headers of the files at a known revision on the hub",
    "audited": "add up to a public audit of the headers: tensors, tensors per dtype, payload bytes",
    "local-headers": "read from the headers of files in a folder, of whichever revision they are",
    "meta-device": "built by transformers from the config, without weights",
    "rule": "follow from a rule, such as how a format packs",
    "inferred": "are our reading of something else",
}
ROLES = ("buffer", "scale", "tied copy")  # a row without one holds learned parameters
PARTS = ("mtp",)  # a row without one belongs to the main model
KINDS = ("parameter", "mtp", *ROLES)  # every row counts as exactly one of these


class Row(NamedTuple):
    """Tensors that differ only in numbers of their names.

    name      with ranges in braces, ends included: `model.layers.{0-31}.mlp.up_proj.weight`
    shape     of each of them
    copies    how many the name stands for
    strength  key of STRENGTHS
    role      one of ROLES, or nothing for learned parameters
    part      `mtp` for a draft layer, or nothing for the main model
    packing   how many values one stored element holds
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    copies: int
    strength: str
    role: str = ""
    part: str = ""
    packing: int = 1

    @property
    def elements(self) -> int:
        """Stored elements of all tensors of the row."""
        return self.copies * prod(self.shape)

    @property
    def values(self) -> int:
        """Values of all tensors of the row, packed ones unpacked."""
        return self.elements * self.packing

    @property
    def bytes(self) -> int:
        """Bytes the row takes in the files."""
        return self.copies * (prod(self.shape) * BITS[self.dtype] // 8)

    @property
    def kind(self) -> str:
        """What the row counts as in totals."""
        return self.role or self.part or "parameter"
