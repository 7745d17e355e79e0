"""Lets the tests here import what stands beside them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rooflight.edge.front import catalog


@pytest.fixture(scope="session")
def schemes():
    return catalog().library.schemes
