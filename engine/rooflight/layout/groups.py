"""When groups of heads lie across GPUs, so that one of them is computed in parts."""

from __future__ import annotations

from rooflight.expr import Value, ceil_div, cmp_, mod, where


def shared_groups(groups: Value, gpus: Value) -> Value:
    """Return of how many groups a GPU holds parts: none where every GPU has whole ones."""
    return where(cmp_("==", mod(groups, gpus), 0), 0, ceil_div(groups, gpus))
