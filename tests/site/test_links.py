"""Addresses are relative and lead somewhere; the checker that says so finds what does not."""

import pytest

from rooflight_site import links

RELATIVE = [
    ("front_to_model", "", "models/a/b/", "models/a/b/"),
    ("model_to_front", "models/a/b/", "", "../../../"),
    ("model_to_data", "models/a/b/", "data/models/a--b.json", "../../../data/models/a--b.json"),
    ("data_to_schema", "data/", "data/schema/models-1.json", "schema/models-1.json"),
    ("front_to_itself", "", "", "./"),
]


@pytest.mark.parametrize(("here", "there", "link"), [r[1:] for r in RELATIVE], ids=[r[0] for r in RELATIVE])
def test_a_relative_link(here, there, link):
    assert links.relative(here, there) == link


def test_a_model_has_its_addresses():
    assert links.model_page("meta-llama/Llama-3.1-8B") == "models/meta-llama/Llama-3.1-8B/"
    assert links.inference_page("meta-llama/Llama-3.1-8B") == "models/meta-llama/Llama-3.1-8B/inference/"
    assert links.inference_data("meta-llama/Llama-3.1-8B") == "data/inference/meta-llama--Llama-3.1-8B.json"
    assert links.model_data("meta-llama/Llama-3.1-8B") == "data/models/meta-llama--Llama-3.1-8B.json"


@pytest.mark.parametrize(
    "name", ["", "name", "a/b/c", "../etc/passwd", "a/..", "a/.hidden", "a/b c", "a/<b>", "/a/b", "a/b\n"]
)
def test_an_id_that_could_leave_its_folder_names_no_page(name):
    with pytest.raises(ValueError, match="cannot name a page: expected org/name"):
        links.model_page(name)


FAULTS = [
    ("missing_page", '<a href="nowhere/">x</a>', "index.html: nowhere/ leads nowhere"),
    ("missing_anchor", '<a href="#gone">x</a>', "index.html: #gone names no place on that page"),
    ("missing_anchor_elsewhere", '<a href="other/#gone">x</a>', "index.html: other/#gone names no place on that page"),
    (
        "root",
        '<a href="/other/">x</a>',
        "index.html: /other/ starts at the host's root, which breaks under a path prefix",
    ),
    (
        "script",
        '<script src="https://cdn.example/x.js"></script>',
        "index.html: <script> loads https://cdn.example/x.js from another host",
    ),
    (
        "style",
        '<link href="//fonts.example/x.css">',
        "index.html: <link> loads //fonts.example/x.css from another host",
    ),
    ("outside", '<a href="../secret.html">x</a>', "index.html: ../secret.html leads nowhere"),
]


@pytest.mark.parametrize(("html", "fault"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_the_checker_finds(tmp_path, html, fault):
    site = tmp_path / "site"
    (site / "other").mkdir(parents=True)
    (site / "other" / "index.html").write_text("<h1 id=here>x</h1>")
    (tmp_path / "secret.html").write_text("x")
    (site / "index.html").write_text(html)
    assert list(links.faults(site)) == [fault]


def test_the_checker_passes_what_is_fine(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text(
        '<h1 id="here">x</h1><a href="../#top">up</a><a href="https://example.org/">out</a>'
    )
    (tmp_path / "index.html").write_text(
        '<p id="top"></p><a href="other/#here">x</a><a href="other/?q=1">x</a><a href="mailto:x@y">m</a>'
        '<link rel="canonical" href="https://lab.example/repo/">'
    )
    assert list(links.faults(tmp_path)) == []


def test_the_built_site_has_no_fault(site):
    assert list(links.faults(site)) == []
