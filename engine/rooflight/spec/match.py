"""Patterns over module names, as ignore lists write them: a literal, a glob, or `re:` and a regex.

A literal names a module by its whole path or by the end of it. Whether it takes the module's children along depends on
who wrote the list: most do, compressed-tensors lists parents whose children it quantized.

Configs are hostile: of regular expressions only a part without nested repetition is read, and it is matched by the set
of places a match can have reached, never by going back. The time is the pattern's length times the name's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import NamedTuple

from rooflight.values import SpecError

MAX_PATTERN = 256
MAX_PATTERNS = 20_000

# Literals, escaped dots, one level of alternatives, character classes, and * + ? after a single character or class.
_CHARACTER = r"(?:[A-Za-z0-9_/\-]|\\[.\-_dw]|\.|\[[A-Za-z0-9_.\-^]+\])"
_PIECE = rf"{_CHARACTER}[*+?]?"
_SAFE = re.compile(rf"\^?(?:{_PIECE}|\((?:\?:)?(?:{_PIECE})*(?:\|(?:{_PIECE})*)*\))*\$?", re.ASCII)
_PIECES = re.compile(rf"({_CHARACTER})([*+?]?)|\((?:\?:)?([^)]*)\)", re.ASCII)

Matcher = Callable[[str], bool]


class ModuleSet(NamedTuple):
    """The modules that a list of patterns names. Lists hold thousands of literals, so those are looked up."""

    literals: frozenset[str]
    tests: tuple[Matcher, ...]
    children: bool = True

    def __contains__(self, name: object) -> bool:
        """Say whether a module, or with children one it stands in, is named."""
        parts = str(name).split(".")
        ends = range(1, len(parts) + 1) if self.children else (len(parts),)
        return any(".".join(parts[start:end]) in self.literals for end in ends for start in range(end)) or any(
            test(str(name)) for test in self.tests
        )


def module_set(patterns: Iterable[str], where: str, *, children: bool = True) -> ModuleSet:
    """Read a list of patterns. SpecError for one that cannot be read."""
    literals: set[str] = set()
    tests: list[Matcher] = []
    for pattern in patterns:
        if pattern.startswith("re:") or any(sign in pattern for sign in "*?["):
            tests.append(matcher(pattern, where))
        else:
            literals.add(pattern)
    return ModuleSet(frozenset(literals), tuple(tests), children)


def matcher(pattern: str, where: str) -> Matcher:
    """Return a test for module names. SpecError for a pattern that is too long or no pattern we read."""
    if len(pattern) > MAX_PATTERN:
        raise SpecError(
            "bad-pattern", where, f"a pattern of at most {MAX_PATTERN} characters", f"{len(pattern)}", "shorten it"
        )
    if pattern.startswith("re:"):
        return _regex(pattern[3:], where)
    if any(sign in pattern for sign in "*?["):
        # fnmatch's * crosses dots, as the lists mean it; a matched module takes its children along.
        found = re.compile(translate(pattern) + "|" + translate(pattern + ".*"))
        return lambda name: found.match(name) is not None
    return lambda name: name == pattern or name.startswith(pattern + ".")


class _Piece(NamedTuple):
    """A step of a regex: a character's test with what repeats it, or alternatives."""

    test: Matcher | None
    repeat: str
    cases: tuple[tuple[_Piece, ...], ...]


def _regex(pattern: str, where: str) -> Matcher:
    if not _SAFE.fullmatch(pattern):
        raise SpecError(
            "bad-pattern",
            where,
            "a regex of literals, classes and alternatives without nested repetition",
            repr(pattern),
            "write the modules as literals or globs",
        )
    whole = pattern.endswith("$")
    try:
        pieces = _pieces(pattern.removeprefix("^").removesuffix("$"))
    except re.error as error:
        raise SpecError("bad-pattern", where, "a regular expression", f"{pattern!r}: {error}", "correct it") from None

    def test(name: str) -> bool:
        reached = _reached(pieces, name, {0})
        return len(name) in reached if whole else bool(reached)

    return test


def _letter(character: str) -> Matcher:
    one = re.compile(character, re.ASCII)
    return lambda letter: one.match(letter) is not None


def _pieces(pattern: str) -> tuple[_Piece, ...]:
    found: list[_Piece] = []
    for character, repeat, group in _PIECES.findall(pattern):
        if character:
            found.append(_Piece(_letter(character), repeat, ()))
        else:
            found.append(_Piece(None, "", tuple(_pieces(case) for case in group.split("|"))))
    return tuple(found)


def _reached(pieces: tuple[_Piece, ...], name: str, places: set[int]) -> set[int]:
    """Return the places in a name that a match from any of the given places can end at."""
    for piece in pieces:
        if piece.test is None:
            places = {place for case in piece.cases for place in _reached(case, name, places)}
            continue
        ends = set(places) if piece.repeat in ("*", "?") else set[int]()
        waiting = set(places)
        while waiting:
            waiting = {at + 1 for at in waiting if at < len(name) and piece.test(name[at])} - ends
            ends |= waiting
            if piece.repeat not in ("*", "+"):
                break
        places = ends
    return places
