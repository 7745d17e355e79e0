"""A fault in a model spec is refused at the line that holds it, whatever config comes."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "model_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS)), __file__, TABLE)
