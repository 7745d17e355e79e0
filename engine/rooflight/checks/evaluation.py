"""Analysis guard: the spec can be evaluated whole, figures are finite and not negative, and phases share one model."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from rooflight.analysis import evaluate
from rooflight.checks.finding import Finding
from rooflight.derive import params_draft, params_total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "analysis"
COLUMNS = (
    *("matmul", "other", "params", "weights_read", "read", "written"),
    *("cache_read", "cache_written", "state_moved", "copies"),
)


def evaluation(subject: Subject) -> Iterator[Finding]:
    """Walk both phases, look at every figure, and hold what decode stores against what the prompt's graph stores."""
    stored: dict[str, int] = {}
    for phase, program in subject.programs.items():
        binding = {**subject.binding, **({"s_q": 1, "s_head": 1} if phase == "decode" else {})}
        facts = evaluate(program, binding)
        stored[phase] = params_total(facts) + params_draft(facts)
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
    yield from _one_model(subject, stored)


def _one_model(subject: Subject, stored: dict[str, int]) -> Iterator[Finding]:
    """A decode variant computes otherwise with the same weights: all of them, and no others."""
    prefill, decode = subject.programs["prefill"], subject.programs["decode"]
    known = {step.node.id for step in prefill.steps if step.stored}
    for step in decode.steps:
        if step.stored and (step.node.part_of or step.node.id) not in known:
            yield Finding(
                "decode-weight",
                GUARD,
                True,
                step.node.where,
                "a weight of the ordinary graph, by its node's name or by part_of",
                step.node.part_of or step.node.id,
                "name the node whose weight it reads in part_of",
            )
    if stored["prefill"] != stored["decode"]:
        yield Finding(
            "decode-params",
            GUARD,
            True,
            subject.model.spec.where,
            f"{stored['prefill']:,} elements in decode, as for a prompt",
            f"{stored['decode']:,} ({stored['decode'] - stored['prefill']:+,})",
            "let the decode variant use every weight of the ordinary graph",
        )
