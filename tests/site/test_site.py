"""The built site as files: what it holds, what it says, what it weighs."""

import gzip
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.site.factory import MODELS, inspection, inspections

from rooflight_site.build import build
from rooflight_site.errors import BuildError
from rooflight_site.format import tokens

HTML_BUDGET = 40_000  # bytes, gzipped
HOSTILE = """<img src=x onerror=alert(1)>{% endraw %}{{ 7 * 7 }}</script><!--"'&amp;"""


class Numbers(HTMLParser):
    """Every figure a page shows: (model or step, key) → text."""

    def __init__(self):
        super().__init__()
        self.model, self.key, self.found = None, None, []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.model = values.get("data-book", values.get("data-model", self.model))
        self.key = values.get("data-q", self.key) if tag == "button" else self.key

    def handle_endtag(self, tag):
        self.key = None if tag == "button" else self.key

    def handle_data(self, data):
        if self.key:
            self.found.append((self.model, self.key, data))


def figures(html):
    reader = Numbers()
    reader.feed(html)
    whole = {}
    for model, key, text in reader.found:
        whole.setdefault((model, key), []).append(text)
    return {name: "".join(parts) for name, parts in whole.items()}


def page_data(file):
    """The data file that a page names; {} for a page without figures."""
    link = re.search(r'data-figures="([^"]+)"', file.read_text(encoding="utf-8"))
    return json.loads((file.parent / link[1]).read_text(encoding="utf-8")) if link else {}


def page_books(file):
    """Where the figures of a page stand: by model, or by the step of a deployment."""
    data = page_data(file)
    return data.get("models") or data.get("books") or {}


def test_every_model_has_a_page_and_a_file(site):
    for shape in MODELS:
        assert (site / "models" / shape.id / "index.html").is_file()
        assert (site / "data" / "models" / f"{shape.id.replace('/', '--')}.json").is_file()


def test_a_fact_has_one_value_in_every_file_and_on_every_page(site):
    seen = {}
    for file in (site / "data").rglob("*.json"):
        for model, entries in json.loads(file.read_text(encoding="utf-8")).get("models", {}).items():
            for key, quantity in entries["quantities"].items():
                where, first = seen.setdefault((model, key), (file.name, quantity))
                assert quantity == first, f"{model} {key}: {where} and {file.name} disagree"
    shown = 0
    for file in site.rglob("*.html"):
        books = page_books(file)
        for (model, key), text in figures(file.read_text(encoding="utf-8")).items():
            expected = books[model]["quantities"][key]["text"]
            assert set(text.replace(expected, "|")) == {"|"}, f"{file}: {model} {key} shows {text}, not {expected}"
            shown += 1
    assert shown > 500


def test_every_figure_of_a_page_is_in_the_data_it_names(site):
    for file in site.rglob("*.html"):
        shown = figures(file.read_text(encoding="utf-8"))
        data, books = page_data(file), page_books(file)
        assert bool(shown) == bool(data)
        for model, key in shown:
            quantity = books[model]["quantities"][key]
            assert set(data["formulas"][quantity["formula"]]["symbols"]) <= set(books[model]["symbols"])


def test_the_gallery_shows_a_figure_of_every_model(site):
    shown = figures((site / "index.html").read_text(encoding="utf-8"))
    assert {model for model, key in shown if key == "params.total"} == {shape.id for shape in MODELS}
    assert shown["aurora-lab/Aurora-8B", "params.total"] == "8.03\u202fB"


@pytest.mark.parametrize(("model", "context"), [("aurora-lab/Aurora-8B", "4K"), ("drift-ai/drift2", "1K")])
def test_work_per_token_names_the_context_of_its_steps(site, model, context):
    data = json.loads((site / "data" / "models" / f"{model.replace('/', '--')}.json").read_text(encoding="utf-8"))
    assert {tokens(step["context"]) for step in data["deployment"].values()} == {context}
    page = (site / "models" / model / "index.html").read_text(encoding="utf-8")
    said = re.search(r"<dt>Active per token</dt>.*?</div>", page, re.DOTALL)[0]
    assert f"per token, at {context} context" in said


def test_a_scheme_stands_before_the_dtypes_it_uses(site):
    gallery = (site / "index.html").read_text(encoding="utf-8")
    page = (site / "models" / "aurora-lab" / "Aurora-8B" / "index.html").read_text(encoding="utf-8")
    # Made-up models have no library, so their schemes keep their own names.
    assert ">fp8_block · F8_E4M3 + BF16</td>" in gallery
    assert "as stored: fp8_block · F8_E4M3 + BF16</dd>" in page


def test_the_footer_promises_no_bound_that_the_counting_does_not_keep(site):
    footer = re.search(r"<footer.*?</footer>", (site / "index.html").read_text(encoding="utf-8"), re.DOTALL)[0]
    assert "lower bound" not in footer
    assert "graph as written, before kernels are fused" in footer


