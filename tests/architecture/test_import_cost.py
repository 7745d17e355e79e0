"""Importing the engine is quick and pulls in no library: a page loads it on every visit."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = ("numpy", "sympy", "yaml", "click", "rich", "jinja2", "mkdocs")
PAGE = ("rooflight", "rooflight.api", "rooflight.hardware")  # guards run where checkpoints are, not in a page
# A machine's speed must not decide, so the budget is in imports of asyncio: 25 ms where the engine may take 50.
YARDSTICK = "asyncio"
BUDGET = 2
RUNS = 7
PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
for name in {names!r}:
    __import__(name)
seconds = time.process_time() - start
print(json.dumps({{"seconds": seconds, "modules": sorted(set(sys.modules) - before)}}))
"""


def cost_of(names, *paths):
    """CPU seconds and the modules that importing the names adds, in an interpreter that has imported nothing else."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", PROBE.format(names=names)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def heavy_ones(modules):
    return sorted({module.partition(".")[0] for module in modules} & set(HEAVY))


def inner_rooms(engine):
    return sorted(
        f"rooflight.{path.parent.name}" for path in engine.glob("*/__init__.py") if path.parent.name != "edge"
    )


def test_the_engine_imports_no_library(engine):
    cost = cost_of(["rooflight", *inner_rooms(engine)], engine.parent)
    assert "rooflight" in cost["modules"]
    assert heavy_ones(cost["modules"]) == []


def least(*imports):
    """The least seconds of each of some (names, paths). In turn, so that a busy moment slows one run of each."""
    runs = [[cost_of(names, *paths)["seconds"] for names, *paths in imports] for _ in range(RUNS)]
    return [min(times) for times in zip(*runs, strict=True)]


def test_what_a_page_runs_imports_in_50_ms_on_a_desktop(engine):
    mine, yardstick = least((PAGE, engine.parent), ([YARDSTICK],))
    assert mine < BUDGET * yardstick, f"{mine * 1000:.0f} ms, {YARDSTICK} {yardstick * 1000:.0f} ms"


@pytest.mark.parametrize("library", ["yaml", "numpy", "sympy"])
def test_a_planted_library_is_seen(tmp_path, library):
    (tmp_path / "rooflight.py").write_text(f"import {library}\n", encoding="utf-8")
    assert library in heavy_ones(cost_of(["rooflight"], tmp_path)["modules"])


def test_a_planted_slow_import_is_seen(tmp_path):
    (tmp_path / "rooflight.py").write_text("sum(range(20_000_000))\n", encoding="utf-8")
    assert cost_of(["rooflight"], tmp_path)["seconds"] > BUDGET * least(([YARDSTICK],))[0]
