"""The formula says what the number says: at every node, in every column, for every figure."""

from math import isclose

from hypothesis import HealthCheck, given, settings

from engine.model_strategies import load, steps, targets
from rooflight import api, derive
from rooflight.api.catalog import COLUMNS, FIGURES
from rooflight.expr import evaluate

heavy = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))

TABLES = (
    "matmul", "other", "params", "weights_read", "read", "written", "cache_read", "cache_written", "copies",
)  # fmt: skip


def same(left, right):
    """Exactly, except where a power of a fraction made floats of both."""
    if isinstance(left, float) or isinstance(right, float):
        return isclose(left, right, rel_tol=1e-12)
    return left == right


class Evaluated:
    """Formulas at the numbers behind their symbols."""

    def __init__(self, read):
        self.values = api.symbol_values(read.model, read.step)
        self.memo = {}

    def __call__(self, formula):
        return evaluate(formula, self.values, self.memo)


@heavy
@given(targets, steps())
def test_at_every_node(target, knobs):
    read = api.reading(load(target), **knobs)
    value = Evaluated(read)
    for name in TABLES:
        numbers, formulas = getattr(read.numbers, name), getattr(read.formulas, name)
        for node, number, formula in numbers.join(formulas):
            assert same(value(formula), number), (name, node)
    for node, number, formula in read.numbers.shape.join(read.formulas.shape):
        assert tuple(map(value, formula)) == number, ("shape", node)
    for node, number, formula in read.numbers.stored.join(read.formulas.stored):
        assert tuple((tensor, tuple(map(value, shape))) for tensor, shape in formula) == number, ("stored", node)
    for node, number, formula in read.numbers.cache.join(read.formulas.cache):
        if number is None:
            assert formula is None
            continue
        assert (value(formula.width), value(formula.positions)) == (number.width, number.positions), node
        assert (None if formula.window is None else value(formula.window)) == number.window, node


@heavy
@given(targets, steps())
def test_in_every_column_and_figure(target, knobs):
    read = api.reading(load(target), **knobs)
    value = Evaluated(read)
    for key, column in COLUMNS.items():
        numbers, formulas = column.each(read.numbers), column.each(read.formulas)
        assert all(map(same, map(value, formulas), numbers)), key
    for key in FIGURES:
        figure = api.read_quantity(read, key)
        assert same(value(figure.formula), figure.value), key
    by_role = derive.params_by_role(read.numbers)
    assert sum(by_role.values()) == derive.params_total(read.numbers)
    for role, number in by_role.items():
        assert value(derive.params_of_role(read.formulas, role)) == number, role


@heavy
@given(targets, steps())
def test_totals_are_sums_of_rows(target, knobs):
    table = api.cost(load(target), **knobs)
    for key in ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes"):
        assert same(table["totals"][key], sum(row[key] for row in table["nodes"])), key
