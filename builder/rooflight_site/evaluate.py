"""The documents of a build: every model of the library inspected and serialized, in one process or several."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from rooflight.api import Inspection, inspect
from rooflight.edge.library import Catalog, open_catalog
from rooflight_site import payload
from rooflight_site.errors import BuildError

PER_PROCESS = 48  # models; a process takes half a second to start, in which another does about this many

_catalog: Catalog | None = None  # of a worker process, set once when it starts


def documents(catalog: Catalog, jobs: int, step: Callable[[], None]) -> Iterator[payload.Json]:
    """One document per checkpoint in the catalog's order; at most `jobs` processes, fewer where that is quicker."""
    ids = catalog.ids()
    processes = min(jobs, -(-len(ids) // PER_PROCESS))
    if processes < 2:
        yield from _counted((payload.inspection(inspect(catalog.model(name))) for name in ids), step)
        return
    # Fresh processes: a fork would copy the progress bar's thread in whatever state it is.
    with ProcessPoolExecutor(processes, get_context("spawn"), _start, (str(catalog.folder),)) as pool:
        yield from _counted(pool.map(_document, ids, chunksize=8), step)


def documents_of(inspections: Sequence[Inspection], step: Callable[[], None]) -> Iterator[payload.Json]:
    """The same for models that are read already."""
    return _counted(map(payload.inspection, inspections), step)


def refuse_twins(names: Iterable[str]) -> None:
    """Two ids that differ only in case would be one file on many disks."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(name.casefold(), name)
        if first is not name:
            raise BuildError(f"{first} and {name} would share one address")


def _counted(made: Iterable[payload.Json], step: Callable[[], None]) -> Iterator[payload.Json]:
    for document in made:
        step()
        yield document


def _start(folder: str) -> None:
    global _catalog  # noqa: PLW0603 - a pool hands its workers no other place for what they share
    _catalog = open_catalog(folder)


def _document(name: str) -> Any:
    assert _catalog is not None
    return payload.inspection(inspect(_catalog.model(name)))
