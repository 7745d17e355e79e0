import json
import re
from fractions import Fraction

import pytest

from rooflight.expr import (
    FormulaDataError,
    Space,
    and_,
    ceil_div,
    cmp_,
    from_json,
    max_,
    named,
    power,
    text,
    to_json,
    where,
)

T_ROW, W_ROW = ["symbol", "T", 1], ["symbol", "W", 0]


def table(*rows, roots=None):
    return {"nodes": [*rows], "roots": {"it": len(rows) - 1} if roots is None else roots}


def test_a_table_written_out():
    space = Space()
    T, W = space.symbol("T"), space.symbol("W", minimum=0)
    rate = space.symbol("rate", minimum=0, whole=False)
    roots = {
        "rows": max_(T * W, 3),
        "share": named("share", ceil_div(2 * T - 1, 3)) / T**2,
        "time": T / 3 + 2**60,
        "rate": rate,
        "layers": 61,
        "half": Fraction(1, 2),
        "weight": 0.1,
        "large": 2**60,
        "always": True,
    }
    written = to_json(roots)
    assert written == {
        "nodes": [
            ["symbol", "T", 1],
            ["symbol", "W", 0],
            ["*", 1, 0, 1],
            ["number", 3],
            ["max", 2, 3],
            ["+", -1, [0, 2]],
            ["ceil_div", 5, 3],
            ["let", "share", 6],
            ["*", 1, 7, [0, -2]],
            ["+", "1152921504606846976", [0, "1/3"]],
            ["symbol", "rate", 0, False],
        ],
        "roots": {
            "rows": 4,
            "share": 8,
            "time": 9,
            "rate": 10,
            "layers": {"value": 61},
            "half": {"value": "1/2"},
            "weight": {"value": 0.1},
            "large": {"value": "1152921504606846976"},
            "always": {"value": True},
        },
    }
    read = from_json(json.loads(json.dumps(written)), space)
    assert all(read[name] is value or read[name] == value for name, value in roots.items())
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in roots.items()}


def test_a_table_reads_into_a_space_that_wrote_terms_in_another_order():
    first, second = Space(), Space()
    written = to_json({"it": first.symbol("T") + first.symbol("W", minimum=0)})
    kept = second.symbol("W", minimum=0) + second.symbol("T")
    assert from_json(written, second)["it"] is kept


def test_conditions_travel_too():
    space = Space()
    T, W = space.symbol("T"), space.symbol("W")
    both = and_(cmp_("<", T, W), cmp_("!=", W, 3))
    roots = {"it": where(both, power(2, T), 1), "when": both}
    assert from_json(to_json(roots), space) == roots
    assert text(roots["it"]) == "[T < W and W ≠ 3 ? 2^T : 1]"


def test_only_finite_numbers_are_written():
    with pytest.raises(ValueError, match=r"^JSON holds finite numbers only, not inf$"):
        to_json({"it": float("inf")})


EXACT = '%s: an exact number is expected, 3 or "2/3" in lowest terms'
FORM = "%s: not in the form that to_json() writes"
REFERENCE = "%s: the index of an earlier node is expected, below %s"
SUM = ["+", 1, 0]

