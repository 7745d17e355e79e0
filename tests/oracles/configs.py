"""Closed forms applied to a configuration in transformers' keys: the only file here that knows their spelling."""

from collections import Counter

from oracles import cache, flops, pairs, params

WIDTH = {"float32": 4, "float16": 2, "bfloat16": 2}


def dims(config):
    """The letters of the closed forms for a Llama-like configuration, defaults as transformers fills them."""
    D, H = config["hidden_size"], config["num_attention_heads"]
    return dict(
        L=config["num_hidden_layers"],
        D=D,
        H=H,
        Hkv=config.get("num_key_value_heads") or H,
        dh=config.get("head_dim") or D // H,
        V=config["vocab_size"],
    )


def latent_dims(config):
    """The letters of latent attention."""
    return dict(
        d_q=config["q_lora_rank"],
        d_c=config["kv_lora_rank"],
        d_nope=config["qk_nope_head_dim"],
        d_rope=config["qk_rope_head_dim"],
        d_v=config["v_head_dim"],
    )


def _llama(config):
    return params.llama(
        **dims(config),
        F=config["intermediate_size"],
        tied=config.get("tie_word_embeddings", False),
        qkv_bias=config.get("attention_bias", False),
        o_bias=config.get("attention_bias", False),
        mlp_bias=config.get("mlp_bias", False),
    )


def _qwen2(config):
    tied = config.get("tie_word_embeddings", False)
    return params.llama(**dims(config), F=config["intermediate_size"], tied=tied, qkv_bias=True)


def _qwen3(config):
    tied = config.get("tie_word_embeddings", False)
    return params.llama(**dims(config), F=config["intermediate_size"], tied=tied, qk_norm=True)


def _gpt2(config):
    return params.gpt2(
        config["n_layer"], config["n_embd"], config["vocab_size"], config["n_positions"], config.get("n_inner")
    )


def _tied(config):
    return config.get("tie_word_embeddings", False)


def _mixtral(config):
    E, F = config["num_local_experts"], config["intermediate_size"]
    return params.mixtral(**dims(config), E=E, F=F, tied=_tied(config))


def dense_layers(config):
    """How many layers have one feed-forward network instead of experts.

    Qwen3 names such layers, and of the others every few have experts, counted from 1; DeepSeek puts them first."""
    if config["model_type"] == "qwen3_moe":
        named, step = config.get("mlp_only_layers") or [], config.get("decoder_sparse_step", 1)
        return sum(i in named or (i + 1) % step != 0 for i in range(config["num_hidden_layers"]))
    return min(config.get("first_k_dense_replace", 0), config["num_hidden_layers"])


def _qwen3_moe(config):
    letters = dims(config)
    total = params.qwen3_moe(
        **letters,
        E=config["num_experts"],
        Fe=config["moe_intermediate_size"],
        tied=_tied(config),
        dense=dense_layers(config),
        F=config.get("intermediate_size", 0),
    )
    widths = [letters[name] for name in ("D", "H", "Hkv", "dh")]
    biased = params.gqa_attention(*widths, qkv_bias=True, o_bias=True) - params.gqa_attention(*widths)
    return total + (letters["L"] * biased if config.get("attention_bias") else 0)


def _gpt_oss(config):
    letters = dims(config)
    total = params.gpt_oss(**letters, E=config["num_local_experts"], F=config["intermediate_size"])
    return total - (letters["V"] * letters["D"] if _tied(config) else 0)


def _mla_biases(config):
    """Biases of one latent attention: of the projections down from the trunk (a full Q has none) and back to it."""
    if not config.get("attention_bias"):
        return 0
    down = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    return down + (config["q_lora_rank"] or 0) + config["hidden_size"]


