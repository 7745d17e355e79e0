"""Dims: the table of names, and the axes line by which ops tie them."""

from rooflight.dims.axes import LEADING, Axes, AxesError, Axis, DimMap, parse_axes, parse_dim_map
from rooflight.dims.table import RUN, SHARDS, Constraint, Dim, DimTable

__all__ = [
    "LEADING",
    "RUN",
    "SHARDS",
    "Axes",
    "AxesError",
    "Axis",
    "Constraint",
    "Dim",
    "DimMap",
    "DimTable",
    "parse_axes",
    "parse_dim_map",
]
