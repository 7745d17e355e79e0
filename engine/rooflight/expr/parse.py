"""Lengths and conditions written in specs become small trees of tuples, names and ints; nothing is ever evaluated."""

from __future__ import annotations

import re
from typing import NoReturn, TypeAlias, cast

Tree: TypeAlias = "int | str | tuple[str, *tuple[Tree, ...]]"  # (operator, operand, ...); a name may be "config.a.b"

MAX_LENGTH = 256
MAX_DEPTH = 24
MAX_INTEGER = 2**62

FUNCTIONS = ("ceil_div", "floor_div", "min", "max")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
JUNCTIONS = ("and", "or", "not")
CONDITION_OPERATORS = frozenset((*COMPARISONS, *JUNCTIONS))

# How tightly an operator binds; the two prefix operators come after.
BINDING = {"or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6}
NOT_BINDING = 3
MINUS_BINDING = 7

RESERVED = frozenset(
    (*JUNCTIONS, *FUNCTIONS, "config", "True", "False", "None", "true", "false", "null", "none", "if", "else")
)

_BLANK = re.compile(r"[ \t\r\n]*", re.ASCII)
_TOKEN = re.compile(
    r"(?P<number>[0-9]+(?![A-Za-z0-9_.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<operator>//|!=|<=|>=|[-+*/%<>=(),])",
    re.ASCII,
)
_WRONG = (  # what people write instead, and what to write here; the first match is named
    (re.compile(r"\*\*"), "powers are not allowed", "multiply instead: a * a"),
    (re.compile(r"=="), "'==' is not an operator here", "write = for equality"),
    (re.compile(r"=<|=>|<>"), "not a comparison", "write <=, >= or !="),
    (re.compile(r"&&?|\|\|?|!(?!=)"), "not an operator here", "write and, or, not"),
    (
        re.compile(r"[0-9]*\.[0-9]|[0-9]+\.|[0-9]+[eE][-+]?[0-9]"),
        "lengths are whole numbers",
        "write 4096, not 4.096e3",
    ),
    (re.compile(r"[0-9]+[A-Za-z_]"), "a number does not run into letters", "write plain decimal digits: 4096"),
    (re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\.(?![A-Za-z_])"), "a name does not end in a dot", "write config.<key>"),
)
_LOOK_ALIKES = {"×": "*", "·": "*", "−": "-", "–": "-", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!="}


class ExpressionError(ValueError):
    """Text that is no length or condition: the text, the 1-based column, the reason and the fix."""

    def __init__(self, text: str, column: int, reason: str, fix: str) -> None:
        super().__init__(text, column, reason, fix)
        self.text = text
        self.column = column
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        start = max(0, self.column - 40)
        shown = self.text[start : start + 80]
        # One character per character, so that the caret stays under its column.
        line = "".join([c if c.isprintable() else "\ufffd" for c in shown])
        caret = " " * (self.column - 1 - start) + "^"
        return f"{self.reason} at column {self.column}\n  text  {line}\n        {caret}\n  fix   {self.fix}"


def parse_length(text: str | int) -> Tree:
    """The tree of a length such as `n_heads * (d_qk_nope + d_v_head)`; an int, as YAML gives it, is its own tree.

    Raises ExpressionError for anything outside the grammar.
    """
    if type(text) is int:
        if not 0 <= text < MAX_INTEGER:
            raise ExpressionError(str(text)[:MAX_LENGTH], 1, "an integer out of range", "stay within 0 .. 2^62 - 1")
        return text
    tree, parser = _parse(cast("str", text))
    if is_condition(tree):
        parser.fail(1, "a condition where a length is expected", "remove the comparison")
    return tree


def parse_condition(text: str) -> Tree:
    """The tree of a condition such as `n_heads % n_kv_heads = 0 and i < n_dense`.

    Raises ExpressionError for anything outside the grammar.
    """
    tree, parser = _parse(text)
    if not is_condition(tree):
        parser.fail(1, "a length where a condition is expected", "compare it: a = b, a < b")
    return tree


def is_condition(tree: Tree) -> bool:
    """Whether the tree compares or joins comparisons, so that it is true or false rather than a length."""
    return not isinstance(tree, int | str) and tree[0] in CONDITION_OPERATORS


def _parse(text: str) -> tuple[Tree, _Parser]:
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - YAML gives anything
        raise ExpressionError(repr(text)[:MAX_LENGTH], 1, "not text", "write the expression as a string")
    parser = _Parser(text)
    tree = parser.expression(0, 0)
    if parser.kind != "end":
        parser.unexpected()
    return tree, parser


class _Parser:
    """Precedence climbing over one token of look-ahead: kind, token and column describe the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind = ""
        self.token = ""
        self.column = 1
        self.end = 0
        if len(text) > MAX_LENGTH:
            self.fail(MAX_LENGTH + 1, f"longer than {MAX_LENGTH} characters", "split it into named dims")
        self.advance()

    def fail(self, column: int, reason: str, fix: str) -> NoReturn:
        raise ExpressionError(self.text, column, reason, fix)

    def unexpected(self) -> NoReturn:
        reason = "the text ends too early" if self.kind == "end" else f"unexpected {self.token!r}"
        self.fail(self.column, reason, "write one expression: names, integers, + - * / // %, parentheses, calls")

    def advance(self) -> None:
        blank = _BLANK.match(self.text, self.end)
        start = blank.end() if blank else self.end
        self.column = start + 1
        if start == len(self.text):
            self.kind, self.token, self.end = "end", "", start
            return
        for pattern, reason, fix in _WRONG:
            if pattern.match(self.text, start):
                self.fail(self.column, reason, fix)
        match = _TOKEN.match(self.text, start)
        if match is None or match.lastgroup is None:
            self._wrong_character(self.text[start])
        self.kind, self.token, self.end = match.lastgroup, match.group(), match.end()

    def expression(self, binding: int, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            self.fail(self.column, f"nested deeper than {MAX_DEPTH}", "split it into named dims")
        left = self._prefix(depth)
        compared = False
        while True:
            operator, column = self.token, self.column
            power = BINDING.get(operator, 0) if self.kind in ("operator", "name") else 0
            if power <= binding:
                return left
            if operator in COMPARISONS and compared:
                self.fail(column, "comparisons do not chain", "write a < b and b < c")
            compared = operator in COMPARISONS
            self.advance()
            right = self.expression(power, depth + 1)
            for side in (left, right):
                self._check_operand(operator, side, column)
            left = (operator, left, right)

    def _prefix(self, depth: int) -> Tree:
        kind, token, column = self.kind, self.token, self.column
        if kind == "end" or token in ")," or (kind == "operator" and token not in "(-"):
            self.unexpected()
        self.advance()
        if kind == "number":
            return self._integer(token, column)
        if token == "(":
            inner = self.expression(0, depth + 1)
            self._close()
            return inner
        if token in ("-", "not"):
            operand = self.expression(MINUS_BINDING if token == "-" else NOT_BINDING, depth + 1)
            self._check_operand(token, operand, column)
            return (token, operand)
        return self._call(token, column, depth) if self.token == "(" else self._name(token, column)

    def _integer(self, token: str, column: int) -> int:
        if len(token) > 1 and token[0] == "0":
            self.fail(column, "a leading zero", f"write {token.lstrip('0') or '0'}")
        value = int(token)
        if value >= MAX_INTEGER:
            self.fail(column, "an integer out of range", "stay within 0 .. 2^62 - 1")
        return value

    def _call(self, name: str, column: int, depth: int) -> Tree:
        if name not in FUNCTIONS:
            self.fail(column, f"no function is called {name!r}", f"use one of {', '.join(FUNCTIONS)}")
        self.advance()
        arguments: list[Tree] = []
        while True:
            at = self.column
            arguments.append(self.expression(0, depth + 1))
            self._check_operand(name, arguments[-1], at)
            if self.token != ",":
                break
            self.advance()
        self._close()
        if len(arguments) != 2:  # noqa: PLR2004
            self.fail(column, f"{name} takes 2 arguments, not {len(arguments)}", f"write {name}(a, b)")
        return (name, *arguments)

    def _name(self, name: str, column: int) -> str:
        first, *keys = name.split(".")
        if keys and first != "config":
            self.fail(column, "only config.<key> has dots", "read a config value, or use the dim's own name")
        if keys and any(key.startswith("_") for key in keys):
            self.fail(column, "a config key does not start with _", "name the key as config.json writes it")
        if not keys and name in RESERVED:
            self.fail(column, f"{name!r} is not a name", "use the name of a dim, or config.<key>")
        return name

    def _close(self) -> None:
        if self.token != ")":
            self.fail(self.column, "a ')' is missing", "close the parenthesis")
        self.advance()

    def _check_operand(self, operator: str, operand: Tree, column: int) -> None:
        if is_condition(operand) != (operator in JUNCTIONS):
            wanted = "conditions" if operator in JUNCTIONS else "lengths"
            self.fail(column, f"{operator!r} takes {wanted}", "compare lengths first, then join with and, or, not")

    def _wrong_character(self, character: str) -> NoReturn:
        import unicodedata  # needed for this error alone

        plain = _LOOK_ALIKES.get(character, unicodedata.normalize("NFKC", character))
        if character.isascii() or not plain.isascii() or not plain.isprintable():
            fix = "remove it: names are ASCII letters, digits and _"
        else:
            fix = f"write {plain!r}: only ASCII is read"
        self.fail(self.column, f"unexpected character {character!r}", fix)
