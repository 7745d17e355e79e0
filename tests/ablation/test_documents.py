"""docs/guards.md and docs/storage-formats.md say what the tables of faults and schemes say now."""

from pathlib import Path

import guards_table
import pytest
from planted import faults, library

from rooflight.checks import DIAGNOSTICS, GUARDS

ROOT = Path(__file__).resolve().parents[2]


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", guards_table.DOCS)
def test_a_page_is_up_to_date(name):
    assert page(name) == guards_table.filled(page(name)), "run `make docs`"


def test_every_part_is_shown():
    text = "".join(page(name) for name in guards_table.DOCS)
    assert all(f"<!-- guards: {part} -->" in text for part in guards_table.PARTS)


def test_a_stale_page_is_seen():
    for part in guards_table.PARTS:
        stale = f"# P\n\n<!-- guards: {part} -->\nold\n<!-- end -->\n"
        assert "\nold\n" not in guards_table.filled(stale)
        assert guards_table.filled(guards_table.filled(stale)) == guards_table.filled(stale)


def test_every_guard_has_a_section():
    text = page("guards.md")
    assert all(f"\n### {guard}\n" in text for guard in GUARDS)
    assert all(f"\n| {name} | " in text for name in DIAGNOSTICS)


def test_every_fault_stands_in_one_table():
    text = page("guards.md").partition("● must see it")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for fault in faults():
        assert sum(f" | {fault.fault} |" in row for row in rows) == 1, fault.id


def test_every_scheme_is_listed():
    text = page("storage-formats.md")
    assert all(f"\n| `{name}` | " in text for name in library().schemes)


def test_the_check_fails_where_something_is_stale(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["guards_table.py", "--check"])
    monkeypatch.setattr(guards_table, "stale", lambda: ["docs/guards.md"])
    assert guards_table.main() == 1
    assert capsys.readouterr().out == "docs/guards.md\nout of date: run `make docs`\n"
    monkeypatch.setattr(guards_table, "stale", list)
    assert guards_table.main() == 0
