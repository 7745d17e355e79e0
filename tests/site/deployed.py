"""Real deployments under the names of made-up models: the engine prices no graph that is only a list of parts."""

from rooflight import api
from rooflight.edge import front
from rooflight_site.deployments import DEFAULT_GPU, Deployed, deploy, deployed

# Made-up name -> the checkpoint behind it and its plan, None for the site's own choice.
REAL = {
    "aurora-lab/Aurora-8B": ("Qwen/Qwen3-30B-A3B", "attn_dp=2,ep=2"),  # experts, several GPUs, collectives
    "drift-ai/drift2": ("openai-community/gpt2", None),  # one GPU, beyond its published context
}


def deployments() -> dict[str, Deployed]:
    """Those of REAL, by their made-up names."""
    return {name: _deployment(name, *real) for name, real in REAL.items()}


def _deployment(name: str, real: str, plan: str | None) -> Deployed:
    model = front.load(real)._replace(id=name)
    if plan is None:
        return deploy(model)
    gpu, listed = front.machine(DEFAULT_GPU)
    return deployed(api.Estimate(model, gpu, api.parse_plan(plan), listed=listed))
