"""The closed forms as sympy expressions over the papers' letters, for proofs that a printed formula means the same."""

import sympy

from oracles import cache, flops, params

L, D, H, Hkv, dh, F, V = sympy.symbols("L D H Hkv dh F V", positive=True, integer=True)
B, T, P, C, W = sympy.symbols("B T P C W", positive=True, integer=True)  # batch, new tokens, prefix, context, window
d_q, d_c, d_nope, d_rope, d_v = sympy.symbols("d_q d_c d_nope d_rope d_v", positive=True, integer=True)

LLAMA = dict(L=L, D=D, H=H, Hkv=Hkv, dh=dh, F=F, V=V)

llama_total = params.llama(**LLAMA)
llama_tied_total = params.llama(**LLAMA, tied=True)
qwen2_total = params.llama(**LLAMA, qkv_bias=True)
qwen3_total = params.llama(**LLAMA, qk_norm=True)
gpt2_total = params.gpt2(L, D, V, sympy.Symbol("T_max", positive=True, integer=True))
mla_attention = params.mla_attention(D, H, d_q, d_c, d_nope, d_rope, d_v)

gqa_bytes_per_token = cache.mha_bytes_per_token(L, Hkv, dh, 2)
windowed_request_bytes = 2 * L * Hkv * dh * 2 * sympy.Min(C, W)
mla_bytes_per_token = cache.mla_bytes_per_token(L, d_c, d_rope, 2)

causal_pairs = T * P + T * (T + 1) / 2
windowed_pairs = W * T - W * (W - 1) / 2  # no prefix, T at least W


def llama_prefill(rows, pairs=causal_pairs):
    """Matmul FLOPs of a prefill of T tokens after P cached ones that asks for logits at `rows` positions."""
    return (
        flops.attn_proj(B * T, L, D, H, Hkv, dh)
        + flops.attn_core(B, pairs, L, H, dh)
        + flops.dense_mlp(B * T, L, D, F)
        + flops.lm_head(rows, D, V)
    )


def llama_decode():
    """Matmul FLOPs of one decode step at context C, the new token included."""
    return (
        flops.attn_proj(B, L, D, H, Hkv, dh)
        + flops.attn_core(B, C, L, H, dh)
        + flops.dense_mlp(B, L, D, F)
        + flops.lm_head(B, D, V)
    )
