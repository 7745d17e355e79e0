"""GPUs as facts with sources."""

from rooflight.hardware.gpu import FACTS, Fact, Gpu, read_gpu

__all__ = ["FACTS", "Fact", "Gpu", "read_gpu"]
