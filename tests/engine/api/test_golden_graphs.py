"""The graph of one model per architecture, as text, in both phases.

After a change that means to alter a graph: UPDATE_GOLDEN=1 pytest tests/engine/api/test_golden_graphs.py, and read the
diff of tests/golden/ before committing it.
"""

from pathlib import Path

import pytest

import rooflight
from engine.cases import UPDATE
from rooflight import api
from rooflight.graph import PHASES

GOLDEN = Path(__file__).parents[2] / "golden"

WINDOWED = {
    "architectures": ["Qwen2ForCausalLM"], "dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 6,
    "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 500,
    "use_sliding_window": True, "sliding_window": 32, "max_window_layers": 2,
}  # fmt: skip
TARGETS = {
    "gpt2": "openai-community/gpt2",
    "llama": "meta-llama/Meta-Llama-3.1-8B",
    "mistral": "mistralai/Mistral-Small-24B-Instruct-2501",
    "qwen2": "Qwen/Qwen2.5-7B-Instruct",
    "qwen2-windowed": WINDOWED,
    "qwen3": "Qwen/Qwen3-0.6B",
    "olmo2": "allenai/OLMo-2-1124-7B",
    "olmo3": "allenai/Olmo-3-1025-7B",
    "smollm3": "HuggingFaceTB/SmolLM3-3B",
    "mimo": "XiaomiMiMo/MiMo-7B-Base",
    "glm4-moe": "zai-org/GLM-4.5",
    "hunyuan-v1-moe": "tencent/Hunyuan-A13B-Instruct",
    "ernie4-5-moe": "baidu/ERNIE-4.5-21B-A3B-PT",
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", TARGETS)
def test_graph(name, phase):
    path = GOLDEN / f"{name}.{phase}.txt"
    printed = api.print_graph(rooflight.load(TARGETS[name]), phase)
    if UPDATE:
        path.write_text(printed)
    assert printed == path.read_text(), f"the graph changed: {path.name}; UPDATE_GOLDEN=1 writes it again"


def test_no_file_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == {f"{name}.{phase}.txt" for name in TARGETS for phase in PHASES}
