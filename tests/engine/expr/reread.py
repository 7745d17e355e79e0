"""Reads what text() prints back into a formula: a second opinion on its precedence, for tests only."""

import re

from rooflight import expr

_TOKEN = re.compile(r"\s*([0-9]+|[A-Za-z_][A-Za-z0-9_.]*|[-+·/^()⌈⌉⌊⌋\[\]?:,<=≤≠])")
_RELATIONS = {"=": "==", "≠": "!=", "<": "<", "≤": "<="}


def reread(text, space, lets):
    """The formula that a text stands for; names in `lets` are its named parts."""
    reader = _Reader(_TOKEN.findall(text), space, lets)
    value = reader.junction("or")
    assert not reader.tokens, text
    return value


class _Reader:
    def __init__(self, tokens, space, lets):
        self.tokens = tokens[::-1]
        self.space = space
        self.lets = lets

    def take(self, *wanted):
        if self.tokens and self.tokens[-1] in wanted:
            return self.tokens.pop()
        return None

    def must(self, token):
        assert self.take(token), (token, self.tokens[::-1])

    def junction(self, kind):
        inner = self.relation if kind == "and" else lambda: self.junction("and")
        value = inner()
        while self.take(kind):
            value = getattr(expr, f"{kind}_")(value, inner())
        return value

    def relation(self):
        left = self.sum()
        op = self.take(*_RELATIONS)
        return expr.cmp_(_RELATIONS[op], left, self.sum()) if op else left

    def sum(self):
        terms = [-self.product() if self.take("-") else self.product()]
        while op := self.take("+", "-"):
            terms.append(self.product() if op == "+" else -self.product())
        return expr.total(terms)

    def product(self):
        value = self.power()
        while op := self.take("·", "/"):
            value = value * self.power() if op == "·" else expr.div(value, self.power())
        return value

    def power(self):
        base = self.atom()
        return expr.power(base, self.atom()) if self.take("^") else base

    def atom(self):
        token = self.tokens.pop()
        if token.isdigit():
            return int(token)
        if token == "(":
            return self.closed(")")
        if token == "⌈":
            return expr.ceil_div(self.closed("⌉"), 1)
        if token == "⌊":
            return expr.floor_div(self.closed("⌋"), 1)
        if token == "[":
            return self.choice()
        if token in ("min", "max") and self.take("("):
            values = [self.sum()]
            while self.take(","):
                values.append(self.sum())
            self.must(")")
            return getattr(self.space, f"{token}_")(*values)
        return self.lets[token] if token in self.lets else self.space.symbol(token, minimum=self.minimum(token))

    def minimum(self, name):
        from engine.expr.strategies import MINIMUM

        return MINIMUM[name]

    def closed(self, token):
        value = self.junction("or")
        self.must(token)
        return value

    def choice(self):
        condition = self.junction("or")
        self.must("?")
        then = self.sum()
        self.must(":")
        return self.space.where(condition, then, self.closed("]"))
