"""Laws that one GPU's part of every model keeps, whatever the plan."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.deployed import (
    DENSE,
    EXPERTS,
    FALCON,
    FAMILIES,
    HYBRIDS,
    LLAMA,
    MIXTRAL,
    PHASES,
    QWEN,
    V2_LITE,
    V3,
    part,
    plans_of,
)
from rooflight import derive
from rooflight.derive.storage import copy_bytes
from rooflight.layout import Plan
from rooflight.walk import Family

MODELS = (*DENSE, *EXPERTS, *HYBRIDS)
HEADED = tuple(name for name in (*DENSE, *EXPERTS) if name not in {V2_LITE, V3})  # a latent has no heads to exchange
COLUMNS = ("matmul", "other", "stored_bytes", "weight_bytes", "activation_bytes", "kv_bytes", "cache_bytes")
few = settings(max_examples=5, deadline=None)
each_model = pytest.mark.parametrize("name", MODELS)
each_phase = pytest.mark.parametrize("phase", PHASES)


def close(left, right):
    return isclose(left, right, rel_tol=1e-12)


@each_model
@each_phase
@pytest.mark.parametrize("family", FAMILIES, ids=["gather", "ulysses", "sequence"])
def test_one_gpu_holds_and_does_everything_and_sends_nothing(name, phase, family):
    one = part(name, phase=phase, family=family, batch=2)
    held, facts = one.device, one.facts
    assert held.shape == facts.shape.values
    assert held.matmul == facts.matmul.values
    assert held.other == facts.other.values
    assert list(held.activation_bytes) == derive.activation_bytes(facts)
    assert list(held.kv_bytes) == derive.kv_bytes(facts)
    assert list(held.weight_bytes) == derive.weight_bytes(facts)
    stored = [0 if s.node.tied_to else copy_bytes(facts, i) for i, s in enumerate(one.program.steps)]
    assert list(held.stored_bytes) == stored
    assert [c * facts.group_copies[s.node.group] for c, s in zip(held.copies, one.program.steps, strict=True)] == list(
        facts.copies.values
    )
    assert one.total(held.cache_bytes) == 2 * derive.cache_bytes(facts)
    assert one.sent() == []


@each_model
@each_phase
def test_gpus_that_share_nothing_do_what_one_alone_does(name, phase):
    """Data parallelism with whole experts on every GPU is so many machines."""
    alone, many = part(name, phase=phase, batch=3), part(name, Plan(attn_dp=4), phase, batch=3)
    for column in COLUMNS:
        for step, mine, theirs in zip(
            alone.program.steps, getattr(alone.device, column), getattr(many.device, column), strict=True
        ):
            assert close(mine, theirs), (column, step.node.id)
    assert many.sent() == []


@each_model
@each_phase
@few
@given(data=st.data())
def test_gpus_together_do_and_hold_at_least_the_whole(name, phase, data):
    plan = data.draw(plans_of(name))
    family = data.draw(st.sampled_from(FAMILIES))
    one = part(name, plan, phase, family, batch=2)
    gpus, held, facts = plan.stage_gpus, one.device, one.facts
    moved = [
        (held.weight_bytes, derive.weight_bytes(facts)),
        (held.activation_bytes, derive.activation_bytes(facts)),
        (held.kv_bytes, derive.kv_bytes(facts)),
    ]
    for index, step in enumerate(one.program.steps):
        copies = facts.inner.values[index][0]
        for mine, whole in ((held.matmul, facts.matmul), (held.other, facts.other)):
            together = mine[index] * held.copies[index] * gpus
            assert together >= whole.values[index] * copies or close(together, whole.values[index] * copies), (
                step.node.id
            )
        for mine, whole in moved:
            together = mine[index] * held.copies[index] * gpus
            assert together >= whole[index] * copies or close(together, whole[index] * copies), step.node.id
        stored = copy_bytes(facts, index)
        if step.node.tied_to is None:
            assert held.stored_bytes[index] * held.copies[index] * gpus >= stored * copies, step.node.id
        # Every weight is somewhere: the copies cover all experts, and their pieces (by bytes, above) each weight.
        assert held.copies[index] * (plan.ep if copies != 1 else 1) >= copies


@each_model
@each_phase
@few
@given(data=st.data())
def test_gemms_are_shared_out_without_rest(name, phase, data):
    """Where everything divides, the GPUs' matrix products add up to the whole times how often it is repeated."""
    plan = data.draw(plans_of(name, cp=False))
    one = part(name, plan, phase, batch=2)
    for index, step in enumerate(one.program.steps):
        whole = one.facts.matmul.values[index] * one.facts.inner.values[index][0]
        if not whole:
            continue
        times = one.device.matmul[index] * one.device.copies[index] * plan.stage_gpus / whole
        role = step.node.role
        if role == "expert":
            # Rows are shared out even where experts are repeated; padded formats fill the last block of a width up.
            formats = [one.format for formats in step.node.formats.values() for one in formats]
            block = max((f.block(axis) for f in formats if f.padded for axis in ("in", "out")), default=1)
            width = one.model.dims["d_expert"]
            assert close(times, -(-(width // block) // plan.etp) * block * plan.etp / width), step.node.id
        elif role == "ssm" and step.node.id.endswith((".in_proj", ".scan")):
            # What goes through a group that several GPUs hold is computed by each of them.
            assert 1 - 1e-12 <= times <= max(1, plan.attn_tp / one.model.dims["n_ssm_groups"]) + 1e-12, step.node.id
        elif role == "router" or step.node.id.rpartition(".")[2] in {"q_a_proj", "kv_a_proj_with_mqa"}:
            assert close(times, plan.attn_tp), step.node.id
        elif step.node.id.rpartition(".")[2] in {"k_proj", "v_proj"}:
            assert close(times, max(1, plan.attn_tp / one.model.dims["n_kv_heads"])), step.node.id
        elif role == "head" and one.model.dims["n_vocab"] % plan.attn_tp:  # padded to 64 rows of each GPU
            rows, block = one.model.dims["n_vocab"], 64 * plan.attn_tp
            assert close(times, -(-rows // block) * block / rows), step.node.id
        else:
            assert close(times, 1), step.node.id


@pytest.mark.parametrize("name", EXPERTS)
@each_phase
def test_expert_parallelism_leaves_an_experts_shape_alone(name, phase):
    whole, spread, cut = (
        part(name, plan, phase) for plan in (Plan(), Plan(attn_dp=4, ep=4), Plan(attn_dp=4, ep=2, etp=2))
    )
    seen = 0
    for index, step in enumerate(whole.program.steps):
        if step.node.role != "expert" or not step.stored:
            continue
        seen += 1
        assert spread.device.stored_bytes[index] == whole.device.stored_bytes[index]
        assert spread.device.copies[index] * 4 == whole.device.copies[index]
        assert cut.device.stored_bytes[index] < whole.device.stored_bytes[index]
        assert cut.device.copies[index] * 2 == whole.device.copies[index]
    assert seen


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_the_latent_is_held_whole_under_tensor_parallelism(tp):
    one = part(V3, Plan(attn_tp=tp), "decode", context=1)
    assert one.total(one.device.cache_bytes) == 70_272


def test_data_parallelism_holds_each_latent_once():
    one = part(V3, Plan(attn_dp=8), "decode", context=1)
    assert one.total(one.device.cache_bytes) / 8 == 8_784.0


@pytest.mark.parametrize("name", [LLAMA, QWEN, MIXTRAL])
def test_key_heads_repeat_where_more_gpus_than_heads(name):
    heads = 8
    held = {tp: part(name, Plan(attn_tp=tp), "decode").device for tp in (1, heads // 2, heads, 2 * heads, 4 * heads)}
    one = {tp: sum(h.cache_bytes) for tp, h in held.items()}
    assert one[1] == 4 * one[heads // 2] == heads * one[heads]
    assert one[heads] == one[2 * heads] == one[4 * heads]


@each_model
@each_phase
@pytest.mark.parametrize("other", [Plan(), Plan(attn_dp=2), Plan(cp=2)], ids=["alone", "dp", "cp"])
def test_more_gpus_per_sequence_never_hold_more_each(name, phase, other):
    weights, cache = None, None
    for tp in (1, 2, 4, 8, 16):
        if any(isinstance(n := part(name).model.dims.get(d), int) and n % tp for d in ("n_heads",)):
            break
        one = part(name, other._replace(attn_tp=tp), phase)
        mine, kept = one.total(one.device.stored_bytes), one.total(one.device.cache_bytes)
        assert weights is None or (mine <= weights and kept <= cache)
        weights, cache = mine, kept


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("plan", [Plan(attn_tp=2), Plan(attn_dp=2, attn_tp=2), Plan(attn_tp=2, cp=2)], ids=str)
def test_a_cut_trunk_computes_the_same_and_sends_as_much(name, plan):
    """An all-reduce is a reduce-scatter and an all-gather; only what lies between them is spread out."""
    if "n_experts" in part(name).model.dims:
        plan = plan._replace(ep=1, etp=plan.attn_tp)
    plain, cut = part(name, plan), part(name, plan, family=Family(sequence=True))
    gemms, others = plain.layer(plain.device.matmul), cut.layer(cut.device.matmul)
    spread = {s.node.id for s in plain.program.steps if s.node.role == "router" or "_a_proj" in s.node.id}
    assert {name for name in gemms if not close(gemms[name], others[name])} <= spread  # repeated by a whole trunk
    assert plain.total(plain.device.cache_bytes) == cut.total(cut.device.cache_bytes), "decode reads all of it here"
    shared = {s.node.id for s in plain.program.steps if s.node.op.shares}  # squares of a group, however the trunk lies
    whole = [s for s in plain.sent(entries=False) if s[1] in ("all_reduce", "all_gather") and s[2][0][:2] == "tp"]
    reduced = [s for s in whole if s[0] not in shared]
    halves = [s for s in cut.sent(entries=False) if s[1] in ("reduce_scatter", "all_gather") and s[2][0][:2] == "tp"]
    layers = {s.node.id for s in plain.program.steps if plain.program.graph.groups[s.node.group].layers is not None}
    if "n_experts" not in plain.model.dims:
        sums, parts = (sum(s[3] for s in moves if s[0] in layers) for moves in (reduced, halves))
        # Two mixers that scale the trunk each for itself gather it twice: a half of one of a layer's two reductions.
        assert parts == (sums * 5 / 4 if name == FALCON else sums)
    assert {s[0] for s in cut.sent(entries=False) if s[1] == "all_reduce"} <= shared


@pytest.mark.parametrize("name", HYBRIDS)
@each_phase
@pytest.mark.parametrize("family", FAMILIES, ids=["gather", "ulysses", "sequence"])
def test_a_state_is_cut_by_heads_alone(name, phase, family):
    """GPUs of other positions hold the same state, in either kind of context parallelism."""
    plans = (Plan(attn_tp=2), Plan(attn_tp=2, cp=4), Plan(attn_dp=2, attn_tp=2))
    states = []
    for plan in plans:
        one = part(name, plan, phase, family)
        kept = zip(one.program.steps, one.device.cache_bytes, strict=True)
        states.append({step.node.id: size for step, size in kept if step.node.op.state is not None})
    assert states[0] == states[1] == states[2]
    assert all(states[0].values())


@pytest.mark.parametrize("name", HEADED)
@each_phase
@pytest.mark.parametrize("plan", [Plan(cp=2), Plan(attn_tp=2, cp=2), Plan(attn_dp=2, cp=4)], ids=str)
def test_both_kinds_of_context_parallelism_hold_equal_bytes(name, phase, plan):
    gathered, exchanged = (part(name, plan, phase, family) for family in (Family(), Family(ulysses=True)))
    assert gathered.total(gathered.device.cache_bytes) == exchanged.total(exchanged.device.cache_bytes)
    weights, others = (
        {n: v for n, v in one.layer(one.device.stored_bytes).items() if "probabilities" not in n}  # a sink per head
        for one in (gathered, exchanged)
    )
    assert weights == others
    assert gathered.total(gathered.device.matmul) == pytest.approx(exchanged.total(exchanged.device.matmul), rel=1e-12)
    within = exchanged.sent(entries=False)
    assert {s[1] for s in within if "attention." in s[0]} <= {"all_to_all", "all_gather"}
