"""Which keys the readers of specs ask for, by a scan of their syntax: whatever they read must be documented."""

from __future__ import annotations

import ast
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1] / "engine" / "rooflight"
FILES = (
    *(f"spec/{name}.py" for name in ("read_component", "read_model", "read_tables", "library")),
    *(f"spec/{name}.py" for name in ("quant", "storage", "precision")),
    "hardware/read_gpu.py",
)


def _reading_methods() -> frozenset[str]:
    """The methods of a Reader that take a key first and read it."""
    tree = ast.parse((ENGINE / "spec" / "reader.py").read_text(encoding="utf-8"))
    reader = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Reader")
    methods = [node for node in reader.body if isinstance(node, ast.FunctionDef) and len(node.args.args) > 1]
    return frozenset(m.name for m in methods if m.args.args[1].arg == "key") - {"where", "parsed", "_take"}


_READS = _reading_methods()


def keys_by_function() -> dict[str, set[str]]:
    """function -> the keys it reads; functions that read none are left out."""
    found: dict[str, set[str]] = {}
    for name in FILES:
        for function in ast.walk(ast.parse((ENGINE / name).read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                keys = set(_keys(function))
                if keys:
                    found[function.name] = keys
    return found


def _keys(function: ast.FunctionDef) -> list[str]:
    keys: list[str] = []
    defaults = dict(zip([a.arg for a in function.args.args][::-1], function.args.defaults[::-1], strict=False))
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
            keys += _words(node.args[:1])
        elif isinstance(node.func, ast.Name) and node.args[:1] and ast.unparse(node.args[0]).endswith("reader"):
            keys += [word for argument in node.args[1:2] for word in _words([argument, *_inside(argument)])]
    if "key" in defaults:
        keys += _words([defaults["key"]])
    keys += [word for test in ast.walk(function) if isinstance(test, ast.Compare) for word in _tested(test)]
    return keys


def _words(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _inside(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else []


def _tested(test: ast.Compare) -> list[str]:
    """`"schedule" in reader.section` asks for a key too."""
    left = _words([test.left])
    return left if isinstance(test.ops[0], ast.In | ast.NotIn) and "section" in ast.unparse(test.comparators[0]) else []
