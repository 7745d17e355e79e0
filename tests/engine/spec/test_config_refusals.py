"""A config that a spec cannot be bound to is refused, naming the key and what it holds."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "config_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(config=case.config_of(mini.CONFIG)), __file__, TABLE)
