import json

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.expr.reread import reread
from engine.expr.strategies import bindings, build, exactly, recipes, symbols
from rooflight.expr import (
    Expr,
    Space,
    compile_python,
    definitions,
    evaluate,
    expand_lets,
    free_symbols,
    from_json,
    latex,
    mathml,
    nodes,
    prod,
    text,
    to_json,
    to_sympy,
    total,
)

slow_draws = [HealthCheck.too_slow, HealthCheck.filter_too_much]
quick = settings(deadline=None, max_examples=150, suppress_health_check=slow_draws)
heavy = settings(quick, max_examples=50)


def formula(recipe, space=None):
    """The recipe over symbols, or no test: a constant division by zero has no formula."""
    try:
        return build(recipe, symbols(space or Space()))
    except ZeroDivisionError:
        assume(False)


def worked_out(recipe, values):
    try:
        return exactly(recipe, values)
    except ZeroDivisionError:
        assume(False)


@quick
@given(recipes, bindings())
def test_formula_equals_exact_arithmetic(recipe, values):
    expected = worked_out(recipe, values)
    whole = formula(recipe)
    result = evaluate(whole, values)
    assert result == expected
    assert not isinstance(whole, Expr) or type(result) is int or result.denominator != 1


@quick
@given(recipes, bindings())
def test_walking_numbers_equals_exact_arithmetic(recipe, values):
    expected = worked_out(recipe, values)
    assert build(recipe, values) == expected


@quick
@given(st.lists(recipes, min_size=1, max_size=3), bindings())
def test_compiled_equals_evaluated(several, values):
    space = Space()
    roots = {f"root{i}": formula(recipe, space) for i, recipe in enumerate(several)}
    expected = {f"root{i}": worked_out(recipe, values) for i, recipe in enumerate(several)}
    compiled = compile_python(roots)
    result = compiled(**{name: values[name] for name in compiled.arguments})
    assert result == expected
    for name, root in roots.items():
        assert not isinstance(root, Expr) or type(result[name]) is type(evaluate(root, values))


@heavy
@given(recipes, bindings())
def test_sympy_agrees(recipe, values):
    expected = worked_out(recipe, values)
    found = to_sympy(formula(recipe))
    found = found.subs({symbol: values[symbol.name] for symbol in found.free_symbols})
    assert (found.p, found.q) == (expected.numerator, expected.denominator)


@quick
@given(recipes, st.lists(bindings(), min_size=1, max_size=4))
def test_array_equals_its_points(recipe, points):
    expected = [worked_out(recipe, values) for values in points]
    assume(all(abs(value) < 2**40 for value in expected))
    arrays = {name: np.array([float(values[name]) for values in points]) for name in points[0]}
    whole = formula(recipe)
    with np.errstate(all="ignore"):
        evaluated = evaluate(whole, arrays)
        compiled = compile_python({"it": whole})
        ran = compiled(**{name: arrays[name] for name in compiled.arguments})["it"]
        walked = build(in_floats(recipe), arrays)
    if sensitive(recipe):
        return  # a rounding error before ⌈ ⌉ or a comparison may move the result by a whole step
    for result in (evaluated, ran, walked):
        found = np.broadcast_to(np.asarray(result, dtype=float), len(points))
        assert found == pytest.approx([float(value) for value in expected], rel=1e-6, abs=1e-3)


def in_floats(recipe):
    """The recipe with its constants as floats: what a driver binds beside arrays."""
    if isinstance(recipe, tuple | list):
        exponents = recipe[0] == "power" if recipe else False
        return type(recipe)([part if exponents and i == 2 else in_floats(part) for i, part in enumerate(recipe)])
    return recipe if isinstance(recipe, str) else float(recipe)


def sensitive(recipe):
    """Whether rounding can change the result by more than rounding: a quotient somewhere below a step."""
    steps, inexact = ("ceil_div", "floor_div", "%", "where"), ("/", "power", "raise")
    kinds = str(recipe)
    return any(f"'{s}'" in kinds for s in steps) and (any(f"'{i}'" in kinds for i in inexact) or "Fraction" in kinds)


@quick
@given(recipes, bindings())
def test_bounds_hold(recipe, values):
    whole = formula(recipe)
    assume(isinstance(whole, Expr))
    memo = {}
    try:
        evaluate(whole, values, memo)
    except ZeroDivisionError:
        assume(False)
    for node, value in memo.items():
        assert node.low is None or node.low <= value, node
        assert node.high is None or value <= node.high, node
        assert not node.whole or type(value) is int, node


@quick
@given(recipes)
def test_json_round_trip_is_identity(recipe):
    space = Space()
    roots = {"it": formula(recipe, space), "two": 2}
    sent = json.loads(json.dumps(to_json(roots)))
    back = from_json(sent, space)
    assert back["it"] is roots["it"] or back == roots
    assert to_json(from_json(sent, Space())) == sent


@quick
@given(recipes)
def test_printed_text_reads_back_as_the_same_formula(recipe):
    space = Space()
    whole = formula(recipe, space)
    try:
        lets = definitions(whole)
    except ValueError:
        assume(False)  # one name for two things cannot be read
    named = {name: space.named(name, body) for name, body in lets.items()}
    again = reread(text(whole), space, named)
    assert again is whole or again == whole


@quick
@given(recipes)
def test_every_printer_prints_every_formula(recipe):
    from xml.etree import ElementTree as ET

    whole = formula(recipe)
    ET.fromstring(f"<math>{mathml(whole)}</math>")
    assert latex(whole).count("{") == latex(whole).count("}")


@quick
@given(recipes, bindings())
def test_names_change_nothing_but_the_print(recipe, values):
    expected = worked_out(recipe, values)
    whole = formula(recipe)
    bare = expand_lets(whole)
    assert not isinstance(bare, Expr) or "let" not in {node.kind for node in nodes(bare)}
    assert evaluate(bare, values) == expected
    assert set(free_symbols(bare)) <= set(free_symbols(whole))


@quick
@given(recipes)
def test_substituting_a_symbol_for_itself_is_identity(recipe):
    space = Space()
    whole = formula(recipe, space)
    again = evaluate(whole, symbols(space))
    assert again is whole or again == whole


@quick
@given(st.lists(st.sampled_from("abcd") | st.integers(-3, 9), min_size=2, max_size=7), st.randoms())
def test_order_does_not_matter(parts, chance):
    space = Space()
    values = [space.symbol(part) if isinstance(part, str) else part for part in parts]
    other = values[:]
    chance.shuffle(other)
    for make in (total, prod, lambda v: space.max_(*v), lambda v: space.min_(*v)):
        first, second = make(values), make(other)
        assert first is second or first == second


@quick
@given(st.lists(recipes, min_size=2, max_size=5), st.randoms())
def test_order_of_whole_formulas_does_not_matter(several, chance):
    space = Space()
    values = [formula(recipe, space) for recipe in several]
    other = values[:]
    chance.shuffle(other)
    for make in (total, lambda v: space.max_(*v), lambda v: space.min_(*v)):
        first, second = make(values), make(other)
        assert first is second or first == second
