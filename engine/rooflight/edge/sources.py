"""Texts that specs quote from: files of pinned wheels, read out of the archive as text, never imported."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

MAX_TEXT = 4 << 20
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # how wheels are packed; no other way is read
_LOCKED = 0x1 | 0x20 | 0x40  # encrypted, a patch of another file, strongly encrypted


def sources_folder() -> Path:
    """Return where `make sources` puts the wheels: beside specs/ in the repository."""
    return Path(__file__).resolve().parents[3] / ".sources"


def read_sources(wanted: frozenset[str], folder: Path | None = None) -> dict[str, str]:
    """Return path -> text for those of the wanted files that some wheel of the folder holds."""
    found: dict[str, str] = {}
    place = folder or sources_folder()
    for wheel in sorted(place.glob("*.whl")) if place.is_dir() else []:
        try:
            with zipfile.ZipFile(wheel) as archive:
                held = {
                    name: info for name in wanted - set(found) if (info := archive.NameToInfo.get(name)) is not None
                }
                for name, info in held.items():
                    if info.file_size <= MAX_TEXT and info.compress_type in _PLAIN and not info.flag_bits & _LOCKED:
                        found[name] = archive.read(info).decode("utf-8", "replace")
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error):
            continue  # a download that broke off: its texts are then not at hand
    return found
