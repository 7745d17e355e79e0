"""Latent attention in decode, with the up-projection absorbed, beside the naive graph it replaces."""

import pytest
import sympy

import rooflight
from oracles import cache, flops, params, symbolic
from oracles.material import snapshot
from readings import QWEN3_MOE, V2_LITE, V3, in_bf16
from rooflight.expr import to_sympy

LATENT = [pytest.param(in_bf16(model), id=model.split("/")[1]) for model in (V3, V2_LITE)]
FULL_QUERY = in_bf16(V3) | {"q_lora_rank": None}
ALL = [*LATENT, pytest.param(FULL_QUERY, id="v3-full-query")]


def attention(target, **knobs):
    """Nodes of latent attention in one kind of layer, by their last name."""
    nodes = rooflight.cost(target, phase="decode", **knobs)["nodes"]
    inside = [node for node in nodes if ".moe.attention." in node["id"]]
    return {node["id"].rpartition(".")[2]: node for node in inside}


def letters(config):
    keys = ("num_attention_heads", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return tuple(config[key] for key in keys)


@pytest.mark.parametrize("config", ALL)
@pytest.mark.parametrize("key", ["params.total", "params.active", "params.mtp", "cache.bytes_per_token", "cache.bytes"])
def test_same_in_both_phases(config, key):
    prefill, decode, naive = (
        rooflight.quantity(config, key, **knobs).value
        for knobs in ({"phase": "prefill"}, {"phase": "decode"}, {"phase": "decode", "decode": "same"})
    )
    assert prefill == decode == naive


@pytest.mark.parametrize("config", ALL)
def test_same_parameters_per_layer(config):
    """Node by node they differ, in sum they do not: the two halves are the one projection."""
    D, (H, d_c, d_nope, d_rope, d_v) = config["hidden_size"], letters(config)
    for phase in ("prefill", "decode"):
        found = rooflight.quantity(config, "params.component/layers.moe.attention", phase=phase).value
        assert found == params.mla_attention(D, H, config["q_lora_rank"], d_c, d_nope, d_rope, d_v)


@pytest.mark.parametrize("config", ALL)
def test_halves_of_one_projection(config):
    H, d_c, d_nope, _, d_v = letters(config)
    absorbed, naive = attention(config), attention(config, decode="same")
    layers = naive["kv_b_proj"]["copies"]
    assert naive["kv_b_proj"]["params"] == layers * d_c * H * (d_nope + d_v)
    assert absorbed["q_latent"]["params"] == layers * d_c * H * d_nope
    assert absorbed["rebuilt"]["params"] == layers * d_c * H * d_v
    halves = absorbed["q_latent"]["weight_bytes"] + absorbed["rebuilt"]["weight_bytes"]
    assert halves == naive["kv_b_proj"]["weight_bytes"] == 2 * naive["kv_b_proj"]["params"]
    assert "kv_b_proj" not in absorbed
    assert not {"q_latent", "rebuilt"} & naive.keys()


@pytest.mark.parametrize("config", ALL)
def test_nothing_else_changes(config):
    """The other nodes that store or multiply do so as before."""
    absorbed, naive = attention(config), attention(config, decode="same")
    core = {"scores", "attended", "probabilities"}
    for name in (absorbed.keys() & naive.keys()) - core:
        for column in ("params", "matmul_flops", "weight_bytes"):
            assert absorbed[name][column] == naive[name][column], (name, column)


@pytest.mark.parametrize(("batch", "context"), [(1, 1), (1, 4096), (7, 30000)])
@pytest.mark.parametrize("config", ALL)
def test_flops_at_latent_width(config, batch, context):
    H, d_c, d_nope, d_rope, d_v = letters(config)
    found = attention(config, batch=batch, context=context)
    layers = found["scores"]["copies"]
    assert found["scores"]["matmul_flops"] == 2 * batch * context * layers * H * (d_c + d_rope)
    assert found["attended"]["matmul_flops"] == 2 * batch * context * layers * H * d_c
    core = found["scores"]["matmul_flops"] + found["attended"]["matmul_flops"]
    assert core == flops.mla_core_absorbed(batch, context, layers, H, d_c, d_rope)
    absorb = found["q_latent"]["matmul_flops"] + found["rebuilt"]["matmul_flops"]
    assert absorb == batch * layers * 2 * d_c * (d_nope + d_v) * H
    assert absorb == flops.mla_absorb(batch, layers, H, d_c, d_nope, d_v)


@pytest.mark.parametrize("context", [1, 64, 100_000])
def test_absorbing_pays_from_some_context_on(context):
    """Per step the naive graph expands every cached latent again; at one token both do the same expansion."""
    variant, same = (
        rooflight.cost(V3, phase="decode", context=context, decode=decode)["totals"]["matmul_flops"]
        for decode in ("variant", "same")
    )
    config = snapshot(V3, "config")
    L, (H, d_c, d_nope, d_rope, d_v) = config["num_hidden_layers"], letters(config)
    more = 2 * L * H * context * (2 * d_c + d_rope - (d_nope + d_rope + d_v))
    less = 2 * L * H * d_c * (d_nope + d_v) * (context - 1)
    assert variant - same == more - less
    assert (variant < same) == (context > 1)


@pytest.mark.parametrize("decode", ["variant", "same"])
@pytest.mark.parametrize("config", ALL)
def test_cache_is_read_once_per_layer(config, decode):
    """Latent and rope key, by the first node that needs them, though keys and values both come from the latent."""
    L, batch, context = config["num_hidden_layers"], 3, 1000
    nodes = rooflight.cost(config, phase="decode", batch=batch, context=context, decode=decode)["nodes"]
    per_token = cache.mla_bytes_per_token(L, config["kv_lora_rank"], config["qk_rope_head_dim"], 2)
    writers = {"kv_a_layernorm", "k_rope"}
    moved = {"written": 0, "read": 0}
    for node in nodes:
        last = node["id"].rpartition(".")[2]
        moved["written" if last in writers else "read"] += node["kv_bytes"]
    assert moved == {"written": batch * per_token, "read": batch * context * per_token}


def test_one_key_head_for_all_queries():
    found = attention(V3, batch=2, context=50)
    assert found["k"]["shape"] == [2, 50, 1, 576]
    assert found["v"]["shape"] == [2, 50, 1, 512]
    assert found["q"]["shape"] == [2, 1, 128, 576]
    assert found["attended"]["shape"] == [2, 1, 128, 512]
    assert found["rebuilt"]["shape"] == [2, 1, 128, 128]


def test_prefill_and_models_without_latents_have_no_variant():
    for model, phase in ((V3, "prefill"), (QWEN3_MOE, "decode")):
        same, variant = (rooflight.cost(model, phase=phase, decode=decode) for decode in ("same", "variant"))
        assert same["nodes"] == variant["nodes"]
        assert same["totals"] == variant["totals"]


s = symbolic
E, k, Fe, shared, n_dense, width = sympy.symbols("E k Fe shared n_dense width", positive=True, integer=True)
LETTERS = {
    "n_layers": s.L,
    "n_dense": n_dense,
    "d_model": s.D,
    "n_heads": s.H,
    "d_q_lora": s.d_q,
    "d_kv_lora": s.d_c,
    "d_qk_nope": s.d_nope,
    "d_qk_rope": s.d_rope,
    "d_v_head": s.d_v,
    "d_ffn": s.F,
    "d_expert": Fe,
    "n_experts": E,
    "n_active": k,
    "n_shared": shared,
    "n_drafts": sympy.Symbol("n_drafts", positive=True, integer=True),
    "n_vocab": s.V,
    "B": s.B,
    "T": s.C,
    "b_kv": width,
}
MLA = dict(d_q=s.d_q, d_c=s.d_c, d_nope=s.d_nope, d_rope=s.d_rope, d_v=s.d_v)
DEEPSEEK = dict(L=s.L, D=s.D, H=s.H, F=s.F, E=E, Fe=Fe, V=s.V, dense=n_dense, shared=shared)


def shown(target, key, **deployment):
    """A figure's formula in the closed forms' letters."""
    expression = to_sympy(rooflight.quantity(target, key, **deployment).formula)
    assert {symbol.name for symbol in expression.free_symbols} <= set(LETTERS)
    return expression.subs({symbol: LETTERS[symbol.name] for symbol in expression.free_symbols}, simultaneous=True)


def assert_equal(found, expected):
    assert sympy.expand(found - expected) == 0


V3_TOTAL = params.deepseek(**DEEPSEEK, **MLA, router_bias=True)
V2_TOTAL = params.deepseek(**DEEPSEEK, **(MLA | {"d_q": None}))


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_total_is_the_closed_form(phase):
    assert_equal(shown(V3, "params.total", phase=phase), V3_TOTAL)
    assert_equal(shown(V2_LITE, "params.total", phase=phase), V2_TOTAL)


def test_active_is_the_closed_form():
    unselected = params.unselected_experts(s.L - n_dense, s.D, E, k, Fe)
    assert_equal(shown(V3, "params.active"), V3_TOTAL - unselected)


def test_drafts_are_the_closed_form():
    one = params.deepseek_mtp(s.D, s.H, **MLA, E=E, Fe=Fe, V=s.V, shared=shared)
    assert_equal(shown(V3, "params.mtp"), LETTERS["n_drafts"] * one)


def test_cache_is_the_closed_form():
    per_token = s.mla_bytes_per_token * width / 2
    assert_equal(shown(V3, "cache.bytes_per_token"), per_token)
    assert_equal(shown(V3, "cache.bytes"), per_token * s.C)
    assert_equal(shown(V3, "decode.kv_bytes"), s.B * per_token * (s.C + 1))
    decompressed = cache.mla_decompressed_bytes_per_token(s.L, s.H, s.d_nope, s.d_rope, s.d_v, width)
    assert_equal(shown(V3, "cache.bytes_per_token_decompressed"), decompressed)


def deepseek_flops(tokens, rows):
    moe = s.L - n_dense
    return (
        flops.lm_head(rows, s.D, s.V)
        + flops.mla_proj(tokens, s.L, s.D, s.H, **MLA)
        + flops.dense_mlp(tokens, n_dense, s.D, s.F)
        + flops.router(tokens, moe, s.D, E)
        + flops.routed_experts(tokens, moe, s.D, k, Fe)
        + flops.dense_mlp(tokens, moe, s.D, shared * Fe)
    )


def test_decode_is_the_closed_form():
    expected = (
        deepseek_flops(s.B, s.B)
        + flops.mla_core_absorbed(s.B, s.C, s.L, s.H, s.d_c, s.d_rope)
        + flops.mla_absorb(s.B, s.L, s.H, s.d_c, s.d_nope, s.d_v)
    )
    assert_equal(shown(V3, "decode.matmul_flops"), expected)


def test_naive_decode_is_the_closed_form():
    expected = (
        deepseek_flops(s.B, s.B)
        + flops.mla_core(s.B, s.C, s.L, s.H, s.d_nope, s.d_rope, s.d_v)
        + flops.mla_kv_b_proj(s.B * s.C, s.L, s.H, s.d_c, s.d_nope, s.d_v)
    )
    assert_equal(shown(V3, "decode.matmul_flops", decode="same"), expected)


def test_prefill_is_the_closed_form():
    tokens = s.B * s.C
    expected = (
        deepseek_flops(tokens, s.B)
        + flops.mla_core(s.B, s.C * (s.C + 1) / 2, s.L, s.H, s.d_nope, s.d_rope, s.d_v)
        + flops.mla_kv_b_proj(tokens, s.L, s.H, s.d_c, s.d_nope, s.d_v)
    )
    assert_equal(shown(V3, "prefill.matmul_flops"), expected)


SUMS = [
    pytest.param("params.total", "params", id="params.total"),
    pytest.param("params.active", "active", id="params.active"),
    pytest.param("cache.bytes", "cache", id="cache.bytes"),
    pytest.param("cache.bytes_per_token", "cache_per_token", id="cache.bytes_per_token"),
    pytest.param("decode.matmul_flops", "matmul_flops", id="decode.matmul_flops"),
    pytest.param("prefill.matmul_flops", "matmul_flops", id="prefill.matmul_flops"),
    pytest.param("decode.weight_bytes", "weight_bytes", id="decode.weight_bytes"),
    pytest.param("decode.kv_bytes", "kv_bytes", id="decode.kv_bytes"),
]


@pytest.mark.parametrize(("key", "label"), SUMS)
@pytest.mark.parametrize("model", [V3, V2_LITE])
def test_hybrid_totals_stay_sums(model, key, label):
    """Dense layers times what one holds plus expert layers times what one holds: never multiplied out."""
    text = rooflight.formula(model, key)
    assert f"n_dense·{label}_layers_dense + (n_layers - n_dense)·{label}_layers_moe" in text


def test_whole_text_of_a_total():
    text = "2·n_vocab·d_model + n_dense·params_layers_dense + (n_layers - n_dense)·params_layers_moe + d_model"
    assert rooflight.formula(V3, "params.total") == text


def test_a_wrong_closed_form_is_not_equal():
    with pytest.raises(AssertionError):
        assert_equal(shown(V3, "params.total"), V3_TOTAL + n_dense * E)
