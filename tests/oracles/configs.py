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


def _olmo(config):
    return params.olmo(
        **dims(config), F=config["intermediate_size"], tied=_tied(config), bias=config.get("attention_bias", False)
    )


def _smollm3(config):
    tied = config.get("tie_word_embeddings", True)
    return params.llama(**dims(config), F=config["intermediate_size"], tied=tied)


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

    Qwen3 names such layers, and of the others every few have experts, counted from 1; DeepSeek, GLM and ERNIE put them
    first."""
    if config["model_type"] == "qwen3_moe":
        named, step = config.get("mlp_only_layers") or [], config.get("decoder_sparse_step", 1)
        return sum(i in named or (i + 1) % step != 0 for i in range(config["num_hidden_layers"]))
    if config["model_type"] == "ernie4_5_moe":
        return min(config["moe_layer_start_index"], config["num_hidden_layers"])
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
        router_bias=config["model_type"] != "deepseek_v2",
    )
    tied = letters["V"] * letters["D"] if _tied(config) else 0
    return total + letters["L"] * (_mla_biases(config) + _indexer(config)) - tied


def _indexer(config):
    """Parameters of what picks positions in one layer, where there is such a thing."""
    if "index_topk" not in config:
        return 0
    return params.indexer(
        config["hidden_size"], config["q_lora_rank"], config["index_n_heads"], config["index_head_dim"]
    )


def _attention(config):
    """What grouped-query attention adds to its four projections."""
    kind = config["model_type"]
    if kind in {"hunyuan", "hunyuan_v1_moe"}:
        return dict(qkv_bias=config["attention_bias"], o_bias=config["attention_bias"], qk_norm=True)
    if kind == "glm4_moe":
        return dict(qkv_bias=config.get("attention_bias", False), qk_norm=config.get("use_qk_norm", False))
    return dict(qkv_bias=config.get("use_bias", False), o_bias=config.get("use_bias", False))


def shared_width(config):
    """Width of all shared experts together, next to the routed ones; 0 where there are none."""
    kind = config["model_type"]
    if kind in {"hunyuan", "hunyuan_v1_moe"}:
        return _alike(config["num_shared_expert"]) * config["intermediate_size"]
    if kind == "ernie4_5_moe":
        return config["moe_num_shared_experts"] * config["moe_intermediate_size"]
    return (config.get("n_shared_experts") or 0) * config.get("moe_intermediate_size", 0)


def _alike(listed):
    """The one value of a list that holds one per layer, or a value alone."""
    if not isinstance(listed, list):
        return listed
    (value,) = set(listed)
    return value


def has_router_bias(config):
    """Whether a stored vector corrects the router's scores."""
    return config["model_type"] in {"gpt_oss", "deepseek_v3", "glm4_moe", "ernie4_5_moe"}


def _experts_behind_gqa(config):
    _, E, _, Fe = moe_layers(config)
    return params.experts_behind_gqa(
        **dims(config),
        E=E,
        Fe=Fe,
        dense=dense_layers(config),
        F=config["intermediate_size"],
        shared_width=shared_width(config),
        router_bias=has_router_bias(config),
        tied=_tied(config),
        **_attention(config),
    )


def _layer(config):
    """The decoder layer of a draft: with experts in GLM, without in ERNIE, whose main model has them, and in MiMo."""
    letters = dims(config)
    widths = [letters[name] for name in ("D", "H", "Hkv", "dh")]
    D = letters["D"]
    if config["model_type"] == "mimo":
        return params.gqa_attention(*widths, qkv_bias=True) + 2 * D + params.gated_mlp(D, config["intermediate_size"])
    attention = params.gqa_attention(*widths, **_attention(config)) + 2 * D
    if config["model_type"] == "ernie4_5_moe":
        return attention + params.gated_mlp(D, config["intermediate_size"])
    _, E, _, Fe = moe_layers(config)
    return attention + params.experts(D, E, Fe, router_bias=True) + params.gated_mlp(D, shared_width(config))


def mtp(config):
    """Learned values of the draft layers, as stored."""
    letters = dims(config)
    drafts = config.get("num_nextn_predict_layers", 0)
    if not drafts:
        return 0
    if config["model_type"] in {"mimo", "ernie4_5_moe"}:
        norms = 3 if config["model_type"] == "mimo" else 2
        return drafts * params.draft(letters["D"], _layer(config), norms=norms)
    if config["model_type"] == "glm4_moe":
        return drafts * params.draft(letters["D"], _layer(config), norms=3, own_vocabulary=letters["V"])
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
    "olmo2": _olmo,
    "olmo3": _olmo,
    "mimo": _qwen2,
    "smollm3": _smollm3,
    "glm4_moe": _experts_behind_gqa,
    "hunyuan": _experts_behind_gqa,
    "ernie4_5_moe": _experts_behind_gqa,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "gpt_oss": _gpt_oss,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
    "deepseek_v32": _deepseek,
    "glm_moe_dsa": _deepseek,
    "gemma2": _gemma,
    "gemma3_text": _gemma,
    "nemotron_h": _nemotron_h,
}


def covers(config):
    """Whether there are closed forms for all of it: of state-space layers there is none for mixtures with experts."""
    return config["model_type"] in TOTAL and not ("n_routed_experts" in config and "ssm_state_size" in config)


def covers_flops(config):
    """The same of the FLOPs of its parts; picked positions and scans are counted out in tests/numbers."""
    return covers(config) and not {"index_topk", "ssm_state_size"} & set(config)


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
    if config["model_type"] in {"hunyuan", "hunyuan_v1_moe"}:
        return L, config["num_experts"], _alike(config["moe_topk"]), _alike(config["moe_intermediate_size"])
    if config["model_type"] == "ernie4_5_moe":
        layers = L - dense_layers(config)
        return layers, config["moe_num_experts"], config["moe_k"], config["moe_intermediate_size"]
    if config["model_type"] in {"deepseek_v2", "deepseek_v3", "glm4_moe"}:
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
    first one included; OLMo 3 in all but every fourth; a list of layer types overrides all."""
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
    elif config["model_type"] == "olmo3":
        sliding = L - L // 4
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
    if config.get("kv_lora_rank"):
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
    if config.get("kv_lora_rank"):
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
    if layers and shared_width(config):
        out["shared_expert"] = flops.dense_mlp(tokens, layers, D, shared_width(config))
    if layers < L:
        out["dense_mlp"] = flops.dense_mlp(tokens, L - layers, D, config["intermediate_size"])
    return out
