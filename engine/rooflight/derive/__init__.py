"""Figures that follow from the tables of one walk. Nothing here is stored, and nothing here knows a model."""

from rooflight.derive.cache import (
    cache_bytes,
    cache_bytes_per_token,
    cache_bytes_per_token_decompressed,
    cache_constant_bytes,
    cache_first_token_bytes,
    entry_bytes,
    entry_bytes_per_token,
    entry_constant_bytes,
)
from rooflight.derive.params import (
    params_active,
    params_by_role,
    params_draft,
    params_of_role,
    params_total,
    stored_bytes,
)
from rooflight.derive.storage import StoredTensor, stands_with, stored_tensors, weight_axes
from rooflight.derive.tensors import TensorRow, buffer_rows, tensor_rows, tied_rows
from rooflight.derive.totals import summed
from rooflight.derive.traffic import activation_bytes, kv_bytes, read_shares, weight_bytes

__all__ = [
    "StoredTensor",
    "TensorRow",
    "activation_bytes",
    "buffer_rows",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_bytes_per_token_decompressed",
    "cache_constant_bytes",
    "cache_first_token_bytes",
    "entry_bytes",
    "entry_bytes_per_token",
    "entry_constant_bytes",
    "kv_bytes",
    "params_active",
    "params_by_role",
    "params_draft",
    "params_of_role",
    "params_total",
    "read_shares",
    "stands_with",
    "stored_bytes",
    "stored_tensors",
    "summed",
    "tensor_rows",
    "tied_rows",
    "weight_axes",
    "weight_bytes",
]
