"""Graphs have a size and a depth at which they are refused, and none before."""

import pytest

from engine import mini
from rooflight.graph import expand
from rooflight.values import SpecError

CHAIN = """\
doc: Norms in a row.
role: norm
graph:
  n0: {{ {what}, in: x }}
{rest}
outputs: [n{last}]
"""


def chain(what, length):
    rest = "\n".join(f"  n{i}: {{ {what}, in: n{i - 1} }}" for i in range(1, length))
    return CHAIN.format(what=what, rest=rest, last=length - 1)


def test_too_many_nodes():
    ops = chain("op: rms_norm, dims: { width: d_model }", 150)
    texts = {**mini.TEXTS, "components/inner.yaml": ops, "components/norm.yaml": chain("use: inner", 150)}
    with pytest.raises(SpecError) as caught:
        expand(mini.model(texts), "prefill")
    assert (
        str(caught.value)
        == """\
graph-too-large at specs/components/inner.yaml:53 inner.graph.n49
  expected  at most 20000 nodes
  got       more
  fix       use a repeated stack"""
    )


def test_nested_sixteen_deep():
    texts = dict(mini.TEXTS)
    for level in range(15):
        texts[f"components/level{level}.yaml"] = chain(f"use: level{level + 1}", 1)
    texts["components/level15.yaml"] = texts["components/norm.yaml"]
    texts["components/norm.yaml"] = chain("use: level0", 1)
    with pytest.raises(SpecError, match="nested-too-deep"):
        expand(mini.model(texts), "prefill")
    texts["components/norm.yaml"] = chain("use: level2", 1)
    assert expand(mini.model(texts), "prefill").nodes


def test_a_phase_that_is_none():
    with pytest.raises(SpecError) as caught:
        expand(mini.model(), "prefil")
    assert (
        str(caught.value)
        == """\
unknown-phase at phase
  expected  prefill or decode
  got       prefil
  fix       you may have intended prefill"""
    )
