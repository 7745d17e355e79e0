"""The command line that reproduces a figure of the site."""

import shlex


def formula_command(model_id: str, key: str) -> str:
    """`rooflight formula ORG/NAME KEY` for a quantity's key, e.g. `decode.matmul_flops/layers.attention.q_proj`."""
    return shlex.join(["rooflight", "formula", model_id, key])
