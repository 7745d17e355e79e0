"""Source guard: what a spec says stands in the source does stand there. Text is looked at, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding
from rooflight.spec import Anchor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "source"


def source(subject: Subject) -> Iterator[Finding]:
    """Look every anchor up in the text it names; a text that is not at hand is said, and does not block."""
    spec = subject.model.spec
    if not spec.anchors:
        yield Finding(
            "source-unanchored",
            GUARD,
            True,
            spec.where,
            "anchors: what the spec says, quoted from its source",
            "none",
            "quote the line of the forward pass that each stream comes from",
        )
    for stage in spec.stages:
        if stage.carries is not None and stage.carries not in {anchor.what for anchor in spec.anchors}:
            yield Finding(
                "source-unanchored",
                GUARD,
                True,
                stage.where,
                f"an anchor for the stream {stage.carries}",
                "none",
                "quote the line that passes it from layer to layer",
            )
    for anchor in (*spec.anchors, *_kept_dtypes(subject)):
        text = subject.sources.get(anchor.file)
        if text is None:
            yield Finding(
                "source-not-checked",
                GUARD,
                False,
                anchor.where,
                f"the text of {anchor.file}",
                "not at hand",
                "run `make sources`, which fetches the pinned texts",
            )
        elif squeezed(anchor.quote) not in squeezed(text):
            yield Finding(
                "source-mismatch",
                GUARD,
                True,
                anchor.where,
                f"a line of {anchor.file}",
                _shown(anchor),
                "quote the source as it stands",
            )


def _kept_dtypes(subject: Subject) -> tuple[Anchor, ...]:
    """Return the quotes by which components give a state a dtype of its own, each once."""
    instances = [instance for program in subject.programs.values() for instance in program.graph.instances]
    entries = {entry.where: entry for instance in instances for entry in instance.spec.cache}
    return tuple(
        Anchor(f"{entry.node} is kept in {entry.dtype}", entry.source or "", entry.quote or "", entry.where)
        for entry in entries.values()
        if entry.dtype is not None
    )


def squeezed(text: str) -> str:
    """Return a text with every run of white space as one blank: line breaks of a formatter change nothing."""
    return " ".join(text.split())


def _shown(anchor: Anchor) -> str:
    return f"{anchor.what}: {anchor.quote[:80]!r}"
