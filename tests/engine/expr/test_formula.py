import copy
import pickle
import re

import pytest

from rooflight.expr import (
    Space,
    ceil_div,
    cmp_,
    definitions,
    evaluate,
    expand_lets,
    floor_div,
    free_symbols,
    max_,
    min_,
    named,
    nodes,
    prod,
    text,
    total,
    where,
)

NAMES = "T W n tp E k B"


@pytest.fixture
def space():
    return Space()


@pytest.fixture
def symbols(space):
    return {name: space.symbol(name) for name in NAMES.split()}


CANONICAL = {
    "terms collect": ("T + W + T", "2·T + W"),
    "terms cancel to a number": ("T - T", "0"),
    "factors collect": ("T * W * T", "T^2·W"),
    "factors cancel": ("T * W / T", "W"),
    "nothing is expanded": ("T * (W + n)", "T·(W + n)"),
    "a number stays in front of a sum": ("3 * (T + W)", "3·(T + W)"),
    "also inside a sum": ("n + 3 * (T + W)", "n + 3·(T + W)"),
    "a sign goes inside a sum": ("n - (T + W)", "n - T - W"),
    "a sum minus itself is nothing": ("n + (T + W) - (T + W)", "n"),
    "equal multiples of a sum collect": ("3 * (T + W) - 2 * (T + W) - n", "T + W - n"),
    "constants fold": ("2 * T * 3 + 4 - 5", "6·T - 1"),
    "fractions are exact": ("T / 2 + T / 3", "5·T/6"),
    "a float counts for what it is": ("0.25 * T", "T/4"),
    "a negative power goes below the line": ("n * T ** -2", "n/T^2"),
    "the power of a product": ("(2 * T * W) ** 3", "8·T^3·W^3"),
    "the smaller of a value and more": ("min_(T, T + W - 1)", "T"),
    "nothing, or what is never negative": ("min_(0, W - 1)", "0"),
    "one, or a count": ("max_(1, n)", "n"),
    "one, or a rounded share": ("max_(1, ceil_div(n, tp))", "⌈n/tp⌉"),
    "choices flatten": ("max_(T, max_(W, n))", "max(T, W, n)"),
    "a part and its sum": ("max_(T, max_(W, T + n))", "max(W, T + n)"),
    "a product and more of it": ("min_(T * W, 2 * T * W)", "T·W"),
    "a sum in front of which a number stands": ("max_(2 * (T + W), 2 * T)", "2·(T + W)"),
    "unrelated values stay": ("min_(T, W)", "min(T, W)"),
    "a whole quotient is not rounded": ("ceil_div(6 * n, 3)", "2·n"),
    "neither up nor down": ("floor_div(T * W, W)", "T"),
    "rounding what is whole": ("ceil_div(ceil_div(T, W), 1)", "⌈T/W⌉"),
    "common factors leave a rounding": ("ceil_div(6 * T * n, 4 * n)", "⌈3·T/2⌉"),
    "a rest": ("T % W", "T - W·⌊T/W⌋"),
    "no rest": ("(T * W) % W", "0"),
    "a settled relation": ("cmp_('<', T, T + W)", "true"),
    "a relation that cannot hold": ("cmp_('==', T + W, T)", "false"),
    "an open relation": ("cmp_('>', T, W)", "W < T"),
    "a choice of one": ("where(cmp_('<', T, W), n, n)", "n"),
    "a power of a formula": ("(1 - k / E) ** T", "(1 - k/E)^T"),
    "one to any power": ("1 ** T", "1"),
}


@pytest.mark.parametrize(("written", "expected"), CANONICAL.values(), ids=CANONICAL)
def test_canonical_form(symbols, written, expected):
    tools = {"min_": min_, "max_": max_, "ceil_div": ceil_div, "floor_div": floor_div, "cmp_": cmp_, "where": where}
    assert text(eval(written, tools, symbols)) == expected


def test_equal_formulas_are_one_object(symbols):
    T, W = symbols["T"], symbols["W"]
    assert T + W is W + T
    assert T * W * 2 is 2 * W * T
    assert total([T, W, 1]) is 1 + W + T
    assert max_(T, W) is max_(W, T)
    assert cmp_("==", T, W) is cmp_("==", W, T)
    assert cmp_("<", T, W) is cmp_(">", W, T)
    assert len({T + W, W + T}) == 1


def test_equality_is_identity(symbols):
    T = symbols["T"]
    assert symbols["T"] == T
    assert (T == T + 1) is False


def test_a_formula_has_no_truth_value(symbols):
    with pytest.raises(TypeError, match=re.escape("a formula has no truth value: use where() or decide()")):
        bool(symbols["T"])
    with pytest.raises(TypeError, match="no truth value"):
        assert cmp_("<", symbols["T"], symbols["W"])


