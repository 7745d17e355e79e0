"""The command line that reproduces a figure of the site."""

import shlex


def formula_command(model_id: str, key: str, phase: str | None = None) -> str:
    """`rooflight formula ORG/NAME KEY` for a quantity's key, e.g. `decode.matmul_flops/layers.attention.q_proj`.

    `phase` is for a key that names no phase, of a node that only one phase has.
    """
    return shlex.join(["rooflight", "formula", model_id, key, *(["--phase", phase] if phase else [])])
