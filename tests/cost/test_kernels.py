"""What runs as one kernel, and that kernels together do what the tables say: nothing lost, nothing twice."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost.machines import chip
from plans.deployed import DENSE, EXPERTS, FAMILIES, LLAMA, MIXTRAL, PHASES, QWEN_MOE, V2_LITE, V3, model, plans_of
from rooflight import api
from rooflight.api.memory import per_stage
from rooflight.edge.front import models
from rooflight.layout import Plan
from rooflight.pricing import fused

COLUMNS = {
    "matmul_flops": "matmul",
    "other": "other",
    "weight_bytes": "weight_bytes",
    "activation_bytes": "activation_bytes",
    "kv_bytes": "kv_bytes",
}
GPU = chip()
each_phase = pytest.mark.parametrize("phase", PHASES)
each_model = pytest.mark.parametrize("name", [*DENSE, *EXPERTS])


def step_of(name, phase="decode", plan=None, family=None, **sizes):
    bound = model(name)
    return api.timed(bound, api.step_size(bound, phase, **{"context": 64, **sizes}), plan or Plan(), GPU, family)


def close(left, right):
    return isclose(left, right, rel_tol=1e-9)


@each_phase
@pytest.mark.parametrize("drafts", [False, True], ids=["", "drafts"])
@pytest.mark.parametrize("name", sorted(row["id"] for row in models()))
def test_attention_is_one_kernel_of_three(name, phase, drafts):
    program = step_of(name, phase, drafts=drafts).deployed.program
    steps = program.steps
    kernels = [[steps[index].node.op.name for index in members] for members in fused(program)]
    several = [names for names in kernels if len(names) > 1]
    assert several
    first = {"attention_score", "attention_score_picked"}
    assert all(names[0] in first and names[1:] == ["attention_softmax", "attention_apply"] for names in several)
    assert len(several) == sum(step.node.op.name == "attention_apply" for step in steps)


@each_model
@each_phase
def test_every_node_but_a_view_is_in_one_kernel(name, phase):
    timed = step_of(name, phase)
    steps = timed.deployed.program.steps
    members = [index for kernel in fused(timed.deployed.program) for index in kernel]
    assert len(members) == len(set(members))
    left = [steps[index] for index in range(len(steps)) if index not in members]
    assert left
    assert all(step.node.op.view and step.cached is None for step in left)
    for index, step in enumerate(steps):
        if step in left:
            assert not any(getattr(timed.deployed.device, column)[index] for column in COLUMNS.values()), step.node.id


@each_model
@each_phase
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_kernels_do_what_the_tables_say(name, phase, data):
    plan = data.draw(plans_of(name))
    timed = step_of(name, phase, plan, data.draw(st.sampled_from(FAMILIES)), batch=2)
    (stage,) = timed.stages
    rows, times = timed.rows(), timed.times(stage)
    for row, column in COLUMNS.items():
        expected = per_stage(timed.deployed, getattr(timed.deployed.device, column), stage)
        found = sum(
            getattr(line.work, row) * count for line, count in zip(timed.lines, times, strict=True) if line.work
        )
        assert close(found, expected), row
        shown = sum(kernel.get("other_flops" if row == "other" else row, 0) for kernel in rows)
        assert close(shown, expected), row
    device, copies = timed.deployed.device, timed.deployed.facts.group_copies
    sent = sum(c.sent for c in device.ends) + sum(
        c.sent * (1 if c.entry else copies[step.node.group])
        for step, found in zip(timed.deployed.program.steps, device.collectives, strict=True)
        for c in found
    )
    assert close(sum(kernel.get("sent_bytes", 0) for kernel in rows), sent)


@each_model
@each_phase
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_rows_add_up_to_the_step(name, phase, data):
    plan = data.draw(plans_of(name))
    timed = step_of(name, phase, plan, batch=2)
    rows = timed.rows()
    assert len({row["id"] for row in rows}) == len(rows)
    assert close(sum(row["seconds"] for row in rows), max(timed.seconds))
    assert close(sum(timed.share.values()), 1)
    for row in rows:
        assert row["seconds"] == max(row["compute_s"], row["memory_s"], row["communication_s"])
        assert row["seconds"] == row[f"{row['bound']}_s"]
    for resource in api.RESOURCES:
        bound = sum(row["seconds"] for row in rows if row["bound"] == resource)
        assert close(timed.share[resource] * max(timed.seconds), bound)


@pytest.mark.parametrize("pp", [2, 3])
@pytest.mark.parametrize("name", [LLAMA, V3])
def test_rows_are_of_the_slowest_stage(name, pp):
    timed = step_of(name, plan=Plan(pp=pp), batch=2)
    rows = timed.rows()
    assert len(timed.seconds) == pp
    assert close(sum(row["seconds"] for row in rows), max(timed.seconds))
    assert timed.seconds[timed.slowest] == max(timed.seconds)
    together = sum(
        line.work.weight_bytes * count
        for stage in timed.stages
        for line, count in zip(timed.lines, timed.times(stage), strict=True)
        if line.work
    )
    alone = step_of(name, batch=2)
    assert close(together, sum(row.get("weight_bytes", 0) for row in alone.rows()))
    assert sum(timed.times(stage)[-1] for stage in timed.stages) == pp - 1, "the trunk is sent on by all but the last"


@pytest.mark.parametrize("name", EXPERTS)
@each_phase
def test_the_exchange_that_spreads_rows_is_the_kernel_that_spreads_them(name, phase):
    """One line with both; on one GPU nothing is exchanged, and the same kernel stands under its own name."""
    timed, alone = (step_of(name, phase, plan, batch=4) for plan in (Plan(attn_dp=4, ep=4), Plan()))
    steps = timed.deployed.program.steps
    exchanges = [line for line in timed.lines if line.op == "all_to_all"]
    spreading = [step.node.id for step in steps if step.node.op.rows == "spread"]
    assert spreading
    assert [line.id for line in exchanges if line.work is not None] == [f"{node}:all_to_all" for node in spreading]
    assert len(exchanges) == 2 * len(spreading), "and back"
    for line in exchanges:
        assert line.spent.communication > 0
        assert line.move.kind == "all_to_all"
        if line.work is not None:
            assert line.spent.memory > 0
            assert [steps[index].node.id for index in line.work.members] == [line.id.removesuffix(":all_to_all")]
    assert not {line.id for line in timed.lines} & set(spreading)
    assert {line.id for line in alone.lines} >= set(spreading)


@pytest.mark.parametrize("name", [MIXTRAL, QWEN_MOE, V2_LITE])
def test_what_a_row_says_of_an_exchange(name):
    timed = step_of(name, plan=Plan(attn_dp=4, ep=4), batch=4)
    (row, *_) = [row for row in timed.rows() if row["op"] == "all_to_all"]
    assert (row["group"], row["axes"], row["algorithm"]) == (4, ["dp_e"], "one-shot")
    assert row["sent_bytes"] == pytest.approx(row["bytes"] * 3 / 4)
    assert row["communication_s"] == pytest.approx(row["sent_bytes"] / 450e9)


def test_one_gpu_has_no_collectives():
    assert all(line.move is None and line.spent.communication == 0 for line in step_of(V3).lines)