HOSTILE = {
    "not a table": ([], 'a table of formulas is {"nodes": [...], "roots": {...}}'),
    "another key": (
        {"nodes": [], "roots": {}, "x": 1},
        'a table of formulas is {"nodes": [...], "roots": {...}}',
    ),
    "nodes are no list": ({"nodes": {}, "roots": {}}, "nodes: a list of at most 50000 nodes is expected"),
    "too many nodes": (
        {"nodes": [T_ROW] * 50_001, "roots": {}},
        "nodes: a list of at most 50000 nodes is expected",
    ),
    "roots are no object": ({"nodes": [], "roots": []}, "roots: an object of at most 20000 entries is expected"),
    "a root name is no text": ({"nodes": [], "roots": {1: 1}}, "roots: names are expected to be text"),
    "a root without a node": (table(roots={"it": 0}), REFERENCE % ("root 'it'", 0)),
    "a negative reference": (table(T_ROW, roots={"it": -1}), REFERENCE % ("root 'it'", 1)),
    "a bool as reference": (table(T_ROW, roots={"it": False}), REFERENCE % ("root 'it'", 1)),
    "a value that is no number": (table(roots={"it": {"value": "x"}}), EXACT % "root 'it'"),
    "a value that is not finite": (table(roots={"it": {"value": float("nan")}}), EXACT % "root 'it'"),
    "a row that is no list": (table("T"), "node 0: a list [kind, ...] of 2 to 5000 entries is expected"),
    "an empty row": (table([]), "node 0: a list [kind, ...] of 2 to 5000 entries is expected"),
    "a long row": (table(["+"] * 5_001), "node 0: a list [kind, ...] of 2 to 5000 entries is expected"),
    "an unknown kind": (
        table(["exec", "x"]),
        "node 0: a kind is one of number symbol + * max min ceil_div floor_div ^ == != < <= and or where let",
    ),
    "a kind that is no text": (
        table([["+"], 0]),
        "node 0: a kind is one of number symbol + * max min ceil_div floor_div ^ == != < <= and or where let",
    ),
    "a cycle": (table(T_ROW, ["+", 1, 2], ["+", 1, 1]), REFERENCE % ("node 1", 1)),
    "itself": (table(T_ROW, ["max", 0, 1]), REFERENCE % ("node 1", 1)),
    "a name that is no name": (
        table(["symbol", "a b", 1]),
        "node 0: a name is made of ASCII letters, digits, _ and inner dots, not 'a b'",
    ),
    "a name that is no text": (table(["symbol", 3, 1]), "node 0: a name is expected to be text"),
    "a symbol declared twice": (
        table(T_ROW, ["symbol", "T", 2]),
        "node 1: symbol 'T' is already declared with minimum=1, whole=True",
    ),
    "a symbol without a minimum": (table(["symbol", "T"]), "node 0: 2 entries after the kind are expected, not 1"),
    "a symbol that is whole twice": (
        table(["symbol", "T", 1, True]),
        "node 0: the third entry of a symbol is false or left out",
    ),
    "a float": (table(T_ROW, ["+", 0.5, 0]), EXACT % "node 1"),
    "a fraction not in lowest terms": (table(T_ROW, ["+", "2/4", 0]), EXACT % "node 1"),
    "a division by zero": (table(T_ROW, ["+", "1/0", 0]), EXACT % "node 1"),
    "an int as text": (table(T_ROW, ["+", "1", 0]), EXACT % "node 1"),
    "digits of another script": (table(T_ROW, ["+", "١/٣", 0]), EXACT % "node 1"),
    "a long number": (table(T_ROW, ["+", "9" * 401, 0]), EXACT % "node 1"),
    "a large exponent": (
        table(T_ROW, ["*", 1, [0, 65]]),
        "node 1: an exponent is an integer of at most 64 either way",
    ),
    "a fractional exponent": (
        table(T_ROW, ["*", 1, [0, "1/2"]]),
        "node 1: an exponent is an integer of at most 64 either way",
    ),
    "a power of a number": (
        table(["number", 9], ["*", 1, [0, 64]]),
        "node 1: the factors of a product are neither numbers nor products",
    ),
    "a power of a product": (
        table(T_ROW, ["*", 9, 0], ["*", 1, [1, 64]]),
        "node 2: the factors of a product are neither numbers nor products",
    ),
    "a power that is a product": (
        table(["number", 9], ["number", 99], ["^", 0, 1]),
        "node 2: a power with an integer exponent is written as a product",
    ),
    "a sum of one": (table(T_ROW, ["+", 0, 0]), FORM % "node 1"),
    "a term twice": (table(T_ROW, ["+", 1, 0, 0]), FORM % "node 1"),
    "a sum in a sum": (table(T_ROW, SUM, W_ROW, ["+", 0, 1, 2]), FORM % "node 3"),
    "a settled choice": (table(T_ROW, SUM, ["max", 0, 1]), FORM % "node 2"),
    "a settled relation": (table(T_ROW, SUM, ["<", 0, 1]), FORM % "node 2"),
    "a whole quotient": (table(T_ROW, ["number", 1], ["ceil_div", 0, 1]), FORM % "node 2"),
    "a division by a number zero": (
        table(T_ROW, ["number", 0], ["ceil_div", 0, 1]),
        "node 2: division by zero",
    ),
    "many choices": (table(T_ROW, ["max", *[0] * 65]), "node 1: at most 64 arguments are read here"),
    "a number as condition": (
        table(T_ROW, ["where", 0, 0, 0]),
        "node 1: a condition is expected here, made with cmp_(), and_(), or_() or not_()",
    ),
    "a condition as number": (
        table(T_ROW, W_ROW, ["<", 0, 1], ["max", 0, 2]),
        "node 3: a condition is not a number: choose between numbers with where()",
    ),
    "a term without a coefficient": (table(T_ROW, ["+", 1, [0]]), REFERENCE % ("node 1", 1)),
    "a name for a number": (table(["number", 3], ["let", "x", 0]), FORM % "node 1"),
}


@pytest.mark.parametrize(("data", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_tables(data, message):
    with pytest.raises(FormulaDataError) as caught:
        from_json(data, Space())
    assert str(caught.value) == message.replace("division by zero", str(caught.value).partition(": ")[2])
    assert re.match(r"[\x20-\x7e]+$", str(caught.value).replace("١/٣", ""))


def test_powers_of_powers_stay_small():
    """Each node doubles nothing but the bounds, and those are let go."""
    rows = [T_ROW]
    for i in range(200):
        rows += [["+", 1, 2 * i], ["*", 1, [2 * i + 1, 64]]]
    assert len(from_json(table(*rows), Space())) == 1
