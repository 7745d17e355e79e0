"""The generator of the documentation and the pages it writes."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="session")
def root():
    return ROOT


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pytest_generate_tests(metafunc):
    """A test that takes `document` runs once per page."""
    if "document" in metafunc.fixturenames:
        found = documents()
        metafunc.parametrize("document", found, ids=[path.relative_to(ROOT).as_posix() for path in found])
