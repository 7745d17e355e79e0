"""Writes what documentation can know from the code: tables of ops, dims, components and errors, and recorded commands.

python tools/docs_tables.py           write
python tools/docs_tables.py --check   say what is out of date, and fail
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("engine", "builder", "tools")]

import docs_blocks  # noqa: E402 - found through the path above
import docs_code  # noqa: E402
import docs_layout  # noqa: E402
import docs_machines  # noqa: E402
import docs_specs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = ROOT / "docs"

PAGES: dict[str, Callable[[], str]] = {
    "ops.md": docs_specs.ops,
    "dims.md": docs_specs.dims,
    "roles.md": docs_specs.roles,
    "components.md": docs_specs.components,
    "models.md": docs_specs.models,
    "errors.md": docs_code.errors,
    "cli.md": docs_code.command_line,
    "gpus.md": docs_machines.gpus,
}

# Parts of hand-written pages: <!-- table: NAME --> … <!-- end -->
PARTS: dict[str, Callable[[], str]] = {
    "coverage": docs_specs.coverage,
    "elementwise": docs_specs.elementwise,
    "functions": docs_code.functions,
    "figures": docs_code.figures,
    "gpu_facts": docs_specs.gpu_facts,
    "profiles": docs_specs.profiles,
    **docs_layout.PARTS,
    **docs_machines.PARTS,
}
_PART = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """A hand-written page with its generated parts and its commands' output as they are now."""
    text = _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)
    return docs_blocks.recorded(text)


def documents() -> dict[Path, str]:
    """Every document and what it should hold."""
    made = {DOCS / name: write() for name, write in PAGES.items()}
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        if path.is_file() and path not in made:
            made[path] = filled(path.read_text(encoding="utf-8"))
    return made


def stale() -> list[str]:
    """The documents that no longer say what the code says."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, text in documents().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write or check all documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document is out of date")
    if parser.parse_args().check:
        found = stale()
        print("\n".join([*found, "out of date: run `make docs`"] if found else ["documents are up to date"]))  # noqa: T201
        return 1 if found else 0
    for path, text in documents().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
