"""What the tests read off the engine's answers, in the words of the tables they compare with."""

from collections import Counter

import rooflight
from oracles.material import snapshot

DENSE = ("llama", "mistral", "gpt2", "qwen2", "qwen3", "olmo2", "olmo3", "mimo", "smollm3")
EXPERTS = ("mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3", "gpt_oss", "glm4_moe", "hunyuan", "ernie4_5_moe")
HYBRIDS = ("granitemoehybrid", "nemotron_h", "falcon_h1")
V3, R1, V2_LITE = "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-V2-Lite"
MIXTRAL, QWEN3_MOE = "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-30B-A3B"
GLM, HUNYUAN, ERNIE = "zai-org/GLM-4.5", "tencent/Hunyuan-A13B-Instruct", "baidu/ERNIE-4.5-21B-A3B-PT"
OLMO3, MIMO = "allenai/Olmo-3-1025-7B", "XiaomiMiMo/MiMo-7B-Base"
GPT_OSS, GPT_OSS_LARGE = "openai/gpt-oss-20b", "openai/gpt-oss-120b"


def components(answer):
    """Matmul FLOPs of a `cost` answer per component, named as in torch_flops.json; none where a node does none."""
    total = Counter()
    for node in answer["nodes"]:
        if not node["matmul_flops"]:
            continue
        total[component(node)] += node["matmul_flops"]
    return dict(total)


def component(node):
    """The component that a node which does matmuls belongs to."""
    inside = node["id"].split(".")
    if node["op"] in {"attention_score", "attention_score_picked", "attention_apply"}:
        return "attn_core"
    if node["op"] == "linear_per_head":
        return "mla_absorb"
    if inside[-1] == "kv_b_proj":
        return "mla_kv_b_proj"
    if "shared" in inside:
        return "shared_expert"
    names = {
        "attention": "attn_proj",
        "ffn": "dense_mlp",
        "head": "lm_head",
        "router": "router",
        "expert": "routed_experts",
        "ssm": "mamba_proj" if node["op"] == "linear" else "mamba_scan",
    }
    return names[node["role"]]


def in_bf16(model):
    """A snapshot's configuration with every weight in BF16, whatever the checkpoint packs."""
    config = {key: value for key, value in snapshot(model, "config").items() if key != "quantization_config"}
    return config | {"dtype": "bfloat16"}


def matmul_flops(target, **deployment):
    """Matmul FLOPs of one step."""
    return rooflight.cost(target, **deployment)["totals"]["matmul_flops"]


def request_bytes(target, context):
    """Cache one sequence of `context` tokens holds."""
    return rooflight.cost(target, phase="decode", context=context)["totals"]["cache_bytes_per_sequence"]


def stored(target):
    """Tensors by name: (shape, dtype, count)."""
    return {row["name"]: (list(row["shape"]), row["dtype"], row["count"]) for row in rooflight.tensors(target)}


def llama_like(L, D, H, Hkv, dh, F=256, V=512, *, model_type="llama", **more):
    """A configuration of the given sizes in BF16; whatever a case leaves open is small."""
    names = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    return {
        "architectures": [f"{names[model_type]}ForCausalLM"],
        "model_type": model_type,
        "dtype": "bfloat16",
        "num_hidden_layers": L,
        "hidden_size": D,
        "num_attention_heads": H,
        "num_key_value_heads": Hkv,
        "head_dim": dh,
        "intermediate_size": F,
        "vocab_size": V,
        "tie_word_embeddings": False,
    } | more


def hybrid(pattern, **sizes):
    """A configuration of layers that each are one mixer: M a state-space mixer, * attention, - a feed-forward network.

    In BF16; whatever a case leaves open is small."""
    return {
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "dtype": "bfloat16",
        "hybrid_override_pattern": pattern,
        "num_hidden_layers": len(pattern),
        "hidden_size": 256,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "intermediate_size": 512,
        "vocab_size": 512,
        "mamba_num_heads": 8,
        "n_groups": 1,
        **sizes,
    }


def windowed(full, sliding, window, Hkv, dh):
    """A Qwen3 whose last `sliding` layers keep `window` tokens: caches of mixed models without their experts."""
    return llama_like(
        full + sliding,
        Hkv * dh,
        Hkv,
        Hkv,
        dh,
        model_type="qwen3",
        use_sliding_window=True,
        sliding_window=window,
        max_window_layers=full,
    )
