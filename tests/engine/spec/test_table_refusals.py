"""A fault in dims.yaml, roles.yaml or config_keys.yaml is refused at the line that holds it."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "table_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS)), __file__, TABLE)
