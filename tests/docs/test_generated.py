"""Generated pages, generated parts, and what commands print are what the code says now."""

import docs_blocks
import docs_code
import docs_tables
import pytest


@pytest.fixture(scope="module")
def made():
    return docs_tables.documents()


def test_a_document_is_up_to_date(document, made):
    assert document.read_text(encoding="utf-8") == made[document], "run `make docs`"


def test_every_generated_page_is_there(root):
    assert all((root / "docs" / name).is_file() for name in docs_tables.PAGES)


def test_every_generated_part_is_shown_somewhere(root):
    text = "".join(path.read_text(encoding="utf-8") for path in [root / "README.md", *(root / "docs").glob("*.md")])
    assert all(f"<!-- table: {name} -->" in text for name in docs_tables.PARTS)


def test_a_stale_output_is_seen():
    page = "# P\n\n```console\n$ rooflight --version\nrooflight, version 0.0.0\n```\n"
    assert docs_tables.filled(page) != page
    assert docs_tables.filled(docs_tables.filled(page)) == docs_tables.filled(page)


def test_a_stale_part_is_seen():
    page = "# P\n\n<!-- table: figures -->\nold\n<!-- end -->\n"
    assert "old" not in docs_tables.filled(page)


def test_the_check_fails_where_something_is_stale(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["docs_tables.py", "--check"])
    monkeypatch.setattr(docs_tables, "stale", lambda: ["docs/ops.md"])
    assert docs_tables.main() == 1
    assert capsys.readouterr().out == "docs/ops.md\nout of date: run `make docs`\n"
    monkeypatch.setattr(docs_tables, "stale", list)
    assert docs_tables.main() == 0


def test_a_page_does_not_depend_on_what_ran_before(root):
    # click keeps the help option that a command was first asked for.
    with docs_blocks.workshop() as shop:
        shop.run("rooflight show --help")
    assert docs_code.command_line() == docs_code.command_line()
    assert "`-h, --help`" in docs_code.command_line()
