"""How far a checkpoint was checked, in one word and in sentences: never more than was done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.checks.finding import Finding
    from rooflight.checks.subject import Subject

VERIFIED = "verified"
STRUCTURE = "structure checked"
TOTAL = "total checked"
UNCHECKED = "not checked"

# Strengths of tensor rows whose names, shapes and bytes come from real headers.
_REAL = frozenset({"hub-headers", "audited", "local-headers"})
_MADE = frozenset({"meta-device"})


class Strength(NamedTuple):
    """What a page may claim of a checkpoint.

    word       verified, structure checked, total checked or not checked
    checked    what agreed with which fact, a sentence each
    unchecked  what nothing was held against
    """

    word: str
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return the same under the names that a page's facts have."""
        return {"strength": self.word, "checked": self.checked, "unchecked": self.unchecked}

    def as_json(self) -> dict[str, Any]:
        """Return the same as a JSON object."""
        return {"strength": self.word, "checked": list(self.checked), "unchecked": list(self.unchecked)}


def strength_of(subject: Subject, findings: Sequence[Finding]) -> Strength:
    """Return how far a model without blocking findings was checked; one with such findings is not checked."""
    blocked = any(finding.blocking for finding in findings)
    checked: list[str] = []
    unchecked: list[str] = []
    word = UNCHECKED
    rows = subject.rows
    if rows is not None and not blocked:
        counts = Counter[str]()
        for row in rows:
            counts[row.strength] += row.copies
        for strength, count in counts.most_common():
            tensors = "1 tensor equal a row" if count == 1 else f"{count:,} tensors equal rows"
            checked.append(f"name, shape, dtype and bytes of {tensors} of strength {strength}")
        kinds = set(counts)
        if kinds <= _REAL:
            word = VERIFIED
        elif kinds <= _REAL | _MADE | {"rule", "inferred"} and kinds & (_REAL | _MADE):
            word = STRUCTURE  # rule and inferred rows never raise a strength
    else:
        unchecked.append("no tensor list of this checkpoint is known")
    if subject.published is not None and not any(finding.code == "published-total" for finding in findings):
        aside = subject.elements_left_out
        less = f", which leaves out {aside:,} of them" if aside else ""
        checked.append(f"elements add up to the published total of {subject.published[0]:,}{less}")
        word = TOTAL if word == UNCHECKED and not blocked else word
    else:
        unchecked.append("no published total" if subject.published is None else "the published total differs")
    if any(finding.code == "source-not-checked" for finding in findings):
        unchecked.append("the source text was not at hand: quotes were not looked up")
    elif subject.model.spec.anchors:
        checked.append(f"{len(subject.model.spec.anchors)} quotes stand in {subject.model.spec.source}")
    unchecked.append(
        "that the graph computes what the source computes: guards see names, shapes and bytes, not meaning"
    )
    return Strength(UNCHECKED if blocked else word, tuple(checked), tuple(unchecked))


def claimed(subject: Subject) -> dict[str, Any]:
    """Return what the spec says the checkpoint holds, extras that it does hold included: bytes, tensors, by dtype."""
    rows = list(subject.claims)
    rows += [row for row in subject.allowed.values() if subject.holds(row)]
    by_dtype = Counter[str]()
    for row in rows:
        by_dtype[row.dtype] += row.copies
    return {
        "bytes": sum(row.bytes for row in rows),
        "tensors": sum(row.copies for row in rows),
        "by_dtype": dict(by_dtype.most_common()),
    }
