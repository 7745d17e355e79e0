"""Parameter counts of whole models, written out by hand from their published definitions.

Every function is a polynomial in its arguments, so ints give a number and sympy symbols give the formula. The letters
are the papers': L layers, D model width, H query heads, Hkv key/value heads, dh head width, F feed-forward width,
V vocabulary, E routed experts, k experts a token uses, Fe expert width.
"""


def gqa_attention(D, H, Hkv, dh, *, qkv_bias=False, o_bias=False, qk_norm=False):
    """One grouped-query attention: Q, K, V and output projections (Ainslie et al., "GQA"; Hkv = H: multi-head, Vaswani
    et al., "Attention is all you need"). QK-norm adds one weight per head element for Q and for K (Qwen3 report)."""
    weights = D * H * dh + 2 * D * Hkv * dh + H * dh * D
    biases = int(qkv_bias) * (H * dh + 2 * Hkv * dh) + int(o_bias) * D
    return weights + biases + int(qk_norm) * 2 * dh


def mla_attention(D, H, d_q, d_c, d_nope, d_rope, d_v):
    """One multi-head latent attention: low-rank Q (or a full one where d_q is None), joint low-rank K and V with a
    shared rope key, output projection, and the norms of the latents (DeepSeek-V2 report)."""
    q = D * H * (d_nope + d_rope) if d_q is None else D * d_q + d_q + d_q * H * (d_nope + d_rope)
    kv = D * (d_c + d_rope) + d_c + d_c * H * (d_nope + d_v)
    return q + kv + H * d_v * D


def gated_mlp(D, F):
    """Gate, up and down projections (Shazeer, "GLU variants improve Transformer")."""
    return 3 * D * F


def experts(D, E, Fe, *, router_bias=False, shared=0):
    """Router, E routed experts and `shared` always-on ones, each a gated MLP ("DeepSeekMoE"; the bias that steers load
    balance: DeepSeek-V3 report)."""
    return D * E + int(router_bias) * E + (E + shared) * gated_mlp(D, Fe)


def llama(L, D, H, Hkv, dh, F, V, *, tied=False, qkv_bias=False, o_bias=False, mlp_bias=False, qk_norm=False):
    """Pre-norm decoder with RMSNorm and gated MLP: Llama, Mistral, Qwen2 (qkv_bias) and Qwen3 (qk_norm).

    The block: Touvron et al., "LLaMA"; one norm before each half, one at the end."""
    attention = gqa_attention(D, H, Hkv, dh, qkv_bias=qkv_bias, o_bias=o_bias, qk_norm=qk_norm)
    block = attention + gated_mlp(D, F) + int(mlp_bias) * (2 * F + D) + 2 * D
    return V * D + L * block + D + int(not tied) * V * D


def qwen3_moe(L, D, H, Hkv, dh, E, Fe, V, *, tied=False, dense=0, F=0):
    """Qwen3 attention with experts in every layer but the `dense` ones, whose MLP is F wide (Qwen3 report)."""
    norms_and_attention = gqa_attention(D, H, Hkv, dh, qk_norm=True) + 2 * D
    feed_forward = (L - dense) * experts(D, E, Fe) + dense * gated_mlp(D, F)
    return V * D + L * norms_and_attention + feed_forward + D + int(not tied) * V * D


def olmo(L, D, H, Hkv, dh, F, V, *, tied=False, bias=False):
    """Norms behind each half instead of before it, as many, and one over all query heads, one over all key heads
    together (OLMo 2 report)."""
    norms = L * (H + Hkv) * dh
    return llama(L, D, H, Hkv, dh, F, V, tied=tied, qkv_bias=bias, o_bias=bias) + norms


def experts_behind_gqa(
    L, D, H, Hkv, dh, E, Fe, V, *, dense=0, F=0, shared_width=0, router_bias=False, tied=False, **attention
):
    """Grouped queries in all layers, a dense MLP in `dense` of them, experts and one shared MLP in the rest: GLM-4.5,
    Hunyuan-A13B, ERNIE 4.5 (their reports). `attention` says what gqa_attention adds."""
    block = gqa_attention(D, H, Hkv, dh, **attention) + 2 * D
    moe = experts(D, E, Fe, router_bias=router_bias) + gated_mlp(D, shared_width)
    return V * D + L * block + dense * gated_mlp(D, F) + (L - dense) * moe + D + int(not tied) * V * D