def test_no_page_is_heavier_than_its_budget(site):
    heavy = {
        file: size for file in site.rglob("*.html") if (size := len(gzip.compress(file.read_bytes(), 6))) > HTML_BUDGET
    }
    assert heavy == {}


def test_search_finds_a_model_by_any_of_its_names(site):
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    entries = {entry["location"]: f"{entry['title']} {entry['text']}" for entry in json.loads(index)["docs"]}
    text = entries["models/Cirrus/Cirrus2.5-7B-Instruct/"]
    assert all(word in text for word in ("Cirrus2.5-7B-Instruct", "Cirrus/Cirrus2.5", "cirrus2", "GQA"))
    assert len(index) < 400_000


def test_prose_becomes_a_section(site):
    assert "Counting" in (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert (site / "docs" / "glossary" / "index.html").is_file()


def test_without_prose_there_is_no_section(tmp_path):
    build(tmp_path / "site", inspections=inspections(MODELS[:1]), docs=tmp_path / "none", quiet=True)
    assert not (tmp_path / "site" / "docs").exists()
    assert "Docs" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_the_page_for_wrong_addresses_knows_where_the_site_stands(tmp_path, models):
    build(
        tmp_path / "site",
        inspections=models[:1],
        docs=tmp_path / "none",
        quiet=True,
        site_url="https://lab.example/repo",
    )
    links = re.findall(r'(?:href|src)="([^"]+)"', (tmp_path / "site" / "404.html").read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith(("/repo/", "#", "data:", "https://lab.example/repo/"))] == []
    assert any(re.fullmatch(r"/repo/assets/\w+/base\.css", link) for link in links)


def test_building_twice_gives_the_same_bytes(site, tmp_path, docs, models, served):
    build(tmp_path / "again", inspections=models, deployments=served, docs=docs, quiet=True)
    dated = {"sitemap.xml", "sitemap.xml.gz"}  # MkDocs writes the day into them
    files = [file for file in site.rglob("*") if file.is_file() and file.name not in dated]
    assert [f for f in files if f.read_bytes() != (tmp_path / "again" / f.relative_to(site)).read_bytes()] == []


def test_a_hostile_model_is_only_text(tmp_path, docs):
    model = inspection(MODELS[0])
    facts = model.facts._replace(name=HOSTILE, lab=HOSTILE, notes=(HOSTILE,), source=HOSTILE, architecture=HOSTILE)
    kinds = tuple(replace(kind, name=HOSTILE, layers=HOSTILE) for kind in model.kinds)
    rows = tuple(row._replace(group=HOSTILE, summary=HOSTILE) for row in model.rows)
    build(tmp_path / "site", inspections=[model._replace(facts=facts, kinds=kinds, rows=rows)], docs=docs, quiet=True)
    for file in (tmp_path / "site").rglob("*.html"):
        html = file.read_text(encoding="utf-8")
        assert "<img" not in html, file
        assert "49" not in re.findall(r"endraw[^<]{0,20}", html), file
        page_data(file)
    page = (tmp_path / "site" / "models" / MODELS[0].id / "index.html").read_text(encoding="utf-8")
    assert "{{ 7 * 7 }}" in page
    assert page.count("<h1") == 1


def test_a_failed_page_fails_the_build_and_leaves_the_site(tmp_path, site, docs):
    out = tmp_path / "site"
    shutil.copytree(site, out)
    before = (out / "index.html").read_bytes()
    broken = tmp_path / "prose"
    shutil.copytree(docs, broken)
    (broken / "bad.md").write_text("# Bad\n\n[gone](missing.md)\n")
    with pytest.raises(BuildError, match=r"missing\.md"):
        build(out, inspections=inspections(MODELS[:1]), docs=broken, quiet=True)
    assert (out / "index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prose", "site"]


def test_a_dead_link_fails_the_build(tmp_path, docs):
    broken = tmp_path / "prose"
    shutil.copytree(docs, broken)
    (broken / "bad.md").write_text('# Bad\n\n<a href="../nowhere/">gone</a>\n')
    with pytest.raises(BuildError, match=r"docs/bad/index\.html: \.\./nowhere/ leads nowhere"):
        build(tmp_path / "site", inspections=inspections(MODELS[:1]), docs=broken, quiet=True)


def test_two_ids_that_differ_only_in_case_are_refused(tmp_path):
    twins = inspections([MODELS[0], replace(MODELS[0], id="Aurora-Lab/aurora-8b")])
    with pytest.raises(BuildError, match="aurora-lab/Aurora-8B and Aurora-Lab/aurora-8b would share one address"):
        build(tmp_path / "site", inspections=twins, quiet=True)