def _deepseek(config):
    letters = dims(config)
    total = params.deepseek(
        letters["L"],
        letters["D"],
        letters["H"],
        **latent_dims(config),
        F=config["intermediate_size"],
        E=config["n_routed_experts"],
        Fe=config["moe_intermediate_size"],
        V=letters["V"],
        dense=dense_layers(config),
        shared=config["n_shared_experts"],
        router_bias=config["model_type"] == "deepseek_v3",
    )
    tied = letters["V"] * letters["D"] if _tied(config) else 0
    return total + letters["L"] * _mla_biases(config) - tied


def mtp(config):
    """Learned values of the draft layers, as stored."""
    letters = dims(config)
    drafts = config.get("num_nextn_predict_layers", 0)
    if not drafts:
        return 0
    one = params.deepseek_mtp(
        letters["D"],
        letters["H"],
        **latent_dims(config),
        E=config["n_routed_experts"],
        Fe=config["moe_intermediate_size"],
        V=letters["V"],
        shared=config["n_shared_experts"],
    )
    return drafts * (one + _mla_biases(config))


def _gemma(config):
    return params.gemma(**dims(config), F=config["intermediate_size"], qk_norm=config["model_type"] == "gemma3_text")


def _nemotron_h(config):
    kinds = Counter(config["hybrid_override_pattern"])
    letters = dims(config)
    del letters["L"]
    return params.nemotron_h(
        **letters,
        F=config["intermediate_size"],
        mamba=kinds["M"],
        attention=kinds["*"],
        mlp=kinds["-"],
        d_inner=config["mamba_num_heads"] * config["mamba_head_dim"],
        heads=config["mamba_num_heads"],
        groups=config["n_groups"],
        state=config["ssm_state_size"],
        conv=config["conv_kernel"],
    )


TOTAL = {
    "gpt2": _gpt2,
    "llama": _llama,
    "mistral": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "gpt_oss": _gpt_oss,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
    "gemma2": _gemma,
    "gemma3_text": _gemma,
    "nemotron_h": _nemotron_h,
}


def total(config):
    """Learned values of the main model, tied ones once."""
    return TOTAL[config["model_type"]](config)


def moe_layers(config):
    """(layers with experts, experts, experts a token uses, expert width), or None for a dense model."""
    L = config.get("num_hidden_layers")
    if config["model_type"] in {"mixtral", "gpt_oss"}:
        return L, config["num_local_experts"], config["num_experts_per_tok"], config["intermediate_size"]
    if config["model_type"] == "qwen3_moe":
        layers = L - dense_layers(config)
        return layers, config["num_experts"], config["num_experts_per_tok"], config["moe_intermediate_size"]
    if config["model_type"] in {"deepseek_v2", "deepseek_v3"}:
        layers = L - dense_layers(config)
        return layers, config["n_routed_experts"], config["num_experts_per_tok"], config["moe_intermediate_size"]
    return None


def active(config):
    """Total less the routed experts a token does not use."""
    moe = moe_layers(config)
    if moe is None:
        return total(config)
    layers, E, k, Fe = moe
    left_aside = params.unselected_experts(layers, config["hidden_size"], E, k, Fe)
    if config["model_type"] == "gpt_oss":  # its experts have biases
        left_aside += layers * (E - k) * (2 * Fe + config["hidden_size"])
    return total(config) - left_aside