def draft(D, layer, *, norms, own_vocabulary=0):
    """One multi-token-prediction module: a decoder layer of `layer` parameters, the projection that joins two trunks,
    `norms` norms beside the layer's, and a table and head of its own where it has them."""
    return layer + 2 * D * D + norms * D + 2 * own_vocabulary * D


def mixtral(L, D, H, Hkv, dh, E, F, V, *, tied=False):
    """Llama block with E experts of full width and a bias-free router (Jiang et al., "Mixtral of experts")."""
    block = gqa_attention(D, H, Hkv, dh) + experts(D, E, F) + 2 * D
    return V * D + L * block + D + int(not tied) * V * D


def deepseek(L, D, H, d_q, d_c, d_nope, d_rope, d_v, F, E, Fe, V, *, dense=1, shared=1, router_bias=False):
    """Latent attention in all layers, a dense MLP in the first `dense`, experts in the rest (DeepSeek-V2 and V3)."""
    attention = mla_attention(D, H, d_q, d_c, d_nope, d_rope, d_v) + 2 * D
    moe = experts(D, E, Fe, router_bias=router_bias, shared=shared)
    return 2 * V * D + L * attention + dense * gated_mlp(D, F) + (L - dense) * moe + D


def deepseek_mtp(D, H, d_q, d_c, d_nope, d_rope, d_v, E, Fe, V, *, shared=1, router_bias=True):
    """One multi-token-prediction module as stored: a decoder layer, the projection that joins the previous state with
    the next embedding, three norms, and its own copies of embedding and head (DeepSeek-V3 report)."""
    layer = mla_attention(D, H, d_q, d_c, d_nope, d_rope, d_v) + 2 * D
    layer += experts(D, E, Fe, router_bias=router_bias, shared=shared)
    return layer + 2 * D * D + 3 * D + 2 * V * D


def gpt_oss(L, D, H, Hkv, dh, E, F, V):
    """Biased GQA with one sink per head, biased router and biased experts (gpt-oss model card)."""
    attention = gqa_attention(D, H, Hkv, dh, qkv_bias=True, o_bias=True) + H
    moe = D * E + E + E * (gated_mlp(D, F) + 2 * F + D)
    return 2 * V * D + L * (attention + moe + 2 * D) + D


def gpt2(L, D, V, T_max, F=None):
    """Learned positions, LayerNorm (weight and bias), biased projections, plain MLP of width 4D, head tied to the
    embedding (Radford et al., "Language models are unsupervised multitask learners")."""
    F = 4 * D if F is None else F
    attention = D * 3 * D + 3 * D + D * D + D
    mlp = D * F + F + F * D + D
    return V * D + T_max * D + L * (attention + mlp + 2 * 2 * D) + 2 * D


def gemma(L, D, H, Hkv, dh, F, V, *, qk_norm=False):
    """Gemma 2 and 3, text only: tied head, a norm before and after each half (Gemma 2 report), QK-norm in Gemma 3."""
    return V * D + L * (gqa_attention(D, H, Hkv, dh, qk_norm=qk_norm) + gated_mlp(D, F) + 4 * D) + D


def mamba2(D, d_inner, heads, groups, state, conv):
    """One Mamba-2 mixer: input projection, causal convolution with bias, A, D and dt per head, gated norm, output
    projection (Dao and Gu, "Transformers are SSMs")."""
    d_conv = d_inner + 2 * groups * state
    return D * (2 * d_inner + 2 * groups * state + heads) + d_conv * (conv + 1) + 3 * heads + d_inner + d_inner * D


def nemotron_h(D, H, Hkv, dh, F, V, *, mamba, attention, mlp, d_inner, heads, groups, state, conv):
    """Hybrid whose layers are each one mixer behind one norm: Mamba-2, GQA or a squared-ReLU MLP of two matrices
    (Nemotron-H report)."""
    mixers = mamba * mamba2(D, d_inner, heads, groups, state, conv)
    mixers += attention * gqa_attention(D, H, Hkv, dh) + mlp * 2 * D * F
    return 2 * V * D + (mamba + attention + mlp) * D + mixers + D


def unselected_experts(layers, D, E, k, Fe):
    """Parameters of the routed experts one token leaves aside: what `active` takes off `total`."""
    return layers * (E - k) * gated_mlp(D, Fe)


def indexer(D, d_q, heads, width):
    """What picks positions: its queries from the query latent, one key with its norm, one weight per head."""
    return d_q * heads * width + D * width + 2 * width + D * heads
