"""Parts that do not fit together are refused, however well each is written."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "graph_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS), case.config_of(mini.CONFIG)), __file__, TABLE)
