"""Takes a snapshot: from the hub by metadata and headers alone, or from a folder of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.edge.library import MAX_CONFIG_BYTES
from rooflight.truth import (
    MAX_TENSORS,
    PREFIX,
    Index,
    Origin,
    Row,
    Snapshot,
    assemble,
    choose_files,
    header_length,
    read_header,
    read_index,
)
from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.edge.snapshot.hub import Hub, Repository
    from rooflight.spec import Library

_INDEX = "model.safetensors.index.json"
_MAX_INDEX = 128 << 20
_MAX_FILES = 2_000
_MAX_HEADERS = 512 << 20  # bytes of all headers together
_MAX_CODE_FILES = 64
_MAX_CODE = 1 << 20
_AT_ONCE = 4

Progress = Callable[[int, int], None]  # headers read, headers in all


class Taken(NamedTuple):
    """A snapshot, what a reader should look into, and the remote code beside the weights as text."""

    snapshot: Snapshot
    warnings: tuple[str, ...]
    code: Mapping[str, str]


def take_from_hub(
    hub: Hub, model_id: str, revision: str | None, library: Library, date: str, progress: Progress
) -> Taken:
    """Return the snapshot of a repository at one commit. No weights are read."""
    repository = hub.repository(model_id, revision)
    config = small_file(hub, repository, "config.json", MAX_CONFIG_BYTES, "config-too-large")
    where = f"{model_id}@{repository.commit[:8]}"
    index = None
    if _INDEX in repository.files:
        raw = small_file(hub, repository, _INDEX, _MAX_INDEX, "index-mismatch")
        index = read_index(raw, f"{where} {_INDEX}")
    names = choose_files(tuple(repository.files), where, _files_of(index))

    def read(name: str) -> tuple[int, tuple[Row, ...]]:
        place, size = f"{where} {name}", repository.files[name]
        length = header_length(hub.read(repository, name, 0, min(PREFIX, size)), size, place)
        text = hub.read(repository, name, PREFIX, PREFIX + length)
        return length, read_header(text, size - PREFIX - length, place, "hub-headers")

    _bound(names, where)
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        rows = _gathered(pool.map(read, names), len(names), where, progress)
    finally:
        pool.shutdown(cancel_futures=True)
    origin = Origin(model_id, "hub", repository.commit, date, repository.total, "parameter count that the hub states")
    snapshot, warnings = assemble(origin, config, rows, index, library.config_keys, library.schemes)
    code, skipped = _remote_code(hub, repository)
    return Taken(snapshot, (*warnings, *skipped), code)


def take_from_path(path: Path, model_id: str, library: Library, date: str, progress: Progress) -> Taken:
    """Return the snapshot of a folder with a config.json, or of one safetensors file in such a folder."""
    folder = path if path.is_dir() else path.parent
    config = folder / "config.json"
    if not config.is_file():
        raise SpecError(
            "no-config", str(path), "a config.json beside the weights", "none", "pass the folder that holds both"
        )
    _fits(config.stat().st_size, MAX_CONFIG_BYTES, str(config), "config-too-large")
    index = None
    if path.is_dir():
        raw = folder / _INDEX
        if raw.is_file():
            _fits(raw.stat().st_size, _MAX_INDEX, str(raw), "index-mismatch")
            index = read_index(raw.read_bytes(), str(raw))
        present = tuple(sorted(child.name for child in folder.iterdir() if child.is_file()))
        names = choose_files(present, str(folder), _files_of(index))
    else:
        # A shard is no checkpoint, not even when it is named.
        names = choose_files((path.name,), str(path), None) if path.suffix == ".safetensors" else (path.name,)
    _bound(names, str(folder))
    rows = _gathered((_local_header(folder / name) for name in names), len(names), str(folder), progress)
    origin = Origin(model_id, "files in a local folder", None, date)
    snapshot, warnings = assemble(origin, config.read_bytes(), rows, index, library.config_keys, library.schemes)
    return Taken(snapshot, warnings, {})


def _local_header(path: Path) -> tuple[int, tuple[Row, ...]]:
    size = path.stat().st_size
    with path.open("rb") as handle:
        length = header_length(handle.read(PREFIX), size, str(path))
        rows = read_header(handle.read(length), size - PREFIX - length, str(path), "local-headers")
    _second_opinion(path, rows)
    return length, rows


def _second_opinion(path: Path, rows: tuple[Row, ...]) -> None:
    """Compare with what the safetensors library reads, where it is installed."""
    try:
        import safetensors
    except ImportError:
        return
    library: Any = safetensors
    try:
        with library.safe_open(str(path), framework="np") as handle:
            seen = {name: handle.get_slice(name) for name in handle.keys()}  # noqa: SIM118 - it is no mapping
            other = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in seen.items()}
    except library.SafetensorError as error:
        raise SpecError(
            "header-entry", str(path), "a file that the safetensors library reads too", str(error)[:160],
            "fetch the file again; if it stays so, the file is damaged",
        ) from None  # fmt: skip
    assert other == {row.name: (row.dtype, row.shape) for row in rows}, f"two readers of {path} disagree"


def _gathered(
    found: Iterable[tuple[int, tuple[Row, ...]]], files: int, where: str, progress: Progress
) -> tuple[Row, ...]:
    """Every file's rows in order, within bounds."""
    rows: list[Row] = []
    read = 0
    for done, (length, held) in enumerate(found, start=1):
        read += length
        rows += held
        if read > _MAX_HEADERS:
            raise SpecError(
                "header-size", where, f"headers of {_MAX_HEADERS:,} bytes together", "more", "pass one checkpoint"
            )
        if len(rows) > MAX_TENSORS:
            raise SpecError(
                "too-many-tensors", where, f"at most {MAX_TENSORS:,} tensors", "more", "pass one checkpoint"
            )
        progress(done, files)
    return tuple(rows)


def _bound(names: tuple[str, ...], where: str) -> None:
    if len(names) > _MAX_FILES:
        raise SpecError(
            "several-checkpoints", where, f"at most {_MAX_FILES:,} files", f"{len(names):,}", "pass one checkpoint"
        )


def _files_of(index: Index | None) -> tuple[str, ...] | None:
    return None if index is None else tuple(sorted(set(index.files.values())))


def small_file(hub: Hub, repository: Repository, name: str, most: int, code: str) -> bytes:
    """Return a whole file of bounded size. SpecError where it is larger, or not there."""
    where = f"{repository.id}@{repository.commit[:8]} {name}"
    if name not in repository.files:
        raise SpecError("hub-not-found", where, f"a {name}", "none", "take a repository or revision that has one")
    _fits(repository.files[name], most, where, code)
    return hub.read(repository, name)


def _fits(size: int, most: int, where: str, code: str) -> None:
    if size > most:
        raise SpecError(code, where, f"at most {most:,} bytes", f"{size:,}", "pass the model's own file")


def _remote_code(hub: Hub, repository: Repository) -> tuple[dict[str, str], list[str]]:
    """The repository's Python files as text, and what was left out of them."""
    code: dict[str, str] = {}
    skipped: list[str] = []
    for name in sorted(name for name in repository.files if name.endswith(".py")):
        size = repository.files[name]
        if len(code) == _MAX_CODE_FILES or size > _MAX_CODE:
            skipped.append(f"{name[:120]} is not staged: more than {_MAX_CODE_FILES} files, or {_MAX_CODE:,} bytes")
            continue
        try:
            code[name] = hub.read(repository, name).decode("utf-8")
        except UnicodeDecodeError:
            skipped.append(f"{name[:120]} is not staged: not UTF-8 text")
    return code, skipped
