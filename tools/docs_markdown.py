"""Markdown as strings: tables, inline code, whole pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTE = "<!-- Written by tools/docs_tables.py (make docs); edits here are overwritten. -->"


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; cells are Markdown themselves."""
    head = list(header)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def code(value: object) -> str:
    """A value as inline code; nothing for nothing."""
    return f"`{value}`" if str(value) else ""


def codes(values: Iterable[object], glue: str = ", ") -> str:
    """Several values as inline code."""
    return glue.join(code(value) for value in values)


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", NOTE, *(part.strip("\n") for part in parts if part), ""]).rstrip("\n") + "\n"


def sentence(text: str) -> str:
    """A phrase as a sentence."""
    return text[:1].upper() + text[1:] + "."


def anchor(heading: str) -> str:
    """The anchor that MkDocs gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower())
