"""The hand-written pages: every Markdown file under docs/ becomes a page of the Docs section."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TITLE = re.compile(r"^#\s+(.+?)\s*#*$", re.MULTILINE)
_HOME = ("index.md", "README.md")
_PARAGRAPH = re.compile(r"^(?![#>|\-*`!<\s]).+(?:\n(?!\n).+)*", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_PAGE_LINK = re.compile(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)")
_SENTENCE = re.compile(r"(.+?[.:])(?=\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prose:
    """`files` by their path in the site's sources, `nav` as MkDocs reads it, `home` the section's address."""

    files: Mapping[str, str]
    nav: list[dict[str, Any]]
    home: str | None


def sections(docs: Path) -> Prose:
    """Every file of `docs` in reading order. No folder or an empty one: no section."""
    found = {file.relative_to(docs).as_posix(): file.read_text(encoding="utf-8") for file in sorted(docs.rglob("*.md"))}
    if not found:
        return Prose({}, [], None)
    files = {f"docs/{path}": text for path, text in found.items()}
    if not any(name in found for name in _HOME):
        files["docs/index.md"] = _contents(found)
    home = next(files[f"docs/{name}"] for name in _HOME if f"docs/{name}" in files)
    linked = {path: at for at, path in enumerate(reversed(_PAGE_LINK.findall(home)))}  # the first mention counts

    def reading_order(path: str) -> tuple[bool, int, str]:
        """The front page, then as it links to the others, then the rest by title."""
        name = path.removeprefix("docs/")
        return name not in _HOME, -linked.get(name, -1), _title(path, files[path]).casefold()

    order = sorted(files, key=reading_order)
    return Prose(files, [{"Docs": [{_title(path, files[path]): path} for path in order]}], "docs/")


def _title(path: str, text: str) -> str:
    match = _TITLE.search(text)
    return match[1].replace("`", "") if match else Path(path).stem.replace("-", " ").capitalize()


def _contents(found: Mapping[str, str]) -> str:
    """A front page for the section: every page with its first sentence."""
    entries = sorted((_title(path, text), path, _opening(text)) for path, text in found.items())
    lines = [f"[{title}]({path})\n:   {opening}\n" for title, path, opening in entries]
    return "\n".join(["# Documentation", "", *lines])


def _opening(text: str) -> str:
    paragraph = _PARAGRAPH.search(text)
    plain = _LINK.sub(r"\1", " ".join(paragraph[0].split())) if paragraph else ""
    sentence = _SENTENCE.match(plain)
    return sentence[1].rstrip(":") if sentence else plain
