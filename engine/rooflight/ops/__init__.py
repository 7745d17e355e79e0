"""Primitive ops: what each computes, stores and moves, as records in one table."""

from rooflight.ops.masks import MASK_DIMS, causal_pairs, sliding_pairs, square_pairs
from rooflight.ops.record import Op, Weight, op
from rooflight.ops.states import resumes
from rooflight.ops.table import OPS

__all__ = ["MASK_DIMS", "OPS", "Op", "Weight", "causal_pairs", "op", "resumes", "sliding_pairs", "square_pairs"]
