"""A component that says something wrong is refused at the line that says it."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "component_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS)), __file__, TABLE)
