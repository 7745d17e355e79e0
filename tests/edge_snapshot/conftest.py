"""A hub on this machine, and a visit to it that waits for nothing."""

import pytest

from edge_snapshot.fake_hub import serving
from rooflight.edge import front
from rooflight.edge.snapshot.hub import Hub
from rooflight.edge.snapshot.take import take_from_hub
from truth.safetensors_files import file_of

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 4,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 10, "bos_token_id": 1,
    "tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "transformers_version": "5.1.0",
}  # fmt: skip
FIRST = [("model.embed_tokens.weight", "BF16", (10, 4)), ("model.layers.0.mlp.up_proj.weight", "BF16", (8, 4))]
SECOND = [
    ("model.layers.1.mlp.up_proj.weight", "BF16", (8, 4)),
    ("model.norm.weight", "F32", (4,)),
    ("lm_head.weight", "BF16", (10, 4)),
]
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
PAYLOAD = 2 * (40 + 32 + 32 + 40) + 16
INDEX = {
    "metadata": {"total_size": PAYLOAD},
    "weight_map": {name: SHARDS[0] for name, _, _ in FIRST} | {name: SHARDS[1] for name, _, _ in SECOND},
}


def sharded():
    return {
        "config.json": CONFIG,
        "model.safetensors.index.json": INDEX,
        SHARDS[0]: file_of(FIRST, {"format": "pt"}),
        SHARDS[1]: file_of(SECOND, {"format": "pt"}),
        "modeling_tiny.py": b"raise SystemExit('never run')\n",
        "README.md": b"#",
    }


@pytest.fixture(autouse=True)
def own_login(monkeypatch, tmp_path):
    """No login of whoever runs the tests, no telemetry, no cache of theirs."""
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("ROOFLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture
def hub():
    with serving() as served:
        served.add("org/tiny", sharded())
        yield served
    from huggingface_hub import close_session

    close_session()


class Waits(list):
    """Seconds that a visit would have waited."""


@pytest.fixture
def waits():
    return Waits()


@pytest.fixture
def take(hub, waits):
    """Takes a snapshot of the fake hub without waiting between tries."""

    def taking(model_id="org/tiny", revision=None, **knobs):
        visit = Hub(endpoint=hub.url, sleep=waits.append, timeout=5, **knobs)
        return take_from_hub(visit, model_id, revision, front.catalog(None).library, "2026-12-01", lambda *_: None)

    return taking
