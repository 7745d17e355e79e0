"""Plain records and tables that every other room may use."""

from rooflight.values.day import is_day
from rooflight.values.dtypes import BITS, CONFIG_NAMES, PACKED_BITS, bytes_per_element
from rooflight.values.errors import SpecError
from rooflight.values.quantity import UNITS, Quantity

__all__ = ["BITS", "CONFIG_NAMES", "PACKED_BITS", "UNITS", "Quantity", "SpecError", "bytes_per_element", "is_day"]
