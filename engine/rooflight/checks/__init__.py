"""Guards that must pass before a model is published, and diagnostics that give hints; one file each."""

from rooflight.checks.axiom import axiom
from rooflight.checks.diagnostics import activation, duplicate_drafts, published_total, residuals
from rooflight.checks.evaluation import evaluation
from rooflight.checks.finding import Finding, from_error
from rooflight.checks.packing import packing
from rooflight.checks.schedule import schedule
from rooflight.checks.shape import shape
from rooflight.checks.source import source
from rooflight.checks.strength import Strength, claimed, strength_of
from rooflight.checks.structural import structural
from rooflight.checks.subject import Subject
from rooflight.checks.weight import weight
from rooflight.values import SpecError

# In the order they run. What each one sees, and what slips through without it: docs/guards.md.
GUARDS = {
    "weight": weight,
    "packing": packing,
    "shape": shape,
    "analysis": evaluation,
    "schedule": schedule,
    "structural": structural,
    "axiom": axiom,
    "source": source,
}
DIAGNOSTICS = {
    "calls": residuals,
    "activation": activation,
    "totals": published_total,
    "drafts": duplicate_drafts,
}


def examine(subject: Subject, skip: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Return all findings of all guards and diagnostics but those to skip. A guard that cannot finish is a finding."""
    findings: list[Finding] = []
    for name, run in (*GUARDS.items(), *DIAGNOSTICS.items()):
        if name in skip:
            continue
        try:
            findings += run(subject)
        except SpecError as error:
            findings.append(from_error(error, "analysis" if name in GUARDS else name))
    return tuple(dict.fromkeys(findings))


__all__ = ["DIAGNOSTICS", "GUARDS", "Finding", "Strength", "Subject", "claimed", "examine", "from_error", "strength_of"]
