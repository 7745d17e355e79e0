"""The site of the real library: every figure equals what the command line says, on every page."""

import fcntl
import gzip
import json
import pickle
import shlex
from types import SimpleNamespace

import jsonschema
import pytest
from tests.site.factory import MODELS, inspections

from rooflight.api import quantity
from rooflight.checks import Finding
from rooflight.edge.library import open_catalog
from rooflight.edge.validate import Review, review
from rooflight.expr import mathml, text
from rooflight_site import evaluate
from rooflight_site.build import build
from rooflight_site.errors import BuildError
from rooflight_site.format import exact

pytestmark = [pytest.mark.large, pytest.mark.xdist_group("library")]


@pytest.fixture(scope="module")
def library():
    return open_catalog()


@pytest.fixture(scope="module")
def built(library, tmp_path_factory, worker_id):
    """The library's site: built once, whichever worker comes first, while the others wait."""
    base = tmp_path_factory.getbasetemp()
    place = base if worker_id == "master" else base.parent  # which all workers of this run share
    with (place / "library.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = place / "library.pickle"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(build_recorded(library, place / "library" / "site")))
        return pickle.loads(kept.read_bytes())


def build_recorded(library, out):
    """The report of a build, and what the guards said of each checkpoint meanwhile."""
    said = {}

    def record(catalog, name):
        said[name] = review(catalog, name)
        return said[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "review", record)
        report = build(out, library, quiet=True, docs=out / "no-prose")
    # The catalog's records hold what no other process can read; the words and findings are enough.
    return SimpleNamespace(report=report, out=out, said={name: (r.blocking, r.strength) for name, r in said.items()})


def test_the_projects_own_prose_builds(tmp_path):
    build(tmp_path / "site", inspections=inspections(MODELS[:1]), quiet=True)


def documents(built):
    for file in sorted((built.out / "data" / "models").iterdir()):
        yield json.loads(file.read_text(encoding="utf-8"))


def test_every_checkpoint_that_nothing_blocks_has_a_page(built, library):
    assert set(built.said) == set(library.ids())  # each examined, once
    passed = {name: strength for name, (blocking, strength) in built.said.items() if not blocking}
    assert built.report.models == len(passed) > 0
    assert len(built.report.left_out) == len(built.said) - len(passed)
    for document in documents(built):
        facts, strength = document["facts"], passed.pop(document["id"])
        assert (facts["strength"], tuple(facts["checked"]), tuple(facts["unchecked"])) == strength
    assert passed == {}


class Few:
    """A catalog of some of the library's checkpoints; one of them is refused."""

    def __init__(self, library, *ids):
        self.library, self.chosen, self.refused, self.folder = library, ids, ids[-1], library.folder

    def ids(self):
        return self.chosen

    def review(self, _, name):
        if name != self.refused:
            return review(self.library, name)
        wrong = Finding("weight-shape", "weight", True, "layers.ffn.up_proj", "[4, 8]", "[8, 4]", "swap in and out")
        hint = Finding("published-total", "totals", False, "total", "7", "8", "look it up")
        return Review(self.library.model(name), (wrong, hint, wrong._replace(where="lm_head.proj")))


WHY = "openai-community/gpt2: weight-shape at layers.ffn.up_proj, expected [4, 8], got [8, 4], and 1 more"


def test_what_the_guards_refuse_is_left_out_and_said(library, tmp_path, monkeypatch):
    few = Few(library, "Qwen/Qwen3-0.6B", "openai-community/gpt2")
    monkeypatch.setattr(evaluate, "review", few.review)
    report = build(tmp_path / "site", few, quiet=True, docs=tmp_path / "no-prose")
    assert (report.models, report.left_out) == (1, (WHY,))
    assert [document["id"] for document in documents(report)] == ["Qwen/Qwen3-0.6B"]
    written = json.loads((tmp_path / "site" / "build.json").read_text(encoding="utf-8"))
    assert written["published"] == ["Qwen/Qwen3-0.6B"]
    assert [f["where"] for f in written["left_out"]["openai-community/gpt2"]] == ["layers.ffn.up_proj", "lm_head.proj"]


def test_a_site_of_nothing_is_no_site(library, tmp_path, monkeypatch):
    few = Few(library, "openai-community/gpt2")
    monkeypatch.setattr(evaluate, "review", few.review)
    with pytest.raises(BuildError, match=r"^no checkpoint may be published\n") as caught:
        build(tmp_path / "site", few, quiet=True)
    assert str(caught.value).splitlines()[1] == WHY
    assert not (tmp_path / "site").exists()


def test_several_processes_find_the_same(library, monkeypatch):
    monkeypatch.setattr(evaluate, "PER_PROCESS", 1)
    few = Few(library, "Qwen/Qwen3-0.6B", "openai-community/gpt2")
    steps = []
    together = list(evaluate.outcomes(few, 2, lambda: steps.append(1)))
    assert together == [evaluate.outcome(library, name) for name in few.ids()]
    assert len(steps) == 2


def test_figures_are_those_that_their_commands_give(built, library):
    """All headline figures, and of the thousand others of a page every eleventh, each page from another start."""
    for start, document in enumerate(documents(built)):
        model = library.model(document["id"])
        quantities = document["models"][document["id"]]["quantities"]
        for key in {*document["headline"].values(), *list(quantities)[start % 11 :: 11]}:
            shown = quantities[key]
            words = shlex.split(shown["command"])
            assert words[:4] == ["rooflight", "formula", document["id"], key]
            options = dict(zip((word.lstrip("-") for word in words[4::2]), words[5::2], strict=True))
            again = quantity(model, key, **options)
            assert (exact(again.value), again.unit) == (shown["exact"], shown["unit"]), f"{document['id']} {key}"


def test_a_formula_on_the_site_is_the_engines_own(built, library):
    for document in documents(built):
        model = library.model(document["id"])
        for name, key in document["headline"].items():
            shown = document["formulas"][document["models"][document["id"]]["quantities"][key]["formula"]]
            formula = quantity(model, name).formula
            assert shown["text"] == text(formula)
            assert mathml(formula) in shown["mathml"] or not shown["symbols"]


def test_every_model_is_deployed(built):
    """Its file fits the schema, its page and the Inspector lead to each other, and its default deployment can run."""
    schema = json.loads((built.out / "data" / "schema" / "inference-1.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for document in documents(built):
        name = document["id"]
        file = built.out / "data" / "inference" / f"{name.replace('/', '--')}.json"
        deployed = json.loads(file.read_text(encoding="utf-8"))
        validator.validate(deployed)
        assert deployed["summary"]["deployment"]["valid"], name
        assert (built.out / "models" / name / "inference" / "index.html").is_file()


def test_no_page_of_the_library_is_heavier_than_its_budget(built):
    sizes = {file: len(gzip.compress(file.read_bytes(), 6)) for file in built.out.rglob("*.html")}
    assert max(sizes.values()) <= 40_000, max(sizes, key=sizes.get)
