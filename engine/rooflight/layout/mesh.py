"""The machine as a mesh of named axes, fine enough that attention and experts may cut it differently.

Attention runs on dp × cp × tp; experts run on ep × etp of the same GPUs. Each of dp, cp and tp is a product of smaller
axes: the part that experts are spread over (_e), the part that cuts inside an expert (_t), and the part that repeats
experts (_r). A plan gives every axis its degree; an axis of degree 1 leaves no trace.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from rooflight.values import SpecError

Group = tuple[str, ...]  # axes whose GPUs share something, in the mesh's order; () is one GPU

AXES: Group = ("dp_r", "dp_e", "dp_t", "tp_r", "tp_e", "tp_t", "cp_r", "cp_e")
BATCH: Group = ("dp_r", "dp_e", "dp_t")
CONTEXT: Group = ("cp_r", "cp_e")
HEADS: Group = ("tp_r", "tp_e", "tp_t")
EXPERTS: Group = ("dp_e", "tp_e", "cp_e")
EXPERT_WIDTH: Group = ("dp_t", "tp_t")
REPEATS: Group = ("dp_r", "tp_r", "cp_r")  # of the experts
# How GPUs of a stage are numbered, the outermost axis first: who shares a sequence's heads stands closest together.
NUMBERED: Group = (*BATCH, *CONTEXT, *HEADS)


class Plan(NamedTuple):
    """How a replica of the model is spread over GPUs.

    attn_dp, attn_tp, cp   attention: different sequences, different heads, different positions
    ep, etp                experts: different experts, and parts of each
    pp                     stages of layers
    replicas               how often all of it stands there
    """

    attn_dp: int = 1
    attn_tp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    pp: int = 1
    replicas: int = 1

    @property
    def stage_gpus(self) -> int:
        """GPUs of one stage."""
        return self.attn_dp * self.attn_tp * self.cp

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return self.stage_gpus * self.pp * self.replicas


def degrees(plan: Plan) -> dict[str, int]:
    """Return the degree of every mesh axis. SpecError where experts cannot be laid over the GPUs of a stage.

    Parts of an expert stay as close as they can: on the GPUs that share a sequence's heads first.
    """
    tp_t = gcd(plan.etp, plan.attn_tp)
    dp_t = plan.etp // tp_t
    tp_e = gcd(plan.ep, plan.attn_tp // tp_t)
    rest = plan.ep // tp_e
    dp_e = gcd(rest, plan.attn_dp // dp_t) if plan.attn_dp % dp_t == 0 else 0
    cp_e = rest // dp_e if dp_e and rest % dp_e == 0 else 0
    if not dp_e or not cp_e or plan.cp % cp_e:
        raise SpecError(
            "plan-layout",
            "plan",
            f"etp over attn_tp {plan.attn_tp} × attn_dp {plan.attn_dp}, and ep over what is left and cp {plan.cp}",
            f"etp {plan.etp}, ep {plan.ep}",
            "choose an etp that divides attn_tp × attn_dp, and an ep that divides what it leaves of the stage",
        )
    return {
        "dp_r": plan.attn_dp // (dp_e * dp_t),
        "dp_e": dp_e,
        "dp_t": dp_t,
        "cp_r": plan.cp // cp_e,
        "cp_e": cp_e,
        "tp_r": plan.attn_tp // (tp_e * tp_t),
        "tp_e": tp_e,
        "tp_t": tp_t,
    }
