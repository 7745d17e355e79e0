"""Every code that the engine can refuse with is met by some test that asserts the whole message."""

import ast
import re
from pathlib import Path

import pytest

from rooflight.values import SpecError
from rooflight.values.error_codes import CODES

HERE = Path(__file__).parents[1]
ENGINE = HERE.parents[1] / "engine" / "rooflight"


def raised():
    """The codes written in the engine: SpecError's first argument."""
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="SpecError"), args=[ast.Constant(value=code), *_]):
                    yield code


def asserted():
    """The codes at the start of a message in a table of refusals or in a test."""
    for path in (*HERE.rglob("*_refusals.txt"), *HERE.rglob("yaml_traps.txt"), *HERE.rglob("test_*.py")):
        yield from re.findall(r"^([a-z0-9]+(?:-[a-z0-9]+)*) at ", path.read_text(), re.MULTILINE)
    yield from re.findall(r"message\(\s*\"([a-z-]+)\"", (HERE / "api" / "test_step_refusals.py").read_text())
    yield from re.findall(r"\(\s*\"([a-z]+-[a-z-]+)\",", (HERE / "api" / "test_step_refusals.py").read_text())


def test_every_code_is_asserted():
    assert sorted(set(CODES) - set(asserted())) == []


def test_every_code_raised_is_listed():
    assert sorted(set(raised()) - set(CODES)) == []


def test_an_error_is_data():
    error = SpecError("some-code", "here:1", "this", "that", "do it")
    assert list(error.as_json()) == ["code", "where", "expected", "got", "fix"]
    assert list(error.as_json().values()) == ["some-code", "here:1", "this", "that", "do it"]
    assert str(error) == "some-code at here:1\n  expected  this\n  got       that\n  fix       do it"
    with pytest.raises(SpecError):
        raise error from ValueError("cause")
    assert error.__traceback__ is not None
