"""Specs whose cases, lists or parts make no sense: whole messages, at the file and line."""

from engine import mini
from engine.cases import each_case, expect

TABLE = "spec_refusals.txt"


@each_case(__file__, TABLE)
def test_refused(case):
    expect(case, mini.refusal(case.texts(mini.TEXTS)), __file__, TABLE)
