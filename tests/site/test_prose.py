"""Every Markdown file of docs/ is a page, in the order a reader would take them."""

from rooflight_site import prose


def put(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return prose.sections(folder)


def test_pages_stand_as_the_front_page_links_to_them_and_the_rest_by_title(tmp_path):
    written = put(
        tmp_path,
        index="# Docs\n\n[z](zebra.md#stripes), [a](ape.md), [z again](zebra.md)\n",
        ape="# Ape\n",
        zebra="# Zebra\n",
        cat="# Cat\n",
        bee="# `Bee`\n",
    )
    assert written.home == "docs/"
    assert written.nav == [
        {
            "Docs": [
                {"Docs": "docs/index.md"},
                {"Zebra": "docs/zebra.md"},
                {"Ape": "docs/ape.md"},
                {"Bee": "docs/bee.md"},
                {"Cat": "docs/cat.md"},
            ]
        }
    ]


def test_a_folder_without_a_front_page_gets_one(tmp_path):
    written = put(
        tmp_path, ape="# Ape\n\n> A quotation.\n\nSwings from [trees](tree.md): often. And sleeps.\n", untitled="text"
    )
    contents = written.files["docs/index.md"]
    assert "[Ape](ape.md)\n:   Swings from trees\n" in contents
    assert "[Untitled](untitled.md)\n:   text\n" in contents


def test_no_prose_is_no_section(tmp_path):
    assert prose.sections(tmp_path / "none") == prose.Prose({}, [], None)
