"""Reads one mapping of a spec strictly: every key is asked for once, by type, and a key nobody asked for is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rooflight.expr import ExpressionError, Tree, parse_condition, parse_length
from rooflight.spec.located import Items, Section
from rooflight.values import SpecError

T = TypeVar("T")
_MISSING: Any = object()
_LONGEST_BITS = 256
_SHOWN = 80  # characters of a value that an error line quotes
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Section: "a mapping",
    Items: "a list",
    type(None): "nothing",
}


def described(value: Any) -> str:
    """Say what a value of a spec is, short enough for an error line."""
    if isinstance(value, Section):
        return "a mapping with " + (", ".join(list(value)[:6]) or "no keys")
    if isinstance(value, Items):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"a whole number of {value.bit_length()} bits"  # Python refuses to write the longest out
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


class Reader:
    """One mapping being read. `path` names it in messages, e.g. `graph.q_proj`."""

    def __init__(self, section: Any, path: str, where: str, asked: str = "a mapping") -> None:
        if not isinstance(section, Section):
            raise SpecError("wrong-type", f"{where} {path}".rstrip(), asked, described(section), f"write {asked} here")
        self.section = section
        self.path = path
        self._asked: list[str] = []

    def where(self, key: str | None = None) -> str:
        """Return `file:line path.key` for messages."""
        dotted = ".".join(part for part in (self.path, key) if part)
        return f"{self.section.at(key)} {dotted}".rstrip()

    def _take(self, key: str, kinds: tuple[type, ...], default: Any) -> Any:
        self._asked.append(key)
        if key not in self.section:
            if default is not _MISSING:
                return default
            expected = f"{key}: {_or([_KINDS[k] for k in kinds])}"
            raise SpecError("missing-key", self.where(), expected, "no such key", f"add {key}")
        value = self.section[key]
        # True is an int in Python, but never a length in a spec.
        if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
            return value
        expected = _or([_KINDS[k] for k in kinds])
        raise SpecError("wrong-type", self.where(key), expected, described(value), f"write {expected} for {key}")

    def text(self, key: str, default: Any = _MISSING) -> str:
        """Read a piece of text."""
        return self._take(key, (str,), default)

    def maybe_text(self, key: str) -> str | None:
        """Read a piece of text, or nothing where the key is absent."""
        return self._take(key, (str,), None)

    def flag(self, key: str, default: Any = _MISSING) -> bool:
        """Read true or false."""
        return self._take(key, (bool,), default)

    def word(self, key: str, legal: tuple[str, ...], default: Any = _MISSING) -> str:
        """Read one of a few words."""
        value = self.text(key, default)
        if value not in legal:
            raise SpecError(
                "unknown-word", self.where(key), "one of " + ", ".join(legal), repr(value), nearest(value, legal)
            )
        return value

    def number(self, key: str, default: Any = _MISSING) -> int:
        """Read a whole number."""
        return self._take(key, (int,), default)

    def any(self, key: str, default: Any = _MISSING) -> Any:
        """Read whatever stands there."""
        self._asked.append(key)
        if key not in self.section and default is _MISSING:
            raise SpecError("missing-key", self.where(), f"{key}: a value", "no such key", f"add {key}")
        return self.section.get(key, default)

    def length(self, key: str, default: Any = _MISSING) -> Tree:
        """Read a length expression, or a whole number."""
        value = self._take(key, (str, int), default)
        return self.parsed(key, value)

    def maybe_length(self, key: str) -> Tree | None:
        """Read a length expression, or nothing where the key is absent."""
        return self.length(key) if key in self.section else self._take(key, (str, int), None)

    def parsed(self, key: str, text: Any, parse: Callable[[Any], Tree] = parse_length) -> Tree:
        """Parse an expression; a fault is reported at the key."""
        try:
            return parse(text)
        except ExpressionError as error:
            raise expression_error(error, self.where(key)) from None

    def condition(self, key: str, default: Any = _MISSING) -> Tree | None:
        """Read a condition such as `i < n_dense`."""
        value = self._take(key, (str,), default)
        return value if value is None else self.parsed(key, value, parse_condition)

    def words(self, key: str, default: Any = _MISSING) -> tuple[str, ...]:
        """Read a list of texts; one text alone counts as a list of one."""
        value = self._take(key, (str, Items), default)
        if isinstance(value, str):
            return (value,)
        for index, item in enumerate(value):
            if not isinstance(item, str):
                where = value.at(index) if isinstance(value, Items) else self.where(key)
                raise SpecError("wrong-type", f"{where} {self.path}.{key}", "text", described(item), "quote it")
        return tuple(value)

    def sub(self, key: str, default: Any = _MISSING) -> Reader:
        """Read a nested mapping."""
        value = self._take(key, (Section,), default)
        path = ".".join(part for part in (self.path, key) if part)
        return Reader(value, path, self.section.at(key))

    def entries(self, key: str, default: Any = _MISSING) -> Iterator[tuple[str, Reader]]:
        """Read a mapping of mappings, one Reader per entry."""
        group = self.sub(key, default)
        for name in group.section:
            yield name, group.sub(name)

    def items(self, key: str, default: Any = _MISSING) -> Iterator[Reader]:
        """Read a list of mappings, one Reader per element."""
        value = self._take(key, (Items,), default)
        for index, item in enumerate(value):
            where = value.at(index) if isinstance(value, Items) else self.section.at(key)
            yield Reader(item, f"{self.path}.{key}[{index}]".lstrip("."), where)

    def names(self) -> tuple[str, ...]:
        """Return the names that the author chose as keys; reading them is up to the caller."""
        return tuple(self.section)

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.section:
            if key not in self._asked:
                expected = "one of " + ", ".join(dict.fromkeys(self._asked))
                raise SpecError("unknown-key", self.where(key), expected, key, nearest(key, self._asked))


def expression_error(error: ExpressionError, where: str) -> SpecError:
    """Turn a parser's complaint into a repair order."""
    return SpecError(
        "bad-expression",
        where,
        "an expression over dims, e.g. n_heads * d_head",
        f"{described(error.text)}, column {error.column}: {error.reason}",
        error.fix,
    )


def nearest(
    word: str, known: tuple[str, ...] | list[str], otherwise: str = "remove it, or use one of the expected words"
) -> str:
    """Suggest the closest known word."""
    close = closest(word, known)
    return f"you may have intended {close}" if close else otherwise


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known word most like another, None where none is like it.

    Case does not count, and a word that ends another is like it: tp is like attn_tp, gpt2 like openai-community/gpt2.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

    plain = {one.casefold(): one for one in reversed(list(known))}
    asked = word.casefold()
    ends = [one for one in plain if asked and one.endswith(("/" + asked, "_" + asked))]
    found = asked if asked in plain else next(iter(ends or get_close_matches(asked, list(plain), 1, likeness)), None)
    return None if found is None else plain[found]


def _or(words: list[str]) -> str:
    return " or ".join(dict.fromkeys(words))
