"""The folder list is the architecture: every room is listed, and imports point one way."""

import subprocess
import sys
import tomllib

import pytest

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"


def listed_rooms(root):
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}
    return contracts["rooms"]["layers"]


def rooms_on_disk(engine):
    folders = {path.name for path in engine.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    files = {path.stem for path in engine.glob("*.py")} - {"__init__", "__main__"}
    return folders | files


def lint_imports(folder):
    """Exit status and report of import-linter, with this checkout's sources in front of any installed copy."""
    done = subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def lint_copy(root, tmp_path, planted):
    """The same for a miniature of the engine: every room empty, but for what is planted."""
    for room in listed_rooms(root):
        (tmp_path / "engine" / "rooflight" / room).mkdir(parents=True)
        (tmp_path / "engine" / "rooflight" / room / "__init__.py").touch()
    (tmp_path / "builder" / "rooflight_site").mkdir(parents=True)
    for package in ("engine/rooflight", "builder/rooflight_site"):
        (tmp_path / package / "__init__.py").touch()
    for path, text in planted.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return lint_imports(tmp_path)


@pytest.fixture(autouse=True)
def sources_come_first(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "engine:builder")
    monkeypatch.setenv("COLUMNS", "200")  # the report wraps at the terminal's width


def test_every_room_is_listed(root, engine):
    assert rooms_on_disk(engine) == set(listed_rooms(root))


def test_imports_point_one_way(root):
    status, report = lint_imports(root)
    assert status == 0, report


def test_an_engine_of_empty_rooms_keeps_every_contract(root, tmp_path):
    status, report = lint_copy(root, tmp_path, {})
    assert status == 0, report


@pytest.mark.parametrize(
    ("path", "text", "broken"),
    [
        ("engine/rooflight/ops/view.py", "import rooflight.walk\n", "Rooms import only"),
        ("engine/rooflight/attic/__init__.py", "", "Rooms import only"),
        ("engine/rooflight/api/__init__.py", "import rooflight_site\n", "The engine does not know"),
        ("engine/rooflight/edge/cli.py", "import rooflight_site\n", "The engine does not know"),
        ("engine/rooflight/spec/reader.py", "import yaml\n", "Only rooflight.edge"),
        ("engine/rooflight/walk/order.py", "def late():\n    from time import time\n", "Only rooflight.edge"),
        ("engine/rooflight/derive/curve.py", "import numpy as np\n", "Only rooflight.expr"),
        ("engine/rooflight/edge/cli.py", "import sympy\n", "Only rooflight.expr"),
    ],
    ids=lambda value: value.split("/")[-1].strip().replace("\n", " ") if "/" in value else "",
)
def test_a_wrong_import_breaks_its_contract(root, tmp_path, path, text, broken):
    status, report = lint_copy(root, tmp_path, {path: text})
    assert status != 0
    line = next(line for line in report.splitlines() if line.startswith(broken))
    assert line.endswith("BROKEN"), report


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/rooflight/edge/loading.py", "import os, pathlib, yaml, rich\n"),
        ("engine/rooflight/expr/algebra.py", "def solve():\n    import numpy, sympy\n"),
        ("engine/rooflight/derive/bytes.py", "import rooflight.expr.algebra\n"),
        ("builder/rooflight_site/pages.py", "import rooflight.api\n"),
    ],
    ids=["edge reads files", "expr has the algebra", "others use expr", "the site uses the door"],
)
def test_a_right_import_breaks_nothing(root, tmp_path, path, text):
    planted = {"engine/rooflight/expr/algebra.py": "import sympy\n", path: text}
    status, report = lint_copy(root, tmp_path, planted)
    assert status == 0, report
