"""Finds the specs on disk and reads them; finds the checkpoints whose facts ship with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rooflight.edge.yaml_text import read_yaml
from rooflight.hardware import Gpu, read_gpu
from rooflight.spec import Library, Model, Provenance, Sources, bind, described, find_spec, nearest, read_library
from rooflight.spec.config import read_config
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CONFIG_BYTES = 4 << 20


def specs_folder() -> Path:
    """Return the repository's specs/ where the engine runs from it, else the copy inside the package."""
    here = Path(__file__).resolve()
    for folder in (here.parents[3] / "specs", here.parents[1] / "_data" / "specs"):
        if (folder / "dims.yaml").is_file():
            return folder
    raise SpecError(
        "no-specs",
        str(here.parents[1]),
        "a folder specs/ beside engine/, or inside the package",
        "neither",
        "reinstall rooflight, or pass the folder with --specs",
    )


@dataclass(frozen=True)
class Catalog:
    """The specs of one folder, and the checkpoints whose facts stand under its truth/."""

    folder: Path

    @cached_property
    def library(self) -> Library:
        """All specs, read once. Raises SpecError at the first fault."""
        base = self.folder.parent
        return read_library(
            Sources(
                dims=_read(self.folder / "dims.yaml", base),
                roles=_read(self.folder / "roles.yaml", base),
                config_keys=_read(self.folder / "config_keys.yaml", base),
                components=_read_all(self.folder / "components", base),
                drafts=_read_all(self.folder / "drafts", base),
                models=_read_all(self.folder / "models", base),
                schemes=_read_all(self.folder / "quant", base),
                precisions=_read_all(self.folder / "precision", base),
            )
        )

    def ids(self) -> tuple[str, ...]:
        """Return the ids of the checkpoints that some spec covers, sorted."""
        return tuple(model_id for model_id, folder in self._snapshots() if self._covered(folder))

    def models(self) -> tuple[Model, ...]:
        """Return every checkpoint that some spec covers, sorted by id."""
        return tuple(self.model(model_id) for model_id in self.ids())

    def model(self, model_id: str) -> Model:
        """Return one checkpoint by id. SpecError suggests the nearest where there is none."""
        for known, folder in self._snapshots():
            if known == model_id:
                provenance = _provenance(folder)
                path = folder / "config.json"
                where = _shown(path, self.folder.parent)
                beside = folder / "storage.yaml"
                storage = _read(beside, self.folder.parent) if beside.is_file() else None
                return bind(self.library, read_json(path), where, model_id, provenance, storage)
        known_ids = tuple(known for known, _ in self._snapshots())
        raise SpecError(
            "unknown-model",
            model_id,
            "a model id of `rooflight models`, a config.json, or a folder that holds one",
            "neither",
            nearest(model_id, known_ids, "`rooflight models` lists the ids"),
        )

    def _snapshots(self) -> Iterator[tuple[str, Path]]:
        truth = self.folder / "truth"
        folders = sorted(truth.iterdir()) if truth.is_dir() else []
        for folder in folders:
            if (folder / "config.json").is_file():
                yield folder.name.replace("--", "/", 1), folder

    def _covered(self, folder: Path) -> bool:
        path = folder / "config.json"
        config = read_config(read_json(path), str(path), self.library.config_keys)
        try:
            find_spec(self.library, config)
        except SpecError as error:
            if error.code != "no-spec":
                raise
            return False
        return True


def open_catalog(folder: str | Path | None = None) -> Catalog:
    """Open a specs folder, the project's own where none is named."""
    return Catalog(specs_folder() if folder is None else Path(folder).resolve())


def load_target(catalog: Catalog, target: str) -> Model:
    """Return the model that a target names: a model id, a config.json, or a folder that holds one."""
    path = Path(target)
    kind = _kind(path) if target else ""
    if kind == "folder":
        path = path / "config.json"
        if not path.is_file():
            raise SpecError("no-config", target, "a folder with a config.json", "none in it", "pass a model's folder")
        kind = "file"
    if kind == "file":
        name = path.parent.name if path.name == "config.json" else path.stem
        return bind(catalog.library, read_json(path), str(path), name or "config")
    if target.endswith(".json") or target.startswith((".", "/", "~")):
        raise SpecError("no-config", target, "a config.json", "no such file", "check the path")
    return catalog.model(target)


def _kind(path: Path) -> str:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except (OSError, ValueError):  # longer than any path, or with a NUL: then it is no path
        return ""


def open_gpu(path: str) -> Gpu:
    """Read a GPU file. SpecError where there is none or it is not one."""
    place = Path(path)
    if not place.is_file():
        raise SpecError("missing-file", path, "a GPU file", "no such file", "check the path")
    return read_gpu(_read(place, place.parent), place.name)


def read_json(path: Path) -> Any:
    """Read a JSON file of bounded size. SpecError where it is too large, truncated or not JSON."""
    size = path.stat().st_size
    if size > MAX_CONFIG_BYTES:
        raise SpecError(
            "config-too-large",
            str(path),
            f"at most {MAX_CONFIG_BYTES:,} bytes",
            f"{size:,}",
            "pass the model's own config.json",
        )
    try:
        return json.loads(
            path.read_bytes(), object_pairs_hook=lambda pairs: _unique(pairs, path), parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(
            "config-not-json", str(path), "JSON", reason, "fetch the file again, it may be truncated"
        ) from None


def _unique(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SpecError("duplicate-key", f"{path} {key}", "every key once", f"{key} twice", "keep one of the two")
        found[key] = value
    return found


def _no_constant(word: str) -> Any:
    message = f"{word} is not JSON"
    raise ValueError(message)


def _read(path: Path, base: Path) -> Any:
    shown = _shown(path, base)
    if not path.is_file():
        raise SpecError("missing-file", shown, "a file of the specs folder", "no such file", "restore it")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError("yaml-syntax", shown, "UTF-8 text", str(error)[:120], "save the file as UTF-8") from None
    return read_yaml(text, shown)


def _read_all(folder: Path, base: Path) -> dict[str, Any]:
    return {path.stem: _read(path, base) for path in sorted(folder.glob("*.yaml"))} if folder.is_dir() else {}


def _shown(path: Path, base: Path) -> str:
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def _provenance(folder: Path) -> Provenance:
    path = folder / "provenance.json"
    if not path.is_file():
        return Provenance()
    read: Any = read_json(path)
    facts = cast("dict[str, Any]", read if isinstance(read, dict) else {"notes": None})
    if not isinstance(facts.get("notes", []), list):
        raise SpecError("wrong-type", str(path), "an object, notes a list", described(read), "correct the file")
    return Provenance(
        lab=facts.get("lab"),
        source=facts.get("source"),
        config_state=facts.get("config_state"),
        strength=facts.get("strength"),
        released=facts.get("released"),
        notes=tuple(facts.get("notes", ())),
    )
