"""Matmul FLOPs of one forward pass per component, two per multiply-add (PaLM, appendix B).

Components carry the names of tests/cases/torch_flops.json. `tokens` are those computed (batch x new ones), `pairs` the
query-key pairs of one sequence and layer (see pairs.py), `rows` the positions that get logits. Embedding is a gather:
no FLOPs.
"""


def attn_proj(tokens, L, D, H, Hkv, dh):
    """Q, K, V and output projections of grouped-query attention."""
    return 2 * tokens * L * (2 * D * H * dh + 2 * D * Hkv * dh)


def attn_core(batch, pairs, L, H, dh):
    """Scores and their product with the values, at the query-head count: sharing KV heads saves bytes, not FLOPs."""
    return 2 * batch * pairs * L * H * (dh + dh)


def dense_mlp(tokens, L, D, F):
    """Three projections."""
    return 2 * tokens * L * 3 * D * F


def lm_head(rows, D, V):
    """Logits, whether the head is tied or not."""
    return 2 * rows * D * V


def router(tokens, L, D, E):
    return 2 * tokens * L * D * E


def routed_experts(tokens, L, D, k, Fe):
    """Each token through k experts."""
    return 2 * tokens * L * k * 3 * D * Fe


def mla_proj(tokens, L, D, H, d_q, d_c, d_nope, d_rope, d_v):
    """Down- and up-projection of Q (one full projection where d_q is None), down-projection of K and V, output."""
    q = D * H * (d_nope + d_rope) if d_q is None else D * d_q + d_q * H * (d_nope + d_rope)
    return 2 * tokens * L * (q + D * (d_c + d_rope) + H * d_v * D)


def mla_kv_b_proj(expanded, L, H, d_c, d_nope, d_v):
    """Latents expanded to keys and values: the new tokens, or in naive decode every cached one."""
    return 2 * expanded * L * d_c * H * (d_nope + d_v)


def mla_core(batch, pairs, L, H, d_nope, d_rope, d_v):
    """Scores at the key width, the value product at the value width (DeepSeek-V2 report)."""
    return 2 * batch * pairs * L * H * (d_nope + d_rope + d_v)


def mla_core_absorbed(batch, pairs, L, H, d_c, d_rope):
    """With the up-projections absorbed both products run at latent width: scores against latent and rope key, values
    against the latent (DeepSeek-V2 report)."""
    return 2 * batch * pairs * L * H * (d_c + d_rope + d_c)


def mla_absorb(tokens, L, H, d_c, d_nope, d_v):
    """Queries into latent space and outputs back out of it."""
    return 2 * tokens * L * H * d_c * (d_nope + d_v)


def mamba2_scan(batch, length, L, heads, head_width, groups, state, chunk):
    """Matrix work of a scan in chunks: causal pairs within each, into and out of the state for every position."""
    chunks = [min(chunk, length - start) for start in range(0, length, chunk)]
    pairs = sum(q * (q + 1) // 2 for q in chunks)
    of_pairs = 2 * groups * state + 2 * heads * head_width
    return batch * L * (pairs * of_pairs + length * 4 * heads * head_width * state)
