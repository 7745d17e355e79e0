"""The command line that reproduces a figure of the site."""

import shlex


def formula_command(model_id: str, key: str) -> str:
    """`rooflight formula ORG/NAME QUANTITY …` for a quantity's key, e.g. `decode.matmul_flops/layers.attention.q_proj`."""
    quantity, _, node = key.partition("/")
    phase, _, rest = quantity.partition(".")
    words = ["rooflight", "formula", model_id]
    words += [rest] if phase in {"prefill", "decode"} and rest else [quantity]
    words += ["--node", node] if node else []
    words += ["--phase", phase] if phase in {"prefill", "decode"} and rest else []
    return shlex.join(words)
