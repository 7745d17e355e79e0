"""GPUs as facts with sources."""

from rooflight.hardware.gpu import FACTS, STATUSES, TOPOLOGIES, Fact, Gpu, Slice, Stated
from rooflight.hardware.read_gpu import read_gpu, read_prices

__all__ = ["FACTS", "STATUSES", "TOPOLOGIES", "Fact", "Gpu", "Slice", "Stated", "read_gpu", "read_prices"]
