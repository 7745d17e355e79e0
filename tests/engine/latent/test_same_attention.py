"""The absorbed graph computes what the naive one computes: both are run, with the halves of one projection."""

import numpy as np
import pytest

import rooflight
from engine.latent.graph_in_numpy import logits, program_of

H, D, Q, C, NOPE, ROPE, V, F, WORDS = 3, 10, 9, 6, 5, 4, 7, 8, 13  # all unlike
CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "dtype": "bfloat16",
    "num_hidden_layers": 1,
    "first_k_dense_replace": 1,
    "hidden_size": D,
    "num_attention_heads": H,
    "q_lora_rank": Q,
    "kv_lora_rank": C,
    "qk_nope_head_dim": NOPE,
    "qk_rope_head_dim": ROPE,
    "v_head_dim": V,
    "intermediate_size": F,
    "vocab_size": WORDS,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
}
ENDS = {"q_pe", "k_pe", "v"}  # the slices that take the end, as transformers splits
SHAPES = {
    "table": (WORDS, D),
    "norm": (D,),
    "q_a_proj": (Q, D),
    "q_a_layernorm": (Q,),
    "q_b_proj": (H * (NOPE + ROPE), Q),
    "q_proj": (H * (NOPE + ROPE), D),
    "kv_a_proj_with_mqa": (C + ROPE, D),
    "kv_a_layernorm": (C,),
    "kv_b_proj": (H * (NOPE + V), C),
    "o_proj": (D, H * V),
    "gate_proj": (F, D),
    "up_proj": (F, D),
    "down_proj": (D, F),
    "proj": (WORDS, D),
}
TOKENS = np.random.default_rng(1).integers(0, WORDS, size=(2, 5))


def weights(*, exchanged=False):
    """A random matrix per stored tensor, by node. The halves are read from the projection they are parts of: per head
    the key's rows first, then the value's, or the other way round."""
    stored = {}

    def weight(node):
        path, _, last = node.rpartition(".")
        if last not in {"q_latent", "rebuilt"}:
            if node not in stored:
                seed = np.random.default_rng(sum(node.encode()))
                stored[node] = seed.normal(size=SHAPES[last]) / 2
            return stored[node]
        heads = weight(f"{path}.kv_b_proj").reshape(H, NOPE + V, C)
        key, value = (heads[:, V:], heads[:, :V]) if exchanged else (heads[:, :NOPE], heads[:, NOPE:])
        return key.transpose(0, 2, 1) if last == "q_latent" else value

    return weight


@pytest.mark.parametrize("full_query", [False, True], ids=["compressed-query", "full-query"])
def test_same_logits(full_query):
    model = rooflight.load(CONFIG | ({"q_lora_rank": None} if full_query else {}))
    naive = logits(model, weights(), ENDS, TOKENS, variant=False)
    absorbed = logits(model, weights(), ENDS, TOKENS, variant=True)
    np.testing.assert_allclose(absorbed, naive, rtol=1e-9)


def test_they_are_two_graphs():
    model = rooflight.load(CONFIG)
    naive, absorbed = ({step.node.id for step in program_of(model, TOKENS, variant=v)[0].steps} for v in (False, True))
    assert len(naive - absorbed) == 4  # kv_b_proj, its heads, the keys' part, the repeated rope key
    assert len(absorbed - naive) == 3  # q_latent, rebuilt, the rope key's axis


def test_halves_exchanged_are_found_out():
    model = rooflight.load(CONFIG)
    naive = logits(model, weights(), ENDS, TOKENS, variant=False)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(logits(model, weights(exchanged=True), ENDS, TOKENS, variant=True), naive, rtol=0.01)