def test_order_comparison_is_refused(symbols):
    with pytest.raises(TypeError, match="not supported"):
        symbols["T"] < symbols["W"]  # noqa: B015


REFUSED = {
    "another space": (lambda T: T + Space().symbol("T"), "formulas of two Spaces do not mix: make both in one Space"),
    "text": (lambda T: T + "1", "a formula holds ints, floats and Fractions, not str"),
    "a bool": (lambda T: T * True, "a formula holds ints, floats and Fractions, not bool"),
    "a condition": (
        lambda T: T + cmp_("<", T, 3),
        "a condition is not a number: choose between numbers with where()",
    ),
    "a number as condition": (
        lambda T: where(T, 1, 2),
        "a condition is expected here, made with cmp_(), and_(), or_() or not_()",
    ),
}


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_mix(symbols, act, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        act(symbols["T"])


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_only_finite_numbers(symbols, value):
    with pytest.raises(ValueError, match=f"^a formula holds finite numbers only, not {value!r}$"):
        symbols["T"] * value


@pytest.mark.parametrize("name", ["", "2a", "a b", "a-b", "a.", ".a", "ñ", "ｎ", "a\n", "__import__('os')", "a" * 200])
def test_bad_names(space, name):
    message = f"a name is made of ASCII letters, digits, _ and inner dots, not {name[:128]!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        space.symbol(name)
    with pytest.raises(ValueError, match=re.escape(message)):
        space.named(name, 1)


def test_a_symbol_is_declared_once(space):
    first = space.symbol("W", minimum=0)
    assert space.symbol("W", minimum=0) is first
    with pytest.raises(ValueError, match=r"^symbol 'W' is already declared with minimum=0, whole=True$"):
        space.symbol("W")


def test_symbols_that_are_no_counts(space):
    rate = space.symbol("rate", minimum=0, whole=False)
    assert text(ceil_div(rate * 2, 1)) == "⌈2·rate⌉"
    assert text(max_(rate, 0)) == "rate"
    assert text(max_(rate, 1)) == "max(rate, 1)"


def test_a_minimum_of_zero_is_used(space):
    T, W = space.symbol("T"), space.symbol("W", minimum=0)
    assert text(min_(T, T + W - 1)) == "min(T, T + W - 1)"
    assert min_(T, T + W) is T
    assert text(max_(W, 1)) == "max(W, 1)"


def test_formulas_are_not_copied(symbols):
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"^a formula lives in its Space and is not copied or pickled"):
            act(symbols["T"])


def test_free_symbols_in_order_of_first_appearance(symbols):
    T, W, n = symbols["T"], symbols["W"], symbols["n"]
    assert free_symbols(n * (W + T) + ceil_div(W, T)) == ("n", "W", "T")
    assert free_symbols(3) == ()


def test_names_label_parts(symbols):
    T, W = symbols["T"], symbols["W"]
    area = named("area", T * W)
    price = named("price", 2 * area + T)
    assert text(price * 3) == "3·price"
    assert {name: text(body) for name, body in definitions(price * 3).items()} == {"area": "T·W", "price": "2·area + T"}
    assert text(expand_lets(price * 3)) == "3·(2·T·W + T)"
    assert evaluate(price, {"T": 2, "W": 5}) == 22
    assert named("area", 7) == 7
    assert named("T", T) is T
    assert named("area", area) is area


def test_names_survive_substitution(symbols):
    area = named("area", symbols["T"] * symbols["W"])
    halved = evaluate(area + 1, {"T": symbols["T"], "W": 2})
    assert text(halved) == "area + 1"
    assert text(expand_lets(halved)) == "2·T + 1"
    assert evaluate(area + 1, {"T": 3, "W": 2}) == 7


def test_a_name_for_two_things_is_refused(symbols):
    T = symbols["T"]
    for whole in (named("x", T + 1) + named("x", T + 2), named("W", T + 1) * symbols["W"]):
        with pytest.raises(ValueError, match=r"^the name '\w' stands for two things in one formula$"):
            definitions(whole)


def test_nodes_come_after_their_parts(symbols):
    whole = symbols["T"] * symbols["W"] + symbols["T"]
    assert [text(node) for node in nodes(whole)] == ["T", "W", "T·W", "T·W + T"]


def test_a_loop_and_one_total_agree(symbols):
    parts = [symbols["T"] * i + symbols["W"] for i in range(50)]
    added = 0
    for part in parts:
        added = added + part
    assert total(parts) is added
    assert text(added) == "50·W + 1225·T"
    assert text(prod(parts[:2])) == "W·(T + W)"


def test_huge_bounds_are_let_go(symbols):
    whole = 2 * symbols["T"] + 1
    for _ in range(8):
        whole = whole**60 + 1
    assert whole.low == 2**256
