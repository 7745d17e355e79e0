import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.expr import (
    ExpressionError,
    Space,
    evaluate_tree,
    is_condition,
    names,
    parse_condition,
    parse_length,
    print_tree,
    text,
)

LENGTHS = {
    "7": 7,
    "  n_heads ": "n_heads",
    "in * out": ("*", "in", "out"),
    "n_heads * (d_qk_nope + d_v_head)": ("*", "n_heads", ("+", "d_qk_nope", "d_v_head")),
    "a - b - c": ("-", ("-", "a", "b"), "c"),
    "a - (b - c)": ("-", "a", ("-", "b", "c")),
    "a + b * c // d % e / f": ("+", "a", ("/", ("%", ("//", ("*", "b", "c"), "d"), "e"), "f")),
    "-a * b": ("*", ("-", "a"), "b"),
    "a - -b": ("-", "a", ("-", "b")),
    "--a": ("-", ("-", "a")),
    "ceil_div(a, b + 1)": ("ceil_div", "a", ("+", "b", 1)),
    "min(floor_div(a, 2), max(b, c))": ("min", ("floor_div", "a", 2), ("max", "b", "c")),
    "config.text_config.hidden_size / 2": ("/", "config.text_config.hidden_size", 2),
    "4611686018427387903": 2**62 - 1,
    "not_a_keyword + order": ("+", "not_a_keyword", "order"),
    "a\n  + b\t": ("+", "a", "b"),
}
CONDITIONS = {
    "n_heads % n_kv_heads = 0 and i < n_dense": (
        "and",
        ("=", ("%", "n_heads", "n_kv_heads"), 0),
        ("<", "i", "n_dense"),
    ),
    "a != b or c >= d and not e <= f": ("or", ("!=", "a", "b"), ("and", (">=", "c", "d"), ("not", ("<=", "e", "f")))),
    "not (a = b or c = d)": ("not", ("or", ("=", "a", "b"), ("=", "c", "d"))),
    "(a = b) and (c > d)": ("and", ("=", "a", "b"), (">", "c", "d")),
}


@pytest.mark.parametrize(("written", "tree"), LENGTHS.items(), ids=LENGTHS)
def test_lengths(written, tree):
    assert parse_length(written) == tree
    assert not is_condition(tree)
    assert parse_length(print_tree(tree)) == tree


@pytest.mark.parametrize(("written", "tree"), CONDITIONS.items(), ids=CONDITIONS)
def test_conditions(written, tree):
    assert parse_condition(written) == tree
    assert is_condition(tree)
    assert parse_condition(print_tree(tree)) == tree


def test_an_int_is_its_own_length():
    assert parse_length(128) == 128


ANYTHING = "write one expression: names, integers, + - * / // %, parentheses, calls"
FUNCTION = "use one of ceil_div, floor_div, min, max"
NO_NAME = "use the name of a dim, or config.<key>"
REMOVE = "remove it: names are ASCII letters, digits and _"
COMPARE = "compare lengths first, then join with and, or, not"

