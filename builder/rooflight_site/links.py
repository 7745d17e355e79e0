"""Where every page and data file of the site lives, and how one points at another.

All links are relative: the site works under any path prefix, from a folder opened in a browser included.
"""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import relpath
from urllib.parse import unquote, urlsplit

NOT_FOUND = "404.html"  # shown at any depth, so its links alone start at the root
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OTHER_HOST = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_LINKED: Mapping[str, tuple[str, ...]] = {
    "a": ("href",),
    "link": ("href",),
    "script": ("src",),
    "img": ("src",),
    "source": ("src",),
    "iframe": ("src",),
    "form": ("action",),
}


def model_page(model_id: str) -> str:
    """The Inspector's address from the site's root; it follows the hub's own `org/name`."""
    return f"models/{'/'.join(_parts(model_id))}/"


def model_data(model_id: str) -> str:
    """The address of a model's data file from the site's root."""
    return f"data/models/{'--'.join(_parts(model_id))}.json"


def inference_page(model_id: str) -> str:
    """The address of a model's Inference page from the site's root."""
    return f"{model_page(model_id)}inference/"


def inference_data(model_id: str) -> str:
    """The address of the data file behind it."""
    return f"data/inference/{'--'.join(_parts(model_id))}.json"


def relative(here: str, there: str) -> str:
    """`there` as seen from the page `here`; both are addresses from the site's root, `""` being the front page."""
    path = relpath(there or ".", here or ".")
    return path + "/" if there.endswith("/") or not there else path


def _parts(model_id: str) -> list[str]:
    parts = model_id.split("/")
    if len(parts) != 2 or not all(_PART.fullmatch(part) for part in parts):
        raise ValueError(
            f"model id {model_id!r} cannot name a page: expected org/name of letters, digits, '.', '_', '-'"
        )
    return parts


class _Reader(HTMLParser):
    """Collects what a page links to and what can be linked to on it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []  # element, address
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if anchor := values.get("id") or (tag == "a" and values.get("name")):
            self.anchors.add(str(anchor))
        if tag == "link" and values.get("rel") == "canonical":
            return  # says where the page stands when it is published; nothing is loaded from there
        self.links += [(tag, link) for name in _LINKED.get(tag, ()) if (link := values.get(name))]


def faults(site: Path) -> Iterator[str]:
    """Every link of a built site that leads nowhere, every absolute path and every file it would load from elsewhere.

    A link to another host that a reader may follow (`<a href>`) is fine; a script, style or image is not.
    """
    pages = {page: _read(page) for page in sorted(site.rglob("*.html"))}
    root = site.resolve()
    for page, reader in pages.items():
        where = page.relative_to(site).as_posix()
        for tag, link in reader.links:
            if _OTHER_HOST.match(link):
                if tag != "a":
                    yield f"{where}: <{tag}> loads {link} from another host"
                continue
            url = urlsplit(link)
            if url.scheme in {"mailto", "data", "javascript"}:
                continue
            if url.path.startswith("/"):
                if where != NOT_FOUND:
                    yield f"{where}: {link} starts at the host's root, which breaks under a path prefix"
                continue
            target = _target(page, unquote(url.path))
            if not target.resolve().is_relative_to(root) or not target.is_file():
                yield f"{where}: {link} leads nowhere"
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors | {"__top"}:
                yield f"{where}: {link} names no place on that page"


def _read(page: Path) -> _Reader:
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


def _target(page: Path, path: str) -> Path:
    if not path:
        return page
    target = Path(page.parent, *PurePosixPath(path).parts)
    normal = Path(*_normal(target.parts))
    return normal / "index.html" if normal.is_dir() else normal


def _normal(parts: tuple[str, ...]) -> Iterator[str]:
    kept: list[str] = []
    for part in parts:
        if part == ".." and kept:
            kept.pop()
        elif part != ".":
            kept.append(part)
    yield from kept
