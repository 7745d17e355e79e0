"""One GPU's part of a step, by plan; a Program is compiled once per model, phase and family, whatever the degrees."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from rooflight import api
from rooflight.analysis import evaluate
from rooflight.api.memory import Deployed
from rooflight.api.plans import refusals
from rooflight.derive.device import device
from rooflight.edge.front import load
from rooflight.edge.machines import open_gpu
from rooflight.layout import Plan, degrees
from rooflight.values import SpecError
from rooflight.walk import Family

LLAMA, GPT2, QWEN, TIED = "meta-llama/Meta-Llama-3.1-8B", "openai-community/gpt2", "Qwen/Qwen3-32B", "Qwen/Qwen3-0.6B"
MIXTRAL, QWEN_MOE, GPT_OSS = "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-30B-A3B", "openai/gpt-oss-20b"
GLM, ERNIE, HUNYUAN = "zai-org/GLM-4.5", "baidu/ERNIE-4.5-21B-A3B-PT", "tencent/Hunyuan-A13B-Instruct"
OLMO, SMOL, MIMO = "allenai/Olmo-3-1025-7B", "HuggingFaceTB/SmolLM3-3B", "XiaomiMiMo/MiMo-7B-Base"
V2_LITE, V3 = "deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V3"
DENSE = (LLAMA, GPT2, QWEN, TIED, OLMO, SMOL)
EXPERTS = (MIXTRAL, QWEN_MOE, GPT_OSS, V2_LITE, V3, GLM, ERNIE, HUNYUAN)
GRANITE, NEMOTRON = "ibm-granite/granite-4.0-h-micro", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
FALCON = "tiiuae/Falcon-H1-0.5B-Base"
HYBRIDS = (GRANITE, NEMOTRON, FALCON)
PHASES = ("prefill", "decode")
FAMILIES = (Family(), Family(ulysses=True), Family(sequence=True))


class Part(NamedTuple):
    """The whole and one GPU's part of it."""

    model: object
    plan: Plan
    program: object
    binding: object
    facts: object
    device: object

    def layer(self, column):
        """A column of one GPU's part, all copies in one layer, by node."""
        return {s.node.id: v * c for s, v, c in zip(self.program.steps, column, self.device.copies, strict=True)}

    def total(self, column):
        """A column of one GPU's part over all layers."""
        copies = [self.facts.group_copies[s.node.group] for s in self.program.steps]
        return sum(v * c * n for v, c, n in zip(column, self.device.copies, copies, strict=True))

    def sent(self, *, entries=True):
        """(node, kind, mesh axes, bytes a GPU sends) of one copy of each layer, of what moves anything."""
        return [
            (step.node.id, c.kind, c.group, c.sent)
            for step, found in zip(self.program.steps, self.device.collectives, strict=True)
            for c in found
            if c.sent and (entries or not c.entry)
        ] + [("logits", c.kind, c.group, c.sent) for c in self.device.ends if c.sent]


@cache
def fixture_gpu():
    """The GPU that published figures assume: links without latency."""
    return open_gpu(str(Path(__file__).parents[1] / "cases" / "b200-seed.yaml"))


def kernels(deployed):
    """The priced kernels and collectives of a step's slowest stage."""
    return api.Timed(deployed, fixture_gpu()).rows()


@cache
def model(name):
    return load(name)


@cache
def _program(name, phase, family):
    bound = model(name)
    return Deployed(bound, api.step_size(bound, phase), Plan(), family).program


def part(name, plan=None, phase="prefill", family=None, batch=1, context=64):
    """One GPU's part; batch is per attention-DP rank."""
    plan = plan or Plan()
    bound, program = model(name), _program(name, phase, family or Family())
    step = api.step_size(bound, phase, batch=batch, context=context)
    binding = {**api.numbers(bound, step), "B": batch * plan.attn_dp, **degrees(plan)}
    facts = evaluate(program, binding)
    return Part(bound, plan, program, binding, facts, device(program, facts, binding))


def laid(plan):
    """Whether experts can be laid over the GPUs of a stage."""
    try:
        degrees(plan)
    except SpecError:
        return False
    return True


@st.composite
def plans_of(draw, name, *, cp=True):
    """A plan that the model can run under, of at most 64 GPUs, with one stage."""
    powers = st.sampled_from((1, 2, 4))
    experts = "n_experts" in model(name).dims
    plan = Plan(draw(powers), draw(powers), draw(powers) if cp else 1)
    if experts:
        plan = plan._replace(ep=draw(st.sampled_from((1, 2, 4, 8))), etp=draw(powers))
        if plan.stage_gpus % (plan.ep * plan.etp) or not laid(plan):
            plan = plan._replace(ep=1, etp=1)
        if refusals(model(name), plan):
            plan = plan._replace(etp=1, ep=1)
    while refusals(model(name), plan):
        plan = plan._replace(attn_tp=plan.attn_tp // 2, ep=1, etp=1)
    return plan