HOSTILE = {  # text: column, reason, fix
    "": (1, "the text ends too early", ANYTHING),
    "   ": (4, "the text ends too early", ANYTHING),
    "a +": (4, "the text ends too early", ANYTHING),
    "(a": (3, "a ')' is missing", "close the parenthesis"),
    "a)": (2, "unexpected ')'", ANYTHING),
    "()": (2, "unexpected ')'", ANYTHING),
    "a b": (3, "unexpected 'b'", ANYTHING),
    "a 2": (3, "unexpected '2'", ANYTHING),
    "* a": (1, "unexpected '*'", ANYTHING),
    "+a": (1, "unexpected '+'", ANYTHING),
    "a, b": (2, "unexpected ','", ANYTHING),
    "a ** 2": (3, "powers are not allowed", "multiply instead: a * a"),
    "9**9**9**9": (2, "powers are not allowed", "multiply instead: a * a"),
    "1.5": (1, "lengths are whole numbers", "write 4096, not 4.096e3"),
    ".5": (1, "lengths are whole numbers", "write 4096, not 4.096e3"),
    "1.": (1, "lengths are whole numbers", "write 4096, not 4.096e3"),
    "1e6": (1, "lengths are whole numbers", "write 4096, not 4.096e3"),
    "0x10": (1, "a number does not run into letters", "write plain decimal digits: 4096"),
    "1_000": (1, "a number does not run into letters", "write plain decimal digits: 4096"),
    "010": (1, "a leading zero", "write 10"),
    "4611686018427387904": (1, "an integer out of range", "stay within 0 .. 2^62 - 1"),
    "True": (1, "'True' is not a name", NO_NAME),
    "None + 1": (1, "'None' is not a name", NO_NAME),
    "null": (1, "'null' is not a name", NO_NAME),
    "config": (1, "'config' is not a name", NO_NAME),
    "min": (1, "'min' is not a name", NO_NAME),
    "a if b else c": (3, "unexpected 'if'", ANYTHING),
    "lambda: 0": (7, "unexpected character ':'", REMOVE),
    "__import__('os')": (1, "no function is called '__import__'", FUNCTION),
    "f(x)": (1, "no function is called 'f'", FUNCTION),
    "config.f(x)": (1, "no function is called 'config.f'", FUNCTION),
    "min(a)": (1, "min takes 2 arguments, not 1", "write min(a, b)"),
    "min(a, b, c)": (1, "min takes 2 arguments, not 3", "write min(a, b)"),
    "min()": (5, "unexpected ')'", ANYTHING),
    "min(a,)": (7, "unexpected ')'", ANYTHING),
    "a.b": (1, "only config.<key> has dots", "read a config value, or use the dim's own name"),
    "config.__class__": (1, "a config key does not start with _", "name the key as config.json writes it"),
    "config.a._b": (1, "a config key does not start with _", "name the key as config.json writes it"),
    "config.": (1, "a name does not end in a dot", "write config.<key>"),
    "config..a": (1, "a name does not end in a dot", "write config.<key>"),
    "config.1a": (1, "a name does not end in a dot", "write config.<key>"),
    "(1).real": (4, "unexpected character '.'", REMOVE),
    "a[0]": (2, "unexpected character '['", REMOVE),
    "a; b": (2, "unexpected character ';'", REMOVE),
    "'a'": (1, 'unexpected character "\'"', REMOVE),
    "a @ b": (3, "unexpected character '@'", REMOVE),
    "a := 3": (3, "unexpected character ':'", REMOVE),
    "a\x00": (2, "unexpected character '\\x00'", REMOVE),
    "ｎ_heads": (1, "unexpected character 'ｎ'", "write 'n': only ASCII is read"),
    "n_hеads": (4, "unexpected character 'е'", REMOVE),
    "a × b": (3, "unexpected character '×'", "write '*': only ASCII is read"),
    "a − b": (3, "unexpected character '−'", "write '-': only ASCII is read"),
    "٣": (1, "unexpected character '٣'", REMOVE),
    "²": (1, "unexpected character '²'", "write '2': only ASCII is read"),
    "a\u2028+ b": (2, "unexpected character '\\u2028'", REMOVE),
    "a\u00a0+ b": (2, "unexpected character '\\xa0'", "write ' ': only ASCII is read"),
    "a = b": (1, "a condition where a length is expected", "remove the comparison"),
    "a == b": (3, "'==' is not an operator here", "write = for equality"),
    "a && b": (3, "not an operator here", "write and, or, not"),
    "!a": (1, "not an operator here", "write and, or, not"),
    "a <> b": (3, "not a comparison", "write <=, >= or !="),
    "a < b < c": (7, "comparisons do not chain", "write a < b and b < c"),
    "(a < b) + 1": (9, "'+' takes lengths", COMPARE),
    "min(a < b, c)": (5, "'min' takes lengths", COMPARE),
    "a and b": (3, "'and' takes conditions", COMPARE),
    "not a": (1, "'not' takes conditions", COMPARE),
    "a = not b = c": (3, "'=' takes lengths", COMPARE),
    "-(a < b)": (1, "'-' takes lengths", COMPARE),
    "(" * 25 + "a" + ")" * 25: (26, "nested deeper than 24", "split it into named dims"),
    "-" * 30 + "a": (26, "nested deeper than 24", "split it into named dims"),
    "a+" * 128 + "a": (257, "longer than 256 characters", "split it into named dims"),
}


@pytest.mark.parametrize(("written", "expected"), HOSTILE.items(), ids=map(ascii, HOSTILE))
def test_hostile_text(written, expected):
    with pytest.raises(ExpressionError) as caught:
        parse_length(written)
    error = caught.value
    assert (error.text, error.column, error.reason, error.fix) == (written, *expected)


@pytest.mark.parametrize("value", [None, True, 1.5, ["a"], b"a", -1, 2**62])
def test_what_is_no_text(value):
    with pytest.raises(ExpressionError):
        parse_length(value)


