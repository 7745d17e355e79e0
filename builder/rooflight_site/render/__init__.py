"""Templates filled with payloads. Autoescape is on; a template formats and never computes."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from rooflight_site.format import GAP, MISSING
from rooflight_site.links import relative

_BREAK = re.compile(r"(?<=[.:,·])|(?=\+)")


def page(source: Path, template: str, here: str, **context: Any) -> str:
    """The HTML of one view; `here` is the page's address from the site's root."""
    html = _environment(source).get_template(template).render(link=lambda there: relative(here, there), **context)
    return inert(html)


def inert(html: str) -> str:
    """The same HTML with nothing in it that a second template engine would take for its own.

    MkDocs includes the view with Jinja, so a model called `{% endraw %}{{ 7 * 7 }}` must not leave the raw block.
    """
    return "{% raw %}" + html.replace("{%", "{&#37;") + "{% endraw %}"


def script_json(value: Any) -> Markup:
    """JSON for a `<script>` element: no character in it can end the element, open a comment or start a tag."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&%":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - the four signs above are all that HTML could react to


def inline(text: str) -> Markup:
    """A sentence of the engine, with what it puts in backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick without its partner is a plain sign
        return escape(text)
    wraps = Markup("<code>{}</code>")  # its format() escapes what it takes in
    return Markup().join(wraps.format(piece) if at % 2 else piece for at, piece in enumerate(pieces))


def breakable(text: str) -> Markup:
    """A name or a layout that may take a new line after its dots, colons and commas, and before what it owes."""
    return Markup("<wbr>").join(escape(piece) for piece in _BREAK.split(text))


@cache
def _environment(source: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(source / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"GAP": GAP, "MISSING": MISSING}
    environment.filters |= {"script_json": script_json, "inline": inline, "breakable": breakable}
    return environment
