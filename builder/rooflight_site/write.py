"""The sole disk writer: a whole site appears at once, or the previous one stays as it was."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rooflight_site.errors import NotOurs

MARK = "build.json"  # only a folder that holds one is ours to replace


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A fresh folder beside `target`. It takes the target's place when the block ends well; else it is removed.

    Beside it, because only a rename within one file system is a single step.
    """
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    previous = target.with_name(f".{target.name}.previous")
    _recover(target, previous)
    if target.exists() and any(target.iterdir()) and not (target / MARK).is_file():
        raise NotOurs(target, MARK)
    stage = Path(tempfile.mkdtemp(prefix=f".{target.name}.building-", dir=target.parent))
    try:
        stage.chmod(0o755)  # mkdtemp makes it private, which a web server could not read
        yield stage
        _swap(stage, target, previous)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _swap(stage: Path, target: Path, previous: Path) -> None:
    if target.exists():
        target.rename(previous)
    try:
        stage.rename(target)
    except BaseException:
        _recover(target, previous)
        raise
    shutil.rmtree(previous, ignore_errors=True)


def _recover(target: Path, previous: Path) -> None:
    """Undo a swap that was cut short between its two renames; drop what an earlier one left over."""
    if previous.exists():
        if target.exists():
            shutil.rmtree(previous)
        else:
            previous.rename(target)


def text(path: Path, content: str) -> None:
    """Write a text file, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")


def data(path: Path, content: Any) -> None:
    """Write a JSON file. NaN and infinity are refused: no other reader of JSON takes them."""
    text(path, json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def tree(source: Path, target: Path) -> None:
    """Copy a folder of assets."""
    shutil.copytree(source, target, dirs_exist_ok=True, copy_function=shutil.copyfile)


def move(source: Path, target: Path) -> None:
    """Move the entries of one folder into another on the same file system."""
    for entry in source.iterdir():
        entry.replace(target / entry.name)


def copy(source: Path, target: Path) -> None:
    """Copy one file, its target's folders included."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def drop(folder: Path) -> None:
    """Remove a folder this build made."""
    shutil.rmtree(folder)
