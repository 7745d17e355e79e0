"""Analysis guard: the spec can be evaluated whole, in both phases, and every figure is finite and not negative."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from rooflight.analysis import evaluate
from rooflight.checks.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "analysis"
COLUMNS = ("matmul", "other", "params", "weights_read", "read", "written", "cache_read", "cache_written", "copies")


def evaluation(subject: Subject) -> Iterator[Finding]:
    """Walk both phases and look at every figure."""
    for phase, program in subject.programs.items():
        binding = {**subject.binding, **({"s_q": 1, "s_head": 1} if phase == "decode" else {})}
        facts = evaluate(program, binding)
        for name in COLUMNS:
            for node, value in getattr(facts, name).items():
                if not isfinite(value) or value < 0:
                    yield Finding(
                        "bad-figure",
                        GUARD,
                        True,
                        f"{phase} {node}",
                        f"{name} a finite number from 0",
                        str(value),
                        "correct the op's formula or the node's dims",
                    )
