"""The documents of a build: every checkpoint examined by the guards, the published ones inspected, deployed and
serialized.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from rooflight.api import Inspection, inspect
from rooflight.checks import Finding
from rooflight.edge.library import Catalog, open_catalog
from rooflight.edge.validate import review
from rooflight_site import payload
from rooflight_site.deployments import Deployed, deploy
from rooflight_site.errors import BuildError
from rooflight_site.inference import inference

PER_PROCESS = 8  # checkpoints; a process takes about as long to start as another takes for this many


class Outcome(NamedTuple):
    """What became of one checkpoint: its documents, or the findings that keep it from being published."""

    id: str
    document: payload.Json | None
    blocking: tuple[Finding, ...] = ()
    inference: payload.Json | None = None

    def why(self) -> str:
        """In one line, why it was left out: the first finding whole, the others counted."""
        first = self.blocking[0]
        more = f", and {len(self.blocking) - 1} more" if len(self.blocking) > 1 else ""
        return f"{self.id}: {first.code} at {first.where}, expected {first.expected}, got {first.got}{more}"


_catalog: Catalog | None = None  # of a worker process, set once when it starts


def outcomes(catalog: Catalog, jobs: int, step: Callable[[], None]) -> Iterator[Outcome]:
    """What became of every checkpoint, in the catalog's order, in at most `jobs` processes."""
    ids = catalog.ids()
    processes = min(jobs, -(-len(ids) // PER_PROCESS))
    if processes < 2:
        yield from _counted((outcome(catalog, name) for name in ids), step)
        return
    # Fresh processes: a fork would copy the progress bar's thread in whatever state it is.
    with ProcessPoolExecutor(processes, get_context("spawn"), _start, (str(catalog.folder),)) as pool:
        yield from _counted(pool.map(_outcome, ids), step)


def outcomes_of(
    inspections: Sequence[Inspection], deployments: Mapping[str, Deployed], step: Callable[[], None]
) -> Iterator[Outcome]:
    """The same for models that are read and deployed already; no guard sees them."""
    return _counted((_read(model, deployments.get(model.facts.id)) for model in inspections), step)


def _read(model: Inspection, deployed: Deployed | None) -> Outcome:
    document = payload.inspection(model)
    return Outcome(
        document["id"], document, inference=None if deployed is None else inference(document["facts"], deployed)
    )


def outcome(catalog: Catalog, name: str) -> Outcome:
    """Examine one checkpoint once and, where nothing blocks it, read everything its page shows."""
    seen = review(catalog, name)
    if seen.model is None or seen.strength is None:
        return Outcome(name, None, seen.blocking)
    shown = inspect(seen.model, seen.strength, seen.claims)
    document = payload.inspection(shown, seen.model.library.schemes)
    return Outcome(name, document, inference=inference(document["facts"], deploy(seen.model)))


def refuse_twins(names: Iterable[str]) -> None:
    """Two ids that differ only in case would be one file on many disks."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(name.casefold(), name)
        if first is not name:
            raise BuildError(f"{first} and {name} would share one address")


def _counted(made: Iterable[Outcome], step: Callable[[], None]) -> Iterator[Outcome]:
    for one in made:
        step()
        yield one


def _start(folder: str) -> None:
    global _catalog  # noqa: PLW0603 - a pool hands its workers no other place for what they share
    _catalog = open_catalog(folder)


def _outcome(name: str) -> Outcome:
    assert _catalog is not None
    return outcome(_catalog, name)
