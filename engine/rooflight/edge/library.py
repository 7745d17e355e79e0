"""Finds the specs on disk and reads them; finds the checkpoints whose facts ship with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any

from rooflight.edge.yaml_text import read_yaml
from rooflight.spec import Library, Model, Provenance, Sources, bind, find_spec, nearest, read_library
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
        sources = Sources(
            dims=read_yaml_file(self.folder / "dims.yaml", base),
            roles=read_yaml_file(self.folder / "roles.yaml", base),
            config_keys=read_yaml_file(self.folder / "config_keys.yaml", base),
            components=_read_all(self.folder / "components", base),
            drafts=_read_all(self.folder / "drafts", base),
            models=_read_all(self.folder / "models", base),
            schemes=_read_all(self.folder / "quant", base),
            precisions=_read_all(self.folder / "precision", base),
        )
        if not sources.models:
            raise SpecError(
                "missing-file",
                self.shown(self.folder / "models"),
                "a folder with at least one model spec",
                "no .yaml file",
                "restore it, or pass another folder with --specs",
            )
        return read_library(sources)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of the checkpoints that some spec covers, sorted. SpecError where the specs cannot be read."""
        _ = self.library  # a folder without specs has no checkpoints to look at, and must not pass for an empty one
        return tuple(model_id for model_id, folder in self._snapshots() if self._covered(folder))

    def models(self) -> tuple[Model, ...]:
        """Return every checkpoint that some spec covers, sorted by id."""
        return tuple(self.model(model_id) for model_id in self.ids())

    def model(self, model_id: str) -> Model:
        """Return one checkpoint by id. SpecError suggests the nearest where there is none."""
        for known, folder in self._snapshots():
            if known == model_id:
                provenance = self._provenance(folder)
                path = folder / "config.json"
                where = self.shown(path)
                beside = folder / "storage.yaml"
                storage = read_yaml_file(beside, self.folder.parent) if beside.is_file() else None
                return bind(self.library, read_json(path), where, model_id, provenance, storage)
        known_ids = tuple(known for known, _ in self._snapshots())
        raise SpecError(
            "unknown-model",
            model_id,
            "a model id of `rooflight models`, a config.json, or a folder that holds one",
            "neither",
            nearest(model_id, known_ids, "`rooflight models` lists the ids"),
        )

    def shown(self, path: Path) -> str:
        """Return how messages name a file of the folder: from the folder's own name on."""
        return _shown(path, self.folder.parent)

    def _snapshots(self) -> Iterator[tuple[str, Path]]:
        truth = self.folder / "truth"
        folders = sorted(truth.iterdir()) if truth.is_dir() else []
        for folder in folders:
            if (folder / "config.json").is_file():
                yield folder.name.replace("--", "/", 1), folder

    def _provenance(self, folder: Path) -> Provenance:
        from rooflight.truth import read_provenance

        path = folder / "provenance.json"
        facts = read_provenance(read_json(path), self.shown(path)) if path.is_file() else {}
        known = {key: facts.get(key) for key in ("lab", "source", "config_state", "strength", "released")}
        return Provenance(**known, notes=tuple(facts.get("notes", ())))

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
    """Open a specs folder, the project's own where none is named. SpecError where there is no such folder."""
    if folder is None:
        return Catalog(specs_folder())
    if not str(folder) or _kind(Path(folder)) != "folder":
        raise SpecError(
            "no-specs",
            str(folder) or "--specs",
            "a folder with dims.yaml, roles.yaml, config_keys.yaml, components/ and models/",
            f"no folder {str(folder)!r}"[:120],
            "check the path, or leave --specs out for the project's own",
        )
    return Catalog(Path(folder).resolve())


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
        raise SpecError("no-config", target, "a config.json", instead_of_file(path), "check the path")
    return catalog.model(target)


def _kind(path: Path) -> str:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except (OSError, ValueError):  # longer than any path, or with a NUL: then it is no path
        return ""


def read_json(path: Path) -> Any:
    """Read a JSON file of bounded size. SpecError where it is too large, truncated or not JSON."""
    from rooflight.truth import parse_json

    size = path.stat().st_size
    if size > MAX_CONFIG_BYTES:
        raise SpecError(
            "config-too-large",
            str(path),
            f"at most {MAX_CONFIG_BYTES:,} bytes",
            f"{size:,}",
            "pass the model's own config.json",
        )
    return parse_json(path.read_bytes(), str(path), "config-not-json", "fetch the file again, it may be truncated")


def read_yaml_file(path: Path, base: Path) -> Any:
    """Read a YAML file of the project; messages name it from `base` on. SpecError where it is none."""
    shown = _shown(path, base)
    must_be_file(path, shown, "a file of the specs folder", "restore it")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError("yaml-syntax", shown, "UTF-8 text", str(error)[:120], "save the file as UTF-8") from None
    return read_yaml(text, shown)


def must_be_file(path: Path, shown: str, expected: str, fix: str) -> None:
    """Refuse what is no plain file."""
    got = instead_of_file(path)
    if got:
        raise SpecError("missing-file", shown, expected, got, fix)


def instead_of_file(path: Path) -> str:
    """Say what is at a path in place of a plain file, nothing where one is: a pipe would be waited for without end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link to nothing" if path.is_symlink() else "no such file"
    except (OSError, ValueError) as error:  # a loop of links, no permission, a name too long or with a NUL
        return getattr(error, "strerror", None) or str(error)
    return "" if S_ISREG(mode) else "a folder" if S_ISDIR(mode) else "neither a file nor a folder"


def _read_all(folder: Path, base: Path) -> dict[str, Any]:
    return {path.stem: read_yaml_file(path, base) for path in sorted(folder.glob("*.yaml"))} if folder.is_dir() else {}


def _shown(path: Path, base: Path) -> str:
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)
