"""The walk itself: every symbol must be bound, and walking changes nothing."""

from fractions import Fraction

import pytest

from engine import mini
from rooflight import api
from rooflight.graph import expand
from rooflight.values import SpecError
from rooflight.walk import Counting, compile_graph, walk


@pytest.fixture(scope="module")
def tiny():
    return mini.model()


@pytest.fixture(scope="module")
def program(tiny):
    return compile_graph(expand(tiny, "decode"))


def test_a_symbol_left_unbound(tiny, program):
    binding = api.numbers(tiny, api.step_size(tiny, "decode"))
    del binding["d_window"]
    with pytest.raises(SpecError) as caught:
        walk(program, binding)
    assert (
        str(caught.value)
        == """\
unbound-symbol at binding
  expected  a value for d_window
  got       none
  fix       bind d_window"""
    )


def test_walking_twice_gives_the_same_and_leaves_the_program_alone(tiny, program):
    binding = api.numbers(tiny, api.step_size(tiny, "decode"))
    start, kept = program.start, dict(binding)
    first = walk(program, binding)
    walk(program, {name: Fraction(7, 3) for name in program.symbols})
    assert walk(program, binding) == first
    assert (program.start, binding) == (start, kept)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("counting", [Counting(), Counting("square", "all")], ids=["exact", "square"])
def test_compiling_is_deterministic(phase, counting):
    first, second = (compile_graph(expand(mini.model(), phase), counting) for _ in range(2))
    assert first.start == second.start
    assert [(slot, args) for slot, _, args in first.run] == [(slot, args) for slot, _, args in second.run]
    assert dict(first.symbols) == dict(second.symbols)
    for mine, theirs in zip(first.steps, second.steps, strict=True):
        assert mine.node.id == theirs.node.id
        assert mine._replace(node=None) == theirs._replace(node=None)


def test_every_length_has_one_slot(program):
    entries = [(function, args) for _, function, args in program.run]
    assert len(entries) == len(set(entries))
