"""Makes `oracles` importable by name, here and in tests/numbers: pytest imports test files by path."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)
