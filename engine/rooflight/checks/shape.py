"""Shape guard: the tensors fit together at random dims, so no coincidence of config values can hide a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.analysis.geometry import check_geometry
from rooflight.checks.finding import Finding, from_error
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "shape"


def shape(subject: Subject) -> Iterator[Finding]:
    """Prove the geometry of both phases. Broken invariants are the axiom guard's business."""
    for phase, program in subject.programs.items():
        binding = {**subject.binding, **({"s_q": 1, "s_head": 1} if phase == "decode" else {})}
        try:
            check_geometry(program._replace(invariants=()), subject.model.spec.dims, binding)
        except SpecError as error:
            yield from_error(error, GUARD)
