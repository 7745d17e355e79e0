"""Whether a bound model holds together: its graph in both phases, its geometry, its tensor names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.analysis.geometry import check_geometry
from rooflight.api.binding import numbers
from rooflight.api.reading import reading
from rooflight.derive.tensors import tensor_rows

if TYPE_CHECKING:
    from rooflight.spec import Model


def check(model: Model) -> None:
    """Raise SpecError at the first thing that does not fit, whatever the config's values happen to hide."""
    for phase in ("prefill", "decode"):
        read = reading(model, phase, drafts=True)
        check_geometry(read.program, model.spec.dims, numbers(model, read.step))
        tensor_rows(model, read.numbers)
