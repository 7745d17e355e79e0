"""How many pairs a mask lets through: closed forms against counting one by one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.pairs import brute_force
from rooflight.expr import Space, evaluate
from rooflight.ops import causal_pairs, sliding_pairs, square_pairs

quick = settings(deadline=None, max_examples=300)
lengths = st.tuples(st.integers(0, 40), st.integers(1, 40), st.integers(1, 45))  # prefix, new, window


@quick
@given(lengths)
def test_against_counting(sizes):
    prefix, new, window = sizes
    held = prefix + new
    assert causal_pairs(new, held) == brute_force(new, prefix)
    assert sliding_pairs(new, held, window) == brute_force(new, prefix, window)
    assert square_pairs(new, held) == new * held


@pytest.mark.parametrize("held", [1, 2, 7, 8, 9, 40])
@pytest.mark.parametrize("window", [1, 8, 100])
def test_one_new_token(held, window):
    # A decode step's formula is written shorter; the int 1 and a value of 1 must agree.
    assert sliding_pairs(1, held, window) == sliding_pairs(Fraction(1), held, window) == min(held, window)
    assert causal_pairs(1, held) == held


@quick
@given(lengths)
def test_of_any_kind(sizes):
    prefix, new, window = sizes
    held = prefix + new
    space = Space()
    T, P, W = space.symbol("T"), space.symbol("P", minimum=0), space.symbol("W")
    at = {"T": held, "P": prefix, "W": window}
    assert evaluate(sliding_pairs(T - P, T, W), at) == brute_force(new, prefix, window)
    assert evaluate(causal_pairs(T - P, T), at) == brute_force(new, prefix)
    arrays = np.array([new, 1.0]), np.array([held, held * 1.0]), np.array([window, window * 1.0])
    assert sliding_pairs(*arrays).tolist() == [brute_force(new, prefix, window), min(held, window)]
    assert causal_pairs(*arrays[:2]).tolist() == [brute_force(new, prefix), held]


@quick
@given(lengths, st.integers(0, 40))
def test_a_prompt_in_two_parts_is_the_prompt(sizes, more):
    prefix, new, window = sizes
    held, longer = prefix + new, prefix + new + more
    for pairs, rest in ((causal_pairs, ()), (sliding_pairs, (window,))):
        assert pairs(new, held, *rest) + pairs(more, longer, *rest) == pairs(new + more, longer, *rest)


@quick
@given(lengths)
def test_masks_only_take_away(sizes):
    prefix, new, window = sizes
    held = prefix + new
    assert new <= sliding_pairs(new, held, window) <= causal_pairs(new, held) <= square_pairs(new, held)
    assert sliding_pairs(new, held, held) == causal_pairs(new, held)
