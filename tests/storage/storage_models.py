"""Small models with and without experts, bound to any quantization_config and storage file."""

from pathlib import Path

import yaml

from rooflight import api
from rooflight.edge.front import catalog
from rooflight.spec import bind, locate

HERE = Path(__file__).parent


def llama(**more):
    """A decoder of two layers whose k_proj is [256, 512] and whose down_proj is [512, 1408]."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "dtype": "bfloat16",
        "num_hidden_layers": 2,
        "hidden_size": 512,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 1408,
        "vocab_size": 1000,
    } | more


def experts(**more):
    """One layer of four stacked experts whose gate_up_proj is [4, 192, 64]."""
    return {
        "architectures": ["GptOssForCausalLM"],
        "dtype": "bfloat16",
        "num_hidden_layers": 1,
        "hidden_size": 64,
        "head_dim": 16,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 96,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "vocab_size": 1000,
        "layer_types": ["full_attention"],
    } | more


def model(config, storage=None):
    """The bound model; storage is the data of a storage.yaml."""
    return bind(catalog().library, config, "config.json", "small", storage=locate(storage, "storage.yaml:1"))


def stored(config, storage=None):
    """Tensor -> (dtype, *shape), as the engine says the checkpoint holds them, layers written out as patterns."""
    bound = model(config, storage)
    return {
        row.name: (row.dtype, *row.shape) for row in api.tensor_rows(bound, api.reading(bound, drafts=True).numbers)
    }


def table():
    """The cases of formats.yaml, each with an id."""
    found = yaml.safe_load((HERE / "formats.yaml").read_text(encoding="utf-8"))
    return [case | {"id": case.get("id", case["scheme"])} for case in found]
