"""Runs what documentation shows: commands and their output, Python sessions, and the files a page tells to write.

A block's fence says what it is: ```console holds commands after `$ ` and what they print, ```python a program,
```pycon a Python session, and `title="PATH"` on any fence a file that later blocks of the page find in the working
folder.
"""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from rooflight.edge import cli, front, sources, validate

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

_FENCE = re.compile(r"^```(\w+)?(?: +title=\"([^\"]+)\")?\s*$")
# What decides how text is laid out, held fixed: a page must not depend on who builds it.
_TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "FORCE_COLOR": None, "TERM": "dumb", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file it is said to be, its lines, and the index of the first in the page."""

    language: str
    title: str | None
    lines: tuple[str, ...]
    first: int


def blocks(page: str) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = lines.index("```", at + 1)
            yield Block(fence[1] or "", fence[2], tuple(lines[at + 1 : end]), at + 1)
            at = end
        at += 1


class Workshop:
    """A scratch folder in which one page's blocks happen, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0
        self.scope: dict[str, Any] = {"__name__": "__main__"}

    def write(self, block: Block) -> None:
        """Write the file a block shows."""
        path = self.folder / str(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join((*block.lines, "")), encoding="utf-8")
        front.catalog.cache_clear()

    def run(self, command: str) -> list[str]:
        """The lines a command prints, without trailing blanks."""
        parts = [shlex.split(part) for part in command.split(" | ")]
        program, *words = parts[0]
        if program == "echo" and words == ["$?"]:
            return [str(self.status)]
        if program == "cp":
            source = ROOT / words[-2] if not (self.folder / words[-2]).exists() else self.folder / words[-2]
            shutil.copytree(source, self.folder / words[-1], dirs_exist_ok=True)
            return []
        if program != "rooflight":
            raise ValueError(f"a page may run rooflight, cp and echo $?, not {program}")
        done = CliRunner(env=_TERMINAL).invoke(cli.main, words, prog_name="rooflight")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        self.status = done.exit_code
        if len(parts) == 1:
            return _plain(done.output)
        lines = _plain(done.stdout)
        for name, *options in parts[1:]:
            lines = _FILTERS[name](lines, options)
        return [*_plain(done.stderr), *lines]  # a pipe carries standard output only, and comes later

    def recorded(self, block: Block) -> list[str]:
        """The lines of a console block as they should be."""
        made: list[str] = []
        for line in block.lines:
            if line.startswith("$ "):
                made += [line, *self.run(line.removeprefix("$ "))]
        return made

    def doctest(self, block: Block, name: str) -> list[str]:
        """What a Python session prints otherwise than shown; names live on to the page's next block."""
        test = doctest.DocTestParser().get_doctest("\n".join((*block.lines, "")), self.scope, name, name, block.first)
        complaints: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
        runner.run(test, out=complaints.append, clear_globs=False)
        self.scope = test.globs
        return complaints

    def execute(self, block: Block, name: str) -> None:
        """Run a plain Python block."""
        exec(compile("\n" * block.first + "\n".join(block.lines), name, "exec"), self.scope)  # noqa: S102 - our own page


@contextlib.contextmanager
def workshop() -> Iterator[Workshop]:
    """A Workshop whose folder is the working folder while the block runs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        here, sources.sources_folder = sources.sources_folder, lambda: Path(folder, ".sources")
        _forget()
        try:
            yield Workshop(Path(folder))
        finally:
            sources.sources_folder = here
            _forget()


def _forget() -> None:
    # A page must not depend on whether `make sources` has run, nor on the page before it.
    front.catalog.cache_clear()
    validate._texts.cache_clear()  # noqa: SLF001 - as nobody but this page has another folder of texts


def recorded(page: str) -> str:
    """The page with the output of every command as it is now."""
    lines = page.splitlines()
    made: list[str] = []
    copied = 0
    with workshop() as shop:
        for block in blocks(page):
            if block.title:
                shop.write(block)
            elif block.language == "python":
                shop.execute(block, "page")
            elif block.language == "console":
                made += [*lines[copied : block.first], *shop.recorded(block)]
                copied = block.first + len(block.lines)
    return "\n".join([*made, *lines[copied:], ""])


def _plain(output: str) -> list[str]:
    return [line.rstrip() for line in output.splitlines()]


def _head(lines: list[str], options: list[str]) -> list[str]:
    return lines[: int(options[1])]


def _tail(lines: list[str], options: list[str]) -> list[str]:
    return lines[-int(options[1]) :]


def _grep(lines: list[str], options: list[str]) -> list[str]:
    return [line for line in lines if options[0] in line]


_FILTERS = {"head": _head, "tail": _tail, "grep": _grep}
