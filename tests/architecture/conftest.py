"""The folders that the architecture tests read."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def engine(root):
    return root / "engine" / "rooflight"
