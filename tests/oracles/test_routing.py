from fractions import Fraction

import pytest

from oracles import routing


@pytest.mark.parametrize(
    ("E", "k", "tokens"), [(1, 1, 2), (2, 1, 3), (3, 2, 3), (4, 1, 4), (4, 3, 3), (5, 2, 3), (5, 5, 2)]
)
def test_closed_form_counts_one_by_one(E, k, tokens):
    assert routing.distinct(E, k, tokens) == routing.distinct_by_enumeration(E, k, tokens)


def test_published_union():
    """Qwen3-30B-A3B at batch 32: case moe-expert-union."""
    assert round(float(routing.distinct(128, 8, 32)), 3) == 111.771


def test_one_token_touches_what_it_chose():
    assert routing.distinct(256, 8, 1) == 8
    assert routing.distinct(7, 3, 1) == Fraction(3)
