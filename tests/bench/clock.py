"""Times of the fastest of several runs, and tables of them beside what they should be."""

import os
import subprocess
import sys
import time
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "engine"
REPEATS = 7


def best_ms(act, repeats=REPEATS):
    """CPU milliseconds of the fastest run: a busy machine can only make one slower."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def fresh_ms(code, repeats=REPEATS):
    """CPU milliseconds that running the code adds to a fresh interpreter, imports included."""
    probe = f"import time\nstart = time.process_time()\n{code}\nprint(time.process_time() - start)"
    environment = os.environ | {"PYTHONPATH": str(ENGINE)}
    runs = [
        subprocess.run([sys.executable, "-c", probe], env=environment, check=True, capture_output=True, text=True)
        for _ in range(repeats)
    ]
    return min(float(run.stdout.splitlines()[-1]) for run in runs) * 1e3


def show(title, rows):
    """Print (label, milliseconds, target in milliseconds or None) as a table."""
    print(f"\n{title:48} {'ms':>10} {'target':>10}")
    for label, spent, target in rows:
        mark = "" if target is None else f"{target:>10g}" + ("" if spent <= target else "  over")
        print(f"{label:48} {spent:10.3f} {mark}".rstrip())
