"""Shapes that do not meet are refused, with both lengths and where the wrong one came from."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "shape_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS), case.config_of(mini.CONFIG)), __file__, TABLE)
