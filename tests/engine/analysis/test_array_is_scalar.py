"""A walk on arrays says at each point what the walk on that point's numbers says."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.model_strategies import load, steps, targets
from rooflight import api
from rooflight.analysis import evaluate
from rooflight.api.catalog import COLUMNS, FIGURES
from rooflight.expr import evaluate as at_numbers

heavy = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))

# What a sweep varies, and one width of the model: nothing below asks what kind of value it holds.
swept = st.lists(
    st.fixed_dictionaries({
        "B": st.integers(1, 500),
        "s_kv": st.integers(64, 200_000),
        "s_q": st.integers(1, 64),
        "d_model": st.integers(1, 9_000),
        "n_layers": st.integers(1, 90),
    }),
    min_size=2,
    max_size=6,
)  # fmt: skip


def close(array, numbers):
    """Float64 holds whole numbers to 2^53; beyond, a few roundings."""
    return np.allclose(np.broadcast_to(array, len(numbers)), np.array(list(map(float, numbers))), rtol=1e-12, atol=0)


@heavy
@given(targets, steps(), swept)
def test_every_column_and_figure(target, knobs, points):
    read = api.reading(load(target), **knobs)
    base = api.numbers(read.model, read.step)
    bindings = [{**base, **{name: point[name] for name in point if name in base}} for point in points]
    swept_names = [name for name in points[0] if name in base]
    arrays = {name: np.array([point[name] for point in points], dtype=np.float64) for name in swept_names}
    whole = evaluate(read.program, {**base, **arrays})
    single = [evaluate(read.program, binding) for binding in bindings]
    for key, column in COLUMNS.items():
        rows = [column.each(analysis) for analysis in single]
        for at, value in enumerate(column.each(whole)):
            assert close(value, [row[at] for row in rows]), (key, at)
    for key, figure in FIGURES.items():
        assert close(figure.of(whole), [figure.of(analysis) for analysis in single]), key


@heavy
@given(targets, steps())
def test_a_formula_takes_arrays_too(target, knobs):
    read = api.reading(load(target), **knobs)
    values = dict(api.symbol_values(read.model, read.step))
    batches = np.array([1.0, 2.0, 7.0, 300.0])
    formula = api.read_quantity(read, "flops").formula
    expected = [at_numbers(formula, {**values, "B": int(batch)}) for batch in batches]
    assert close(at_numbers(formula, {**values, "B": batches}), expected)
