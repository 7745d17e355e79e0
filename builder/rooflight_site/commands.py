"""The command line that reproduces a figure of the site."""

import shlex


def formula_command(model_id: str, key: str, phase: str | None = None) -> str:
    """`rooflight formula ORG/NAME KEY` for a quantity's key, e.g. `decode.matmul_flops/layers.attention.q_proj`.

    `phase` is for a key that names no phase, of a node that only one phase has.
    """
    return shlex.join(["rooflight", "formula", model_id, key, *(["--phase", phase] if phase else [])])


def priced_command(model_id: str, gpu: str, plan: str, batch: int, context: int) -> tuple[str, str]:
    """What stands before and behind a key in `rooflight formula` for a step of a deployment."""
    words = ["--gpu", gpu, "--plan", plan, "--batch", str(batch), "--context", str(context)]
    return shlex.join(["rooflight", "formula", model_id]), shlex.join(words)


def estimate_command(model_id: str, gpu: str, plan: str, asked: tuple[int, int]) -> str:
    """`rooflight estimate` of a deployment; `asked` are tokens in and out."""
    words = ["--gpu", gpu, "--plan", plan, "--input", str(asked[0]), "--output", str(asked[1])]
    return shlex.join(["rooflight", "estimate", model_id, *words])


def sweep_command(model_id: str, gpu: str, plan: str, axes: tuple[str, ...], asked: tuple[int, int]) -> str:
    """`rooflight sweep` over axes; without a plan, one that suits the model on each number of GPUs."""
    over = [word for axis in axes for word in ("--over", axis)]
    words = ["--gpu", gpu, *(["--plan", plan] if plan else []), *over]
    return shlex.join(["rooflight", "sweep", model_id, *words, "--input", str(asked[0]), "--output", str(asked[1])])


def is_plain(word: str) -> bool:
    """Whether a shell takes a word as it stands."""
    return shlex.quote(word) == word
