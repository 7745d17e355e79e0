"""One step of a deployment in seconds: kernels and collectives of the slowest stage, and what they add up to."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rooflight.api.formula import json_number
from rooflight.api.memory import Deployed, Stage, runs, stages
from rooflight.pricing import (
    BACKENDS,
    BEHIND,
    BETWEEN,
    Backend,
    Line,
    Machine,
    Spent,
    deployed_precision,
    lines,
    place,
    rates,
)
from rooflight.walk import Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.api.binding import StepSize
    from rooflight.expr import Value
    from rooflight.hardware import Gpu
    from rooflight.layout import Plan
    from rooflight.pricing import Work
    from rooflight.spec import Model

RESOURCES = ("compute", "memory", "communication")


class Timed:
    """A deployed step on a GPU. All seconds are of the deployed batch passing once."""

    def __init__(self, deployed: Deployed, gpu: Gpu, backend: Backend = BACKENDS["sol"]) -> None:
        self.deployed = deployed
        self.gpu = gpu
        self.backend = backend

    @cached_property
    def machine(self) -> Machine:
        """What the step is priced on."""
        plan = self.deployed.plan
        where = place(self.gpu, self.deployed.degrees, plan.pp)
        return Machine(self.gpu, rates(self.gpu), where, self.backend)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Kernels and collectives of one layer each."""
        deployed = self.deployed
        return lines(deployed.program, deployed.device, deployed.step.precision, deployed.model.dtype, self.machine)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The pipeline's stages."""
        return stages(self.deployed)

    def times(self, stage: Stage) -> list[int]:
        """Return how often a stage runs each line."""
        groups = runs(self.deployed.program, stage)
        return [_times(line, groups, stage) for line in self.lines]

    @cached_property
    def seconds(self) -> tuple[float, ...]:
        """Seconds of every stage."""
        return tuple(float(self.backend.combine(self._spent(self.times(stage)))) for stage in self.stages)

    @cached_property
    def slowest(self) -> int:
        """The place of the stage that the others wait for."""
        return max(range(len(self.seconds)), key=lambda at: (self.seconds[at], -at))

    @cached_property
    def share(self) -> dict[str, float]:
        """The part of the slowest stage's seconds that each resource limits."""
        found: dict[str, float] = dict.fromkeys(RESOURCES, 0.0)
        times = self.times(self.stages[self.slowest])
        for line, count in zip(self.lines, times, strict=True):
            found[line.bound] += float(self.backend.combine([line.spent._replace(times=count)]))
        whole = sum(found.values())
        return {name: value / whole if whole else 0.0 for name, value in found.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per kernel and collective of the slowest stage; figures are of all its layers."""
        times = self.times(self.stages[self.slowest])
        return [self._row(line, count) for line, count in zip(self.lines, times, strict=True) if count]

    def _spent(self, times: Sequence[int]) -> list[Spent]:
        return [line.spent._replace(times=count) for line, count in zip(self.lines, times, strict=True)]

    def _row(self, line: Line, times: int) -> dict[str, Any]:
        spent = line.spent
        return {
            "id": line.id,
            "op": line.op,
            "count": times if line.work is None else json_number(self._copies(line.work) * times),
            **({} if line.work is None else self._kernel(line.work, times)),
            **({} if line.move is None else self._collective(line, times)),
            "compute_s": float(spent.compute * times),
            "memory_s": float(spent.memory * times),
            "communication_s": float(spent.communication * times),
            "seconds": float(self.backend.combine([spent._replace(times=times)])),
            "bound": line.bound,
        }

    def _copies(self, work: Work) -> Value:
        return self.deployed.device.copies[work.members[-1]]

    def _kernel(self, work: Work, times: int) -> dict[str, Any]:
        held, steps = self.deployed.device, self.deployed.program.steps
        last = work.members[-1]
        return {
            "members": [steps[index].node.id for index in work.members],
            "shape": [json_number(length) for length in held.shape[last]],
            "layout": held.layouts[last],
            **({"operands": list(work.operands), "runs_in": work.runs_in} if work.operands else {}),
            "matmul_flops": json_number(work.matmul_flops * times),
            "other_flops": json_number(work.other * times),
            "weight_bytes": json_number(work.weight_bytes * times),
            "activation_bytes": json_number(work.activation_bytes * times),
            "kv_bytes": json_number(work.kv_bytes * times),
        }

    def _collective(self, line: Line, times: int) -> dict[str, Any]:
        move, binding = line.move, self.deployed.binding
        assert move is not None
        axes = ["pp"] if line.group == BETWEEN else [axis for axis in move.group if binding[axis] > 1]
        return {
            "group": line.gpus,
            "axes": axes,
            "algorithm": line.algorithm,
            "bytes": json_number(move.bytes * times),
            "sent_bytes": json_number(move.sent * times),
        }


def timed(model: Model, step: StepSize, plan: Plan, gpu: Gpu, family: Family | None = None) -> Timed:
    """Return a step of a model under a plan, in the precision that the GPU can run."""
    precision = deployed_precision(step.precision, model.dtype, gpu)
    return Timed(Deployed(model, replace(step, precision=precision), plan, family or Family()), gpu)


def _times(line: Line, groups: Sequence[int], stage: Stage) -> int:
    if line.group == BEHIND:
        return int(stage.last)
    if line.group == BETWEEN:
        return int(not stage.last)
    # What a stack is entered with was settled by who sent it.
    return int(stage.first) * min(1, groups[line.group]) if line.entry else groups[line.group]
