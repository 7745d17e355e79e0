"""How rows of a token table are cut: evenly where they divide, else padded so that every GPU holds the same."""

from __future__ import annotations

from rooflight.expr import Value, ceil_div, cmp_, div, mod, where

VOCABULARY_MULTIPLE = 64  # rows a padded part is a multiple of, as frameworks pad token tables


def vocabulary_rows(rows: Value, gpus: Value) -> Value:
    """Return the rows each of some GPUs holds: of 128,256 over 8 16,032, of 129,280 over 24 5,440 (130,560 in all)."""
    padded = VOCABULARY_MULTIPLE * ceil_div(rows, VOCABULARY_MULTIPLE * gpus)
    return where(cmp_("==", mod(rows, gpus), 0), div(rows, gpus), padded)
