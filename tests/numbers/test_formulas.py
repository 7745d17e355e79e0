"""The formulas shown beside the figures, proved equal to the textbook's closed forms by sympy."""

import pytest
import sympy

import rooflight
from oracles import flops, params, symbolic
from oracles.material import cases
from rooflight.expr import to_sympy

s = symbolic
LLAMA, QWEN2, QWEN3 = "meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-0.6B"
GPT2 = "openai-community/gpt2"
MISTRAL = next(row["config"] for row in cases("regression.yaml")["dense"] if row["id"] == "mistral-7b")
T_max, width = sympy.symbols("T_max width", positive=True, integer=True)
LETTERS = {
    "n_layers": s.L,
    "d_model": s.D,
    "n_heads": s.H,
    "n_kv_heads": s.Hkv,
    "d_head": s.dh,
    "d_ffn": s.F,
    "n_vocab": s.V,
    "n_positions": T_max,
    "d_window": s.W,
    "b_kv": width,
    "B": s.B,
    "T": s.C,
    "P": s.P,
}


def shown(target, key, **deployment):
    """A figure's formula in the closed forms' letters."""
    expression = to_sympy(rooflight.quantity(target, key, **deployment).formula)
    assert {symbol.name for symbol in expression.free_symbols} <= set(LETTERS)
    return expression.subs({symbol: LETTERS[symbol.name] for symbol in expression.free_symbols}, simultaneous=True)


def assert_equal(found, expected):
    assert sympy.expand(found - expected) == 0


TOTALS = [
    pytest.param(LLAMA, s.llama_total, id="llama"),
    pytest.param(QWEN2, s.qwen2_total, id="qwen2"),
    pytest.param(QWEN3, params.llama(**s.LLAMA, tied=True, qk_norm=True), id="qwen3-tied"),
    pytest.param("Qwen/Qwen3-32B", s.qwen3_total, id="qwen3"),
    pytest.param(GPT2, params.gpt2(s.L, s.D, s.V, T_max, s.F), id="gpt2"),
    pytest.param(MISTRAL, s.llama_total, id="mistral"),
]


@pytest.mark.parametrize(("target", "expected"), TOTALS)
def test_parameters(target, expected):
    assert_equal(shown(target, "params.total"), expected)


@pytest.mark.parametrize("target", [LLAMA, QWEN2, QWEN3])
def test_cache_of_grouped_queries(target):
    per_token = s.gqa_bytes_per_token * width / 2
    assert_equal(shown(target, "cache.bytes_per_token"), per_token)
    assert_equal(shown(target, "cache.bytes"), per_token * s.C)


def test_cache_of_multi_head():
    assert_equal(shown(GPT2, "cache.bytes_per_token"), 2 * s.L * s.H * s.dh * width)


def test_cache_of_a_window():
    assert_equal(shown(MISTRAL, "cache.bytes"), s.windowed_request_bytes * width / 2)


NEW = s.C - s.P  # the closed forms count new tokens, the engine the whole context
PREFILLS = [
    pytest.param({}, s.llama_prefill(s.B).subs({s.P: 0, s.T: s.C}), id="whole"),
    pytest.param({"prefix": 1000}, s.llama_prefill(s.B).subs(s.T, NEW), id="prefix"),
    pytest.param({"head": "all"}, s.llama_prefill(s.B * s.T).subs({s.P: 0, s.T: s.C}), id="all-logits"),
    pytest.param({"attention": "square"}, s.llama_prefill(s.B, s.T**2).subs({s.P: 0, s.T: s.C}), id="square"),
]


@pytest.mark.parametrize(("deployment", "expected"), PREFILLS)
@pytest.mark.parametrize("target", [LLAMA, QWEN2, QWEN3])
def test_prefill(target, deployment, expected):
    assert_equal(shown(target, "prefill.matmul_flops", **deployment), expected)


@pytest.mark.parametrize("target", [LLAMA, QWEN2, QWEN3])
def test_decode(target):
    assert_equal(shown(target, "decode.matmul_flops"), s.llama_decode())


def test_gpt2_prefill():
    expected = (
        flops.attn_proj(s.B * s.C, s.L, s.D, s.H, s.H, s.dh)
        + flops.attn_core(s.B, s.C * (s.C + 1) / 2, s.L, s.H, s.dh)
        + 2 * s.B * s.C * s.L * 2 * s.D * s.F
        + flops.lm_head(s.B, s.D, s.V)
    )
    heads_fill_the_width = {s.D: s.H * s.dh}
    assert_equal(shown(GPT2, "prefill.matmul_flops").subs(heads_fill_the_width), expected.subs(heads_fill_the_width))


BESIDE_THE_WINDOW = [
    pytest.param(s.C, s.causal_pairs.subs({s.P: 0, s.T: s.C}), id="within-the-window"),
    pytest.param(s.W, s.windowed_pairs.subs(s.T, s.C), id="beyond-the-window"),
]


@pytest.mark.parametrize(("smaller", "scored"), BESIDE_THE_WINDOW)
def test_windowed_prefill(smaller, scored):
    found = shown(MISTRAL, "prefill.matmul_flops").subs(sympy.Min(s.C, s.W), smaller)
    assert_equal(found, s.llama_prefill(s.B, scored).subs(s.T, s.C))


def test_windowed_decode():
    found = shown(MISTRAL, "decode.matmul_flops")
    assert_equal(found, s.llama_decode() + flops.attn_core(s.B, sympy.Min(s.C, s.W) - s.C, s.L, s.H, s.dh))


def test_a_wrong_closed_form_is_not_equal():
    """The proofs can fail: one norm too many is seen."""
    with pytest.raises(AssertionError):
        assert_equal(shown(LLAMA, "params.total"), s.llama_total + s.D)