def cache_layers(config):
    """(count, KV heads, head width, window) per kind of layer, windows as transformers resolves them.

    Mistral slides in every layer once it has a window; Qwen2 and Qwen3 slide from max_window_layers on, and only where
    use_sliding_window says so; Qwen3 with experts slides everywhere or nowhere; gpt-oss in every second layer, the
    first one included; a list of layer types overrides all."""
    if config["model_type"] == "gpt2":
        return [(config["n_layer"], config["n_head"], config["n_embd"] // config["n_head"], None)]
    letters = dims(config)
    L, Hkv, dh, window = letters["L"], letters["Hkv"], letters["dh"], config.get("sliding_window")
    if config.get("layer_types"):
        sliding = config["layer_types"].count("sliding_attention")
    elif config["model_type"] == "gpt_oss":
        sliding = (L + 1) // 2
    elif config["model_type"] == "qwen3_moe":
        sliding = L if config.get("use_sliding_window") else 0
    elif config["model_type"] in {"qwen2", "qwen3"}:
        sliding = max(L - config["max_window_layers"], 0) if config.get("use_sliding_window") else 0
    elif config["model_type"] in {"mistral", "mixtral"}:
        sliding = L
    else:
        sliding = 0
    if window is None:
        sliding = 0
    return [(L - sliding, Hkv, dh, None), (sliding, Hkv, dh, window)]


def request_bytes(config, context):
    """Cache of one sequence of `context` tokens in the configuration's dtype (BF16 where it names none)."""
    width = WIDTH[config.get("dtype", "bfloat16")]
    if "kv_lora_rank" in config:
        L, d_c, d_rope = (config[key] for key in ("num_hidden_layers", "kv_lora_rank", "qk_rope_head_dim"))
        return context * cache.mla_bytes_per_token(L, d_c, d_rope, width)
    return cache.request_bytes(context, cache_layers(config), width)


def components(config, *, batch, new, prefix=0, head="last", attention="exact", absorbed=False):
    """Matmul FLOPs per component of one forward pass over `new` tokens per sequence after `prefix` cached ones.

    `absorbed`: latent attention works on the latents themselves instead of expanding them."""
    tokens, rows = batch * new, batch * (new if head == "all" else 1)
    if config["model_type"] == "gpt2":
        L, D, H, V = (config[key] for key in ("n_layer", "n_embd", "n_head", "vocab_size"))
        scored = pairs.square(new, prefix) if attention == "square" else pairs.causal(new, prefix)
        return {
            "attn_core": flops.attn_core(batch, scored, L, H, D // H),
            "attn_proj": flops.attn_proj(tokens, L, D, H, H, D // H),
            "dense_mlp": 2 * tokens * L * 2 * D * (config.get("n_inner") or 4 * D),
            "lm_head": flops.lm_head(rows, D, V),
        }
    letters = dims(config)
    L, D, H, V = (letters[key] for key in "LDHV")
    out = {"lm_head": flops.lm_head(rows, D, V)}
    if "kv_lora_rank" in config:
        latent = latent_dims(config)
        scored = pairs.square(new, prefix) if attention == "square" else pairs.causal(new, prefix)
        widths = {key: latent[key] for key in ("d_nope", "d_rope", "d_v")}
        out["attn_proj"] = flops.mla_proj(tokens, L, D, H, **latent)
        up = (L, H, latent["d_c"], latent["d_nope"], latent["d_v"])
        if absorbed:
            out["attn_core"] = flops.mla_core_absorbed(batch, scored, L, H, latent["d_c"], latent["d_rope"])
            out["mla_absorb"] = flops.mla_absorb(tokens, *up)
        else:
            out["attn_core"] = flops.mla_core(batch, scored, L, H, **widths)
            out["mla_kv_b_proj"] = flops.mla_kv_b_proj(batch * (prefix + new), *up)
    else:
        out["attn_proj"] = flops.attn_proj(tokens, L, D, H, letters["Hkv"], letters["dh"])
        out["attn_core"] = 0
        for count, _, dh, window in cache_layers(config):
            scored = pairs.square(new, prefix) if attention == "square" else pairs.causal_window(new, prefix, window)
            out["attn_core"] += flops.attn_core(batch, scored, count, H, dh)
    moe = moe_layers(config)
    if moe is None:
        out["dense_mlp"] = flops.dense_mlp(tokens, L, D, config["intermediate_size"])
        return out
    layers, E, k, Fe = moe
    if layers:
        out["router"] = flops.router(tokens, layers, D, E)
        out["routed_experts"] = flops.routed_experts(tokens, layers, D, k, Fe)
    if layers and config.get("n_shared_experts"):
        out["shared_expert"] = flops.dense_mlp(tokens, layers, D, config["n_shared_experts"] * Fe)
    if layers < L:
        out["dense_mlp"] = flops.dense_mlp(tokens, L - layers, D, config["intermediate_size"])
    return out
