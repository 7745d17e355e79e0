"""Random configs of the architectures with experts and with latents: sizes that no checkpoint has."""

from hypothesis import strategies as st

sizes = st.integers(1, 300)
switches = st.booleans()


def _chosen(draw):
    """Experts, and how many of them work on one token."""
    experts = draw(st.integers(1, 40))
    return experts, draw(st.integers(1, experts))


def _frame(draw, kind, name):
    return {
        "architectures": [f"{name}ForCausalLM"],
        "model_type": kind,
        "dtype": "bfloat16",
        "hidden_size": draw(sizes),
        "num_hidden_layers": draw(st.integers(1, 9)),
        "vocab_size": draw(sizes),
        "intermediate_size": draw(sizes),
        "tie_word_embeddings": draw(switches),
    }


def _grouped_heads(draw):
    kv_heads = draw(st.integers(1, 6))
    return {
        "num_attention_heads": kv_heads * draw(st.integers(1, 5)),
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.integers(1, 64)),
    }


@st.composite
def mixtral(draw):
    config = _frame(draw, "mixtral", "Mixtral") | _grouped_heads(draw)
    config["num_local_experts"], config["num_experts_per_tok"] = _chosen(draw)
    return config | {"sliding_window": draw(st.none() | st.integers(1, 600))}


@st.composite
def qwen3_moe(draw):
    """Some layers are named as dense, and of the others every few have experts."""
    config = _frame(draw, "qwen3_moe", "Qwen3Moe") | _grouped_heads(draw)
    config["num_experts"], config["num_experts_per_tok"] = _chosen(draw)
    return config | {
        "moe_intermediate_size": draw(sizes),
        "mlp_only_layers": draw(st.none() | st.lists(st.integers(0, 10), max_size=5)),
        "decoder_sparse_step": draw(st.integers(1, 4)),
        "norm_topk_prob": draw(switches),
        "attention_bias": draw(switches),
        "sliding_window": draw(st.none() | st.integers(1, 600)),
        "use_sliding_window": False,
    }


@st.composite
def gpt_oss(draw):
    config = _frame(draw, "gpt_oss", "GptOss") | _grouped_heads(draw)
    config["num_local_experts"], config["num_experts_per_tok"] = _chosen(draw)
    words = st.sampled_from(["full_attention", "sliding_attention"])
    layers = config["num_hidden_layers"]
    return config | {
        "sliding_window": draw(st.integers(1, 600)),
        "layer_types": draw(st.none() | st.lists(words, min_size=layers, max_size=layers)),
    }


@st.composite
def deepseek(draw):
    """Both generations: no, one or several shared experts and draft layers, every number of dense layers, groups."""
    kind = draw(st.sampled_from(["deepseek_v2", "deepseek_v3"]))
    config = _frame(draw, kind, "DeepseekV2" if kind == "deepseek_v2" else "DeepseekV3")
    groups = draw(st.integers(1, 5))
    experts = groups * draw(st.integers(2, 8))
    config |= {
        "num_attention_heads": draw(st.integers(1, 12)),
        "q_lora_rank": draw(st.none() | sizes),
        "kv_lora_rank": draw(sizes),
        "qk_nope_head_dim": draw(st.integers(1, 64)),
        "qk_rope_head_dim": draw(st.integers(1, 64)),
        "v_head_dim": draw(st.integers(1, 64)),
        "attention_bias": draw(switches),
        "n_routed_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "n_shared_experts": draw(st.sampled_from([0, 1, 2])),
        "moe_intermediate_size": draw(sizes),
        "first_k_dense_replace": draw(st.integers(0, config["num_hidden_layers"])),
        "n_group": groups,
        "topk_group": draw(st.integers(1, groups)),
        "norm_topk_prob": draw(switches),
    }
    if kind == "deepseek_v3":
        return config | {"num_nextn_predict_layers": draw(st.integers(0, 3)), "topk_method": "noaux_tc"}
    return config | {"topk_method": draw(st.sampled_from(["greedy", "group_limited_greedy"]))}


routed = mixtral() | qwen3_moe() | gpt_oss() | deepseek()
