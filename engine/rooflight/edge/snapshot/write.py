"""Writes a folder all at once: what breaks off on the way leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Generator


def write_folder(target: Path, files: Mapping[str, str], *, replace: bool) -> None:
    """Write the files into a new folder of that name. SpecError where there is one, unless it is to be replaced.

    They are written into a folder beside it first, which is then renamed.
    """
    if target.exists() and not replace:
        raise SpecError(
            "snapshot-exists", str(target), "no such folder yet", "one that is there",
            "pass --replace to take its place, or --out for another folder",
        )  # fmt: skip
    with _refusals(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            made.chmod(0o755)
            for name, text in sorted(files.items(), reverse=True):
                path = made / "new" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            if target.exists():
                os.replace(target, made / "old")  # noqa: PTH105 - one call for either name
            try:
                os.replace(made / "new", target)  # noqa: PTH105
            except OSError:
                if (made / "old").exists():
                    os.replace(made / "old", target)  # noqa: PTH105
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)


def must_hold_only(target: Path, names: Collection[str]) -> None:
    """Refuse to replace what is there unless it is a folder of files of these names alone."""
    if not target.exists() and not target.is_symlink():
        return
    got = "no folder"
    if target.is_dir():
        others = sorted(child.name for child in target.iterdir() if child.name not in names)
        got = f"{others[0][:80]} in it" if others else ""
    if got:
        raise SpecError(
            "snapshot-exists", str(target), "a snapshot to replace: a folder of " + ", ".join(names) + " alone", got,
            "move it away, or pass --out for another folder",
        )  # fmt: skip


def write_file(target: Path, text: str) -> None:
    """Write one new file. SpecError where there is one of that name."""
    with _refusals(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("x", encoding="utf-8", newline="\n") as handle:
                handle.write(text)
        except FileExistsError:
            raise SpecError(
                "spec-exists", str(target), "no such file yet", "one that is there", "pass another name with --out"
            ) from None


def code_folder(model_id: str, commit: str) -> Path:
    """Return where the remote code of a repository is staged as text: in the user's cache, never in the project."""
    named = os.environ.get("ROOFLIGHT_CACHE")
    caches = os.environ.get("XDG_CACHE_HOME")
    base = Path(named) if named else (Path(caches) if caches else Path.home() / ".cache") / "rooflight"
    return base / "remote-code" / model_id.replace("/", "--", 1) / commit


@contextmanager
def _refusals(target: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise SpecError(
            "cannot-write", str(target), "a place that can be written", error.strerror or type(error).__name__,
            "pass another folder with --out",
        ) from None  # fmt: skip
