"""YAML that readers disagree about is refused, with what to write instead."""

import pytest

from engine.cases import each_case, expect
from rooflight.edge.yaml_text import read_yaml
from rooflight.values import SpecError

TABLE = "yaml_traps.txt"


def refused(text):
    with pytest.raises(SpecError) as caught:
        read_yaml(text, "doc.yaml")
    return str(caught.value)


@each_case(__file__, TABLE)
def test_trap(case):
    expect(case, refused(case.texts({})["doc.yaml"]), __file__, TABLE)
