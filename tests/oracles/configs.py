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


def _mixtral(config):
    return params.mixtral(**dims(config), E=config["num_local_experts"], F=config["intermediate_size"])


def _qwen3_moe(config):
    return params.qwen3_moe(**dims(config), E=config["num_experts"], Fe=config["moe_intermediate_size"])


def _gpt_oss(config):
    return params.gpt_oss(**dims(config), E=config["num_local_experts"], F=config["intermediate_size"])


def _deepseek(config):
    letters = dims(config)
    return params.deepseek(
        letters["L"],
        letters["D"],
        letters["H"],
        **latent_dims(config),
        F=config["intermediate_size"],
        E=config["n_routed_experts"],
        Fe=config["moe_intermediate_size"],
        V=letters["V"],
        dense=config["first_k_dense_replace"],
        shared=config["n_shared_experts"],
        router_bias=config.get("topk_method") == "noaux_tc",
    )


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
        return L, config["num_experts"], config["num_experts_per_tok"], config["moe_intermediate_size"]
    if config["model_type"] in {"deepseek_v2", "deepseek_v3"}:
        layers = L - config["first_k_dense_replace"]
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
    use_sliding_window says so; a list of layer types overrides both."""
    if config["model_type"] == "gpt2":
        return [(config["n_layer"], config["n_head"], config["n_embd"] // config["n_head"], None)]
    letters = dims(config)
    L, Hkv, dh, window = letters["L"], letters["Hkv"], letters["dh"], config.get("sliding_window")
    if config.get("layer_types"):
        sliding = config["layer_types"].count("sliding_attention")
    elif config["model_type"] in {"qwen2", "qwen3", "qwen3_moe"}:
        sliding = max(L - config["max_window_layers"], 0) if config.get("use_sliding_window") else 0
    elif config["model_type"] in {"mistral", "mixtral"}:
        sliding = L
    else:
        sliding = 0
    if window is None:
        sliding = 0
    return [(L - sliding, Hkv, dh, None), (sliding, Hkv, dh, window)]


def request_bytes(config, context):
    """Cache of one sequence of `context` tokens in the configuration's dtype."""
    return cache.request_bytes(context, cache_layers(config), WIDTH[config["dtype"]])


def components(config, *, batch, new, prefix=0, head="last", attention="exact"):
    """Matmul FLOPs per component of one forward pass over `new` tokens per sequence after `prefix` cached ones."""
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
        out["attn_core"] = flops.mla_core(batch, scored, L, H, **widths)
        expanded = batch * (prefix + new)
        out["mla_kv_b_proj"] = flops.mla_kv_b_proj(expanded, L, H, latent["d_c"], latent["d_nope"], latent["d_v"])
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
    out["router"] = flops.router(tokens, layers, D, E)
    out["routed_experts"] = flops.routed_experts(tokens, layers, D, k, Fe)
    if config.get("n_shared_experts"):
        out["shared_expert"] = flops.dense_mlp(tokens, layers, D, config["n_shared_experts"] * Fe)
    if layers < L:
        out["dense_mlp"] = flops.dense_mlp(tokens, L - layers, D, config["intermediate_size"])
    return out