def test_a_length_is_no_condition():
    with pytest.raises(ExpressionError) as caught:
        parse_condition("n_heads")
    assert str(caught.value) == (
        "a length where a condition is expected at column 1\n"
        "  text  n_heads\n"
        "        ^\n"
        "  fix   compare it: a = b, a < b"
    )


def test_the_caret_stands_under_its_column():
    with pytest.raises(ExpressionError) as caught:
        parse_length("n_heads * (d_nope + 1.5)")
    assert str(caught.value) == (
        "lengths are whole numbers at column 21\n"
        "  text  n_heads * (d_nope + 1.5)\n"
        "                            ^\n"
        "  fix   write 4096, not 4.096e3"
    )


def test_the_caret_stands_right_in_a_long_text():
    with pytest.raises(ExpressionError) as caught:
        parse_length("a + " * 40 + "\n\x07")
    _, shown, caret, _ = str(caught.value).split("\n")
    assert shown[len(caret) - 1] == "\ufffd"
    assert len(shown) < 100


def test_names_in_order():
    tree = parse_condition("b * config.a.b = a + b and c < config.a.b")
    assert names(tree) == ("b", "config.a.b", "a", "c")
    assert names(7) == ()


def test_values_of_every_kind():
    tree = parse_length(
        "ceil_div(n_heads, tp) * (d - 1) // 2 + config.x % 5 + min(a, max(b, 3)) - -a / 2 + floor_div(7, 2)"
    )
    numbers = {"n_heads": 12, "tp": 8, "d": 4, "config.x": 7, "a": 6, "b": 2}
    assert evaluate_tree(tree, numbers.__getitem__) == 3 + 2 + 3 + 3 + 3
    arrays = {name: np.array([float(value)]) for name, value in numbers.items()}
    assert evaluate_tree(tree, arrays.__getitem__).tolist() == [14]
    space = Space()
    assert text(evaluate_tree(parse_length("ceil_div(h, tp) * 2"), space.symbol)) == "2·⌈h/tp⌉"


def test_conditions_of_every_kind():
    tree = parse_condition("h % k = 0 and not (i >= n or h != 8)")
    assert evaluate_tree(tree, {"h": 8, "k": 2, "i": 1, "n": 2}.__getitem__) is True
    assert evaluate_tree(tree, {"h": 8, "k": 3, "i": 1, "n": 2}.__getitem__) is False
    space = Space()
    relation = evaluate_tree(tree, lambda name: space.symbol(name) if name in "in" else 8)
    assert text(relation) == "i < n"


def test_a_tree_from_json_reads_alike():
    tree = parse_condition("a * 2 = b")
    listed = json.loads(json.dumps(tree))
    assert evaluate_tree(listed, {"a": 3, "b": 6}.__getitem__) is True
    assert names(listed) == ("a", "b")
    assert print_tree(listed) == "a * 2 = b"


def test_an_unknown_name_is_the_readers_business():
    with pytest.raises(KeyError, match="x"):
        evaluate_tree("x", {}.__getitem__)


leaves = st.sampled_from(["a", "in", "n_heads", "config.a.b"]) | st.integers(0, 2**62 - 1)
lengths = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.tuples(st.sampled_from(["min", "max", "ceil_div", "floor_div"]), inner, inner),
        st.tuples(st.just("-"), inner),
    ),
    max_leaves=10,
)
conditions = st.recursive(
    st.tuples(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), lengths, lengths),
    lambda inner: st.one_of(st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)),
    max_leaves=4,
)


@settings(deadline=None)
@given(lengths)
def test_parse_undoes_print(tree):
    written = print_tree(tree)
    if len(written) <= 256:
        assert parse_length(written) == tree


@settings(deadline=None)
@given(conditions)
def test_parse_undoes_print_of_conditions(tree):
    written = print_tree(tree)
    if len(written) <= 256:
        assert parse_condition(written) == tree


PIECES = ["a", "in", "config.", "config.a", "0", "7", "1.5", "(", ")", ",", "min(", "ceil_div(", "and", "or", "not"]
SIGNS = ["+", "-", "*", "**", "/", "//", "%", "=", "==", "!=", "<", "<=", "!", " ", "\n", "\x00", "ｎ", "²", "_", "."]


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(PIECES + SIGNS), max_size=40).map("".join) | st.text(max_size=300))
def test_only_expression_errors_escape(written):
    refused = []
    for parse in (parse_length, parse_condition):
        try:
            tree = parse(written)
        except ExpressionError as error:
            refused.append(error)
        else:
            assert parse(print_tree(tree)) == tree
    for error in refused:
        assert 1 <= error.column <= 257
        assert re.match(r".+ at column \d+\n  text  ", str(error))
