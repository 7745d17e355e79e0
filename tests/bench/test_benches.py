"""Runs every bench of this folder and shows what it prints; times are reported and gate nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.bench
@pytest.mark.parametrize("bench", sorted(path.name for path in HERE.glob("bench_*.py")))
def test_bench(bench):
    done = subprocess.run([sys.executable, HERE / bench], check=True, capture_output=True, text=True)
    print(f"\n--- {bench}\n{done.stdout}")
    assert done.stdout
