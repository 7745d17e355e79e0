"""Gathers what the guards look at: the model, its snapshot on disk, and the texts its spec quotes from."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight import api
from rooflight.checks import Finding, Strength, Subject, claimed, examine, from_error, strength_of
from rooflight.edge.library import read_json
from rooflight.edge.sources import read_sources
from rooflight.truth import folder_name, read_provenance, read_tensors
from rooflight.values import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from rooflight.edge.library import Catalog
    from rooflight.spec import Model


@lru_cache(maxsize=64)
def _texts(wanted: frozenset[str], folder: Path | None) -> dict[str, str]:
    return read_sources(wanted, folder)


def subject_of(catalog: Catalog, model: Model, sources: Path | None = None) -> Subject:
    """Return a model with its snapshot's tensors and the texts at hand. SpecError for a broken snapshot."""
    folder = catalog.folder / "truth" / folder_name(model.id)
    rows = published = None
    left_out: tuple[str, ...] = ()
    if (folder / "tensors.json").is_file():
        rows = read_tensors(read_json(folder / "tensors.json"), catalog.shown(folder / "tensors.json"))
    if (folder / "provenance.json").is_file():
        facts = read_provenance(read_json(folder / "provenance.json"), catalog.shown(folder / "provenance.json"))
        if facts.get("published_total") is not None:
            published = facts["published_total"], tuple(facts.get("published_total_counts") or ("parameter",))
            left_out = tuple(facts.get("published_total_leaves_out") or ())
    texts = _texts(_quoted(model), sources)
    binding = api.numbers(model, api.step_size(model))
    return Subject(model, binding, rows, texts, published, left_out)


def _quoted(model: Model) -> frozenset[str]:
    """Return the files that the spec quotes, and those that the components of its graph do."""
    files = {model.spec.source, *(anchor.file for anchor in model.spec.anchors)}
    try:
        instances = api.reading(model).program.graph.instances
    except SpecError:  # the analysis guard reports it
        return frozenset(files)
    return frozenset(files | {entry.source for one in instances for entry in one.spec.cache if entry.source})


def checkpoint(catalog: Catalog, model: Model, sources: Path | None = None) -> dict[str, Any]:
    """Return what the checkpoint holds by the spec, how far that was checked, and the config's own state."""
    subject = subject_of(catalog, model, sources)
    findings = examine(subject)
    return {
        **claimed(subject),
        **strength_of(subject, findings).as_json(),
        "config_state": model.provenance.config_state,
        "blocking": [finding.as_json() for finding in findings if finding.blocking],
    }


class Review(NamedTuple):
    """One checkpoint under all guards. A model that could not be read is None, and so is what is said of it.

    claims   what the spec says the checkpoint holds: bytes, tensors, by_dtype
    """

    model: Model | None
    findings: tuple[Finding, ...]
    strength: Strength | None = None
    claims: dict[str, Any] | None = None

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """What keeps the checkpoint from being published."""
        return tuple(finding for finding in self.findings if finding.blocking)


def review(catalog: Catalog, model_id: str, sources: Path | None = None) -> Review:
    """Return what all guards say of one checkpoint of the catalog, examined once."""
    try:
        model = catalog.model(model_id)
        subject = subject_of(catalog, model, sources)
        findings = examine(subject)
        if any(finding.blocking for finding in findings):
            return Review(model, findings)
        return Review(model, findings, strength_of(subject, findings), claimed(subject))
    except SpecError as error:
        return Review(None, (from_error(error, "analysis"),))


def published(catalog: Catalog, sources: Path | None = None) -> tuple[tuple[Model, Strength], ...]:
    """Return every checkpoint without a blocking finding, with how far it was checked."""
    reviews = (review(catalog, model_id, sources) for model_id in catalog.ids())
    return tuple((r.model, r.strength) for r in reviews if r.model is not None and r.strength is not None)


def validate(catalog: Catalog, targets: tuple[str, ...], sources: Path | None = None) -> dict[str, Any]:
    """Return findings of all guards and diagnostics over checkpoints, all that a spec covers where none are named.

    SpecError where there is nothing to hold the specs against: no checkpoint, or no folder of sources of that name.
    """
    findings: list[dict[str, Any]] = []
    if sources is not None and not sources.is_dir():
        raise SpecError(
            "missing-file", str(sources), "a folder with the wheels that specs quote from", "no such folder",
            "check the path, or leave --sources out",
        )  # fmt: skip
    ids = targets or catalog.ids()
    if not ids:
        raise SpecError(
            "no-config", catalog.shown(catalog.folder / "truth"), "the config.json of a checkpoint that a spec covers",
            "none", "name a TARGET, or take a snapshot with `rooflight snapshot`",
        )  # fmt: skip
    for target in ids:
        findings += [{"model": target, **finding.as_json()} for finding in examine_target(catalog, target, sources)]
    return {"checked": list(ids), "findings": findings}


def examine_target(catalog: Catalog, target: str, sources: Path | None = None) -> tuple[Finding, ...]:
    """Return the findings of one target; a spec or config that cannot be read is a finding too."""
    from rooflight.edge.front import load

    try:
        return examine(subject_of(catalog, load(target, specs=str(catalog.folder)), sources))
    except SpecError as error:
        return (from_error(error, "analysis"),)
