"""Laws of what a GPU holds: what one GPU gathers, which requests fit, how stages share layers."""

import pytest

from plans.deployed import LLAMA, MIXTRAL, QWEN_MOE, TIED, V2_LITE, V3, fixture_gpu, model
from rooflight import api
from rooflight.api.memory import Deployed, per_stage, stages
from rooflight.derive.device import peak_activations
from rooflight.layout import Plan
from rooflight.walk import Family

BIG = 1 << 40


def held(name, plan, capacity=BIG, tokens=(1_024, 1_024), **more):
    return api.memory(model(name), plan, capacity, input_tokens=tokens[0], output_tokens=tokens[1], **more)


@pytest.mark.parametrize("name", [LLAMA, MIXTRAL, QWEN_MOE, V2_LITE, V3])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_one_gpu_gathers_nothing(name, phase):
    """Live activations of one GPU are those of its tensors, whichever collectives other degrees would need."""
    step = api.step_size(model(name), phase, context=1_024)
    peaks = set()
    for family in (Family(), Family(ulysses=True), Family(sequence=True), Family(argmax=True)):
        one = Deployed(model(name), step, Plan(), family)
        bare = one.device._replace(collectives=tuple(() for _ in one.device.collectives))
        peaks.add(peak_activations(one.program, one.device))
        assert peak_activations(one.program, bare) in peaks
    assert len(peaks) == 1


@pytest.mark.parametrize(("name", "pp"), [(TIED, 5), (LLAMA, 3), (V3, 4)])
def test_stages_are_as_even_as_the_heaviest_lets_them_be(name, pp):
    """No layer can move to a neighbour stage and leave the sum of squares smaller and the heaviest no heavier."""
    found = held(name, Plan(pp=pp))["stages"]
    weights = [stage["weights_bytes"] for stage in found]
    heaviest, squares = max(weights), sum(w * w for w in weights)
    deployed = Deployed(model(name), api.step_size(model(name), "prefill", context=64), Plan(pp=pp))
    per_layer = {
        at: sum(
            deployed.device.stored_bytes[i] * deployed.device.copies[i]
            for i, s in enumerate(deployed.program.steps)
            if s.node.group == at
        )
        for at, group in enumerate(deployed.program.graph.groups)
        if group.layers
    }
    light = min(per_layer.values())
    assert sum(stage["layers"] for stage in found) == sum(sum(s.layers.values()) for s in stages(deployed))
    for give in range(pp):
        for take in (give - 1, give + 1):
            if 0 <= take < pp and found[give]["layers"] > 1 and len(per_layer) == 1:
                moved = list(weights)
                moved[give] -= light
                moved[take] += light
                assert max(moved) > heaviest or sum(w * w for w in moved) >= squares


def test_what_cannot_be_prefilled_does_not_fit():
    room = held(LLAMA, Plan(), 180 << 30, tokens=(1_000_000, 1), usable=1.0)
    assert room["max_batch_prefill"] == 0
    assert not room["fits"]


@pytest.mark.parametrize("plan", [Plan(pp=4), Plan(attn_tp=2, pp=3)])
def test_every_stage_says_what_it_holds(plan):
    found = held(LLAMA, plan)
    room = found["usable_bytes"] - found["reserve_bytes"]
    for stage in found["stages"]:
        each = stage["kv_bytes_per_request"] + found["activation_bytes_per_request"]["decode"]
        assert stage["max_batch_decode"] == int((room - stage["weights_bytes"]) // each)
    assert found["max_batch_decode"] == min(stage["max_batch_decode"] for stage in found["stages"])


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("name", [LLAMA, TIED, V3])
@pytest.mark.parametrize("pp", [1, 2, 4])
def test_kernels_are_of_the_slowest_stage(name, phase, pp):
    """Its rows count its own layers; it sends the trunk on unless it is the last, which alone has the head."""
    deployed = Deployed(model(name), api.step_size(model(name), phase, context=64), Plan(pp=pp))
    timed = api.Timed(deployed, fixture_gpu())
    parts, at = stages(deployed), timed.slowest
    found = timed.rows()
    rows = {row["id"]: row for row in found}
    columns = ("weight_bytes", "kv_bytes", "activation_bytes")
    moved = sum(row.get(column, 0) for row in found for column in columns)
    assert moved == pytest.approx(
        sum(float(per_stage(deployed, getattr(deployed.device, column), parts[at])) for column in columns)
    )
    assert sum(row["seconds"] for row in found) == pytest.approx(max(timed.seconds))
    assert ("trunk:send" in rows) == (at < pp - 1)
    assert ("lm_head.proj" in rows) == (at == pp - 1)
    assert ("embed_tokens.table" in rows) == (at == 0)
    layers = {row["count"] for node, row in rows.items() if node.endswith(".attention.o_proj")}
    assert sum(layers) == sum(parts[at].layers.values())


def test_a_reserve_is_room_for_fewer_requests():
    free, kept = held(LLAMA, Plan(), 80 << 30), held(LLAMA, Plan(), 80 << 30, reserve_bytes=10 << 30)
    each = free["kv_bytes_per_request"] + free["activation_bytes_per_request"]["decode"]
    assert kept["reserve_bytes"] == 10 << 30
    assert 0 <= free["max_batch_decode"] - kept["max_batch_decode"] - (10 << 30) // each <= 1
