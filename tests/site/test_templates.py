"""Templates and scripts format; a number they made would be one without a formula."""

import ast
import re
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from rooflight_site import payload

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "site_src").glob("*/**/*.html"))
ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg)
FILTERS = {
    "attr",
    "attribute",
    "breakable",
    "capitalize",
    "d",
    "e",
    "first",
    "inline",
    "join",
    "length",
    "list",
    "map",
    "safe",
    "script_json",
    "selectattr",
    "sort",
    "striptags",
    "unique",
    "url",
    "urlencode",
}
BUILDER = ROOT / "builder" / "rooflight_site"
SERIALIZER = Path(payload.__file__)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_does_no_arithmetic(path):
    tree = Environment().parse(path.read_text(encoding="utf-8"))
    assert [type(node).__name__ for kind in ARITHMETIC for node in tree.find_all(kind)] == []
    assert {node.name for node in tree.find_all(nodes.Filter)} <= FILTERS


@pytest.mark.parametrize("path", sorted(BUILDER.rglob("*.py")), ids=lambda path: path.name)
def test_only_the_serializer_reads_a_quantity(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    reads = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in {"value", "formula"}]
    assert path == SERIALIZER or reads == []


@pytest.mark.parametrize("path", sorted((ROOT / "site_src" / "scripts").glob("*.js")), ids=lambda path: path.name)
def test_a_script_makes_no_number(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"toFixed|toPrecision|toLocaleString|Intl\.|Math\.(round|floor|ceil|log|pow)", text)
    assert "innerHTML" not in text.replace("template.innerHTML", "")


def test_nothing_in_the_sources_asks_another_host():
    for path in (ROOT / "site_src").rglob("*"):
        if path.suffix in {".css", ".js", ".html"}:
            hosts = set(re.findall(r"(?:https?:)?//([a-z0-9.-]+\.[a-z]+)", path.read_text(encoding="utf-8")))
            assert hosts <= {"www.w3.org"}, path  # the MathML namespace is a name, not an address
