import sympy

from oracles import configs, flops, pairs, symbolic
from oracles.material import snapshot

LLAMA = snapshot("meta-llama/Meta-Llama-3.1-8B", "config")
LETTERS = {getattr(symbolic, letter): value for letter, value in configs.dims(LLAMA).items()} | {symbolic.F: 14336}


def test_llama_total():
    assert symbolic.llama_total.subs(LETTERS) == 8030261248


def test_prefill_and_decode():
    deployment = {symbolic.B: 3, symbolic.T: 100, symbolic.P: 28, symbolic.C: 128}
    prefill = symbolic.llama_prefill(rows=symbolic.B).subs(LETTERS | deployment)
    assert prefill == sum(configs.components(LLAMA, batch=3, new=100, prefix=28).values())
    decode = symbolic.llama_decode().subs(LETTERS | deployment)
    assert decode == sum(configs.components(LLAMA, batch=3, new=1, prefix=127).values())


def test_decode_is_a_prefill_of_one():
    one = symbolic.llama_prefill(rows=symbolic.B).subs({symbolic.T: 1, symbolic.P: symbolic.C - 1})
    assert sympy.expand(one - symbolic.llama_decode()) == 0


def test_rule_of_thumb():
    """Two FLOPs per parameter that takes part in a matmul, plus 4 T H dh per layer: the form everyone quotes."""
    s = symbolic
    norms = 2 * s.L * s.D + s.D
    per_token = 2 * (s.llama_total - s.V * s.D - norms) + 4 * s.L * s.C * s.H * s.dh
    assert sympy.expand(s.llama_decode().subs(s.B, 1) - per_token) == 0


def test_windowed_pairs():
    found = symbolic.windowed_pairs.subs({symbolic.W: 128, symbolic.T: 8192})
    assert found == pairs.causal_window(8192, window=128)


def test_head_is_counted_once_per_row():
    assert flops.lm_head(symbolic.B, symbolic.D, symbolic.V) == 2 * symbolic.B * symbolic.D * symbolic.V
