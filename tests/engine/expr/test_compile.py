import re
from fractions import Fraction

import numpy as np
import pytest

from rooflight.expr import Space, ceil_div, compile_python, evaluate, max_, named

space = Space()
B, T, tp = space.symbol("B"), space.symbol("T"), space.symbol("tp")
IN = space.symbol("in")  # a legal dim, a reserved word of Python
ROOTS = {"share": ceil_div(B * T, tp), "both": named("area", B * T) * 2 + IN, "half": T / 2 - 1, "layers": 61}


def test_source_and_arguments():
    compiled = compile_python(ROOTS)
    assert compiled.arguments == ("B", "T", "tp", "in")
    assert compiled.source == (
        "def formula(v0, v1, v2, v3):\n"
        "    t2 = v0*v1\n"
        "    t4 = _ceil_div(t2, v2)\n"
        "    t7 = t2*2 + v3\n"
        "    del t2\n"
        "    t8 = _div(v1 + (-2), 2)\n"
        "    return (t4, t7, t8, 61, )\n"
    )


def test_calls_with_every_kind():
    compiled = compile_python(ROOTS)
    values = {"B": 3, "T": 5, "tp": 2, "in": 7}
    assert compiled(**values) == {"share": 8, "both": 37, "half": Fraction(3, 2), "layers": 61}
    many = compiled(**{**values, "T": np.array([5.0, 6.0]), "B": Fraction(3)})
    assert many["share"].tolist() == [8, 9]
    assert many["half"].dtype == np.float64
    formula = compiled(**{**values, "T": T})
    assert formula["share"] is evaluate(ROOTS["share"], {**values, "T": T})


def test_missing_and_unknown_arguments():
    compiled = compile_python({"it": B * T})
    message = "arguments are B, T; missing or unknown: T, x"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        compiled(B=1, x=2)


def test_only_our_own_words_are_in_the_source():
    odd = Space().symbol("__import__")
    source = compile_python({"__import__('os')": max_(odd * 3, 10**40)}).source
    assert "import" not in source
    assert "os" not in source


def test_large_integers_are_exact():
    assert compile_python({"it": T + 10**5000})(T=1) == {"it": 10**5000 + 1}


def test_no_roots():
    assert compile_python({})() == {}
