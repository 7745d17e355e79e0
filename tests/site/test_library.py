"""The site of the real library: every figure equals what the command line says, on every page."""

import gzip
import json
import shlex

import pytest
from tests.site.factory import MODELS, inspections

from rooflight.api import quantity
from rooflight.edge.library import open_catalog
from rooflight.expr import mathml, text
from rooflight_site import evaluate
from rooflight_site.build import build

pytestmark = [pytest.mark.large, pytest.mark.xdist_group("library")]


@pytest.fixture(scope="module")
def library():
    return open_catalog()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("library") / "site"
    return build(out, quiet=True, docs=out / "no-prose")


def test_the_projects_own_prose_builds(tmp_path):
    build(tmp_path / "site", inspections=inspections(MODELS[:1]), quiet=True)


def documents(built):
    for file in sorted((built.out / "data" / "models").iterdir()):
        yield json.loads(file.read_text(encoding="utf-8"))


def test_every_checkpoint_has_a_page(built, library):
    assert built.models == len(library.ids()) > 0
    assert {document["id"] for document in documents(built)} == set(library.ids())


def test_several_processes_write_the_same_site(built, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "PER_PROCESS", 1)
    build(tmp_path / "site", jobs=2, quiet=True, docs=tmp_path / "no-prose")
    for file in (built.out / "data").rglob("*.json"):
        assert file.read_bytes() == (tmp_path / "site" / file.relative_to(built.out)).read_bytes()


def test_every_figure_is_the_one_its_command_gives(built, library):
    for document in documents(built):
        model = library.model(document["id"])
        for key, shown in document["models"][document["id"]]["quantities"].items():
            words = shlex.split(shown["command"])
            assert words[:4] == ["rooflight", "formula", document["id"], key]
            again = quantity(
                model, key, **dict(zip((word.lstrip("-") for word in words[4::2]), words[5::2], strict=True))
            )
            assert (again.value, again.unit) == (shown["value"], shown["unit"]), f"{document['id']} {key}"


def test_a_formula_on_the_site_is_the_engines_own(built, library):
    for document in documents(built):
        model = library.model(document["id"])
        for name, key in document["headline"].items():
            shown = document["formulas"][document["models"][document["id"]]["quantities"][key]["formula"]]
            formula = quantity(model, name).formula
            assert shown["text"] == text(formula)
            assert mathml(formula) in shown["mathml"] or not shown["symbols"]


def test_no_page_of_the_library_is_heavier_than_its_budget(built):
    sizes = {file: len(gzip.compress(file.read_bytes(), 6)) for file in built.out.rglob("*.html")}
    assert max(sizes.values()) <= 40_000, max(sizes, key=sizes.get)
