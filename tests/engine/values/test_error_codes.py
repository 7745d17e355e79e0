"""Every code that the engine can refuse with is met by some test that asserts the whole message."""

import re
from pathlib import Path

import pytest

from rooflight.values import SpecError
from rooflight.values.error_codes import CODES

TESTS = Path(__file__).parents[2]

# Codes whose whole message no test asserts yet. This list may only shrink.
AWAITED = {"bad-snapshot", "hub-answer", "hub-unreachable", "no-hub-library"}


def asserted():
    """The codes at the start of a message in a table of refusals or in a test."""
    for path in (*TESTS.rglob("*.txt"), *TESTS.rglob("test_*.py")):
        text = path.read_text()
        yield from re.findall(r"^([a-z0-9]+(?:-[a-z0-9]+)*) at ", text, re.MULTILINE)
        yield from re.findall(r"^ *f?\"([a-z0-9]+(?:-[a-z0-9]+)+) at [^\"]*\\n", text, re.MULTILINE)  # line by line
        yield from re.findall(r"(?:message|error|SpecError)\(\s*\"([a-z0-9]+(?:-[a-z0-9]+)+)\",", text)
        if path.name == "test_step_refusals.py":  # rows of arguments of message()
            yield from re.findall(r"\(\s*\"([a-z]+(?:-[a-z]+)+)\",", text)


def test_every_code_is_asserted():
    assert sorted(set(CODES) - set(asserted()) - AWAITED) == []


def test_an_error_is_data():
    error = SpecError("some-code", "here:1", "this", "that", "do it")
    assert list(error.as_json()) == ["code", "where", "expected", "got", "fix"]
    assert list(error.as_json().values()) == ["some-code", "here:1", "this", "that", "do it"]
    assert str(error) == "some-code at here:1\n  expected  this\n  got       that\n  fix       do it"
    with pytest.raises(SpecError):
        raise error from ValueError("cause")
    assert error.__traceback__ is not None
