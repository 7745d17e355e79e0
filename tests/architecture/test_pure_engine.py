"""Outside edge/ the engine opens no file, reads no environment and looks at no clock: text in, values out."""

import ast

import pytest

IMPURE_MODULES = {
    "asyncio", "datetime", "fileinput", "ftplib", "getpass", "glob", "http", "httpx", "io", "locale", "logging",
    "mmap", "multiprocessing", "os", "pathlib", "platform", "requests", "secrets", "shutil", "signal", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "urllib3", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
# Known exceptions, each with its reason. The list may only shrink.
ALLOWED = {
    "expr/to_python.py": {"exec", "compile"},  # a formula as Python: the text is made from node kinds and checked names
}
# Modules that are pure but for these names.
IMPURE_NAMES = {
    "importlib": {"import_module", "metadata", "resources"},
    "json": {"dump", "load"},
    "sys": {"argv", "exit", "stderr", "stdin", "stdout"},
}


def impurities(source, where):
    """One line per place in the source that reaches outside the process's values."""
    found = []

    def report(node, what):
        found.append(f"{where}:{node.lineno}: {what}")

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for name in names:
                    top, _, rest = name.name.partition(".")
                    if top in IMPURE_MODULES or rest in IMPURE_NAMES.get(top, ()):
                        report(node, f"imports {name.name}")
            case ast.ImportFrom(module=str(module), names=names, level=0):
                top, _, rest = module.partition(".")
                taken = {rest, *(name.name for name in names)}
                if top in IMPURE_MODULES or taken & IMPURE_NAMES.get(top, set()):
                    report(node, f"imports from {module}")
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS - ALLOWED.get(where, set()):
                report(node, f"calls {name}()")
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in IMPURE_NAMES.get(module, ()):
                report(node, f"uses {module}.{name}")
    return found


def test_the_engine_is_pure_outside_edge(engine):
    files = [path for path in engine.rglob("*.py") if path.relative_to(engine).parts[0] != "edge"]
    assert files
    broken = [
        line
        for path in files
        for line in impurities(path.read_text(encoding="utf-8"), path.relative_to(engine).as_posix())
    ]
    assert not broken, "\n".join(broken)


def test_every_exception_is_still_needed(engine):
    for where, calls in ALLOWED.items():
        source = (engine / where).read_text(encoding="utf-8")
        for call in calls:
            assert f"calls {call}()" in "\n".join(impurities(source, "elsewhere.py")), f"{where} no longer calls {call}"


@pytest.mark.parametrize(
    "source",
    [
        "open('specs/dims.yaml')",
        "import os\nos.environ['HOME']",
        "from os import environ",
        "import time\ntime.perf_counter()",
        "from datetime import datetime",
        "import pathlib",
        "def late():\n    import subprocess",
        "import urllib.request",
        "from importlib import resources",
        "import importlib.resources",
        "import importlib\nimportlib.import_module('o' + 's')",
        "import json\njson.load(handle)",
        "print('seen')",
    ],
)
def test_a_planted_impurity_is_seen(source):
    assert impurities(source, "planted.py")


def test_plain_values_are_pure():
    source = "import json\nimport sys\nfrom fractions import Fraction\njson.loads('1')\nsys.intern('a')\nself.open()\n"
    assert not impurities(source, "planted.py")
