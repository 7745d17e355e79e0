"""The one place that walks: a Program and a binding become tables."""

from rooflight.analysis.analysis import Analysis, CacheFact, evaluate, kept_width
from rooflight.analysis.table import Table

__all__ = ["Analysis", "CacheFact", "Table", "evaluate", "kept_width"]
