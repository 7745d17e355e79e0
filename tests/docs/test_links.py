"""Links inside the documentation lead somewhere, and every page is listed."""

import re

import markdown
import pytest

LINK = re.compile(r"(?<!\\)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
EXTENSIONS = ("tables", "toc", "fenced_code", "admonition", "attr_list", "def_list", "footnotes")


def links(text):
    prose = FENCED.sub("", text)
    prose = re.sub(r"`[^`\n]*`", lambda found: found[0].replace("[", "(").replace("]", ")"), prose)
    return LINK.findall(prose)


def anchors(text):
    """The ids that the site's Markdown gives this page's headings."""
    html = markdown.markdown(text, extensions=EXTENSIONS)
    return set(re.findall(r'id="([^"]+)"', html))


def broken(path, text, root):
    found = []
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            found.append(f"{target}: a page holds relative links only")
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.is_file():
            found.append(f"{target}: no such file")
        elif path.name != "README.md" and not there.is_relative_to(root / "docs"):
            found.append(f"{target}: the site holds docs/ alone")
        elif anchor and anchor not in anchors(there.read_text(encoding="utf-8")):
            found.append(f"{target}: no such heading")
    return found


def test_links_resolve(document, root):
    assert not broken(document, document.read_text(encoding="utf-8"), root)


@pytest.mark.parametrize("target", ["nowhere.md", "ops.md#nowhere", "#nowhere", "../README.md", "https://example.org"])
def test_a_broken_link_is_seen(root, target):
    assert broken(root / "docs" / "overview.md", f"# Title\n\n[words]({target})\n", root)


def test_a_page_starts_with_its_only_title(document):
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_the_index_lists_every_page_once(root):
    listed = links((root / "docs" / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in (root / "docs").glob("*.md") if path.name != "index.md")


def test_images_are_there_and_small(root):
    for image in (root / "docs").rglob("*.png"):
        assert image.stat().st_size < 300_000, image
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (root / "README.md").read_text(encoding="utf-8"))
    assert shown
    assert all((root / path).is_file() for path in shown)
