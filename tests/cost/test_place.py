"""Where GPUs stand: domains as full as each other, groups cut by none if that can be, prices by place alone."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost.machines import chip, links, mesh_of, placed, span_of, torus
from cost.strategies import places, priced
from plans.deployed import GPT2, LLAMA, model
from rooflight import api
from rooflight.hardware import Slice
from rooflight.layout import BATCH, CONTEXT, HEADS, NUMBERED, Plan
from rooflight.pricing import Span, place
from rooflight.values import SpecError

some = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize(
    ("domain", "stages", "named", "together"),
    [
        (8, 1, {"tp_e": 8}, 8),
        (8, 1, {"tp_e": 4}, 4),
        (72, 1, {"dp_e": 128}, 64),
        (72, 1, {"dp_e": 16, "tp_e": 8}, 64),
        (72, 1, {"dp_e": 144}, 72),
        (8, 3, {"tp_e": 4}, 8),
        (8, 3, {"dp_e": 2, "tp_e": 2}, 8),
        (8, 1, {"dp_e": 12}, 6),
        (8, 2, {"dp_e": 3, "tp_e": 2}, 6),
        (8, 1, {"tp_e": 16}, 8),
        (1, 1, {"tp_e": 4}, 1),
    ],
    ids=str,
)
def test_gpus_that_stand_together(domain, stages, named, together):
    assert placed(domain, stages, **named).per_domain == together


def test_stages_that_do_not_fill_a_domain_alike():
    """Three stages of four, eight to a domain: two stages stand together, and only one hop leaves the domain."""
    three = placed(8, 3, tp_e=4)
    assert three.spans(("tp_e",)) == (Span((4,)),)
    assert three.hops() == (Span((2,)), Span((1, 1)))
    assert placed(8, 2, tp_e=4).hops() == (Span((2,)),)
    assert placed(8, 2, tp_e=8).hops() == (Span((1, 1)),)


def test_the_hop_that_has_it_worst_decides():
    step = api.step_size(model(LLAMA), "decode", batch=8)
    gpu = chip(scale_up_bandwidth=100e9, scale_out_bandwidth=10e9)
    near, far = (api.timed(model(LLAMA), step, Plan(attn_tp=4, pp=pp), gpu).lines[-1] for pp in (2, 3))
    assert (near.id, far.id) == ("trunk:send", "trunk:send")
    assert far.spent.communication == 8 * 4096 * 2 / 10e9
    assert near.spent.communication == 8 * 4096 * 2 / 100e9
    swapped = chip(scale_up_bandwidth=10e9, scale_out_bandwidth=100e9)
    (slow,) = api.timed(model(LLAMA), step, Plan(attn_tp=4, pp=3), swapped).lines[-1:]
    assert slow.spent.communication == 8 * 4096 * 2 / 10e9, "whichever of them comes first"


def test_the_group_that_has_it_worst_decides():
    """Five groups of three, eight GPUs to a domain: the third is cut, and everyone waits for it."""
    step = api.step_size(model(GPT2), "decode")
    timed = api.timed(model(GPT2), step, Plan(attn_dp=5, attn_tp=3), chip())
    where = timed.machine.place
    whole, cut = where.spans(("tp_r",))
    assert (whole, cut) == (Span((3,)), Span((2, 1)))
    reduced = [line for line in timed.lines if line.op == "all_reduce"]
    assert reduced
    for line in reduced:
        near, far = (min(priced("all_reduce", line.move.bytes, s, links(), where).values()) for s in (whole, cut))
        assert line.spent.communication == far > near
        assert line.algorithm == "ring"


@some
@given(places(), st.integers(1, 4))
def test_as_few_domains_as_will_do(where, stages):
    where.stages, where.known = stages, {}
    together = where.per_domain
    assert 1 <= together <= where.domain
    assert -(-where.gpus // together) == -(-where.gpus // where.domain)
    spans = [*where.hops(), *where.spans(NUMBERED), *where.spans(("tp_e",))]
    assert all(list(one.counts) == sorted(one.counts, reverse=True) and one.counts[0] <= together for one in spans)
    assert {one.gpus for one in where.spans(("tp_e",))} == {where.degrees["tp_e"]}
    assert {one.gpus for one in where.spans(NUMBERED)} == {where.stage}


MACHINES = (
    {"domain": 8},
    {"domain": 72},
    {"domain": 16, "topology": "torus", "slices": (Slice((4, 4), (True, False)),)},
)


@some
@given(st.data())
def test_how_a_degree_is_factored_is_no_matter(data):
    """Each degree of a plan over its mesh axes in any way, with ones in between."""
    sizes = tuple(data.draw(st.sampled_from((1, 2, 3, 4, 6, 8))) for _ in range(3))
    parts = (BATCH, CONTEXT, HEADS)
    named = {}
    for axes, size in zip(parts, sizes, strict=True):
        left = size
        for axis in axes[:-1]:
            named[axis] = data.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
            left //= named[axis]
        named[axes[-1]] = left
    on = data.draw(st.sampled_from(MACHINES))
    whole, factored = placed(**on, dp_r=sizes[0], cp_r=sizes[1], tp_t=sizes[2]), placed(**on, **named)
    for axes, alone in zip((*parts, NUMBERED), ("dp_r", "cp_r", "tp_t", NUMBERED), strict=True):
        spans = factored.spans(axes)
        assert set(spans) == set(whole.spans(NUMBERED if alone == NUMBERED else (alone,)))
        assert spans == factored.spans(tuple(axis for axis in axes if named[axis] > 1))
        for span in spans:
            assert priced("all_reduce", 1 << 20, span, links(), factored) == priced(
                "all_reduce", 1 << 20, span, links(), whole
            )


@some
@given(st.permutations([1, 1, 1, 2, 2, 2, 4, 8]), st.sampled_from([8, 16, 64]))
def test_all_gpus_of_a_stage_in_any_order_of_the_degrees(order, domain):
    one = placed(domain, **dict(zip(NUMBERED, order, strict=True)))
    other_way = placed(domain, **dict(zip(NUMBERED, order[::-1], strict=True)))
    assert one.spans(NUMBERED) == other_way.spans(NUMBERED) == (Span((domain,) * (256 // domain)),)


def test_groups_that_share_heads_stay_in_one_domain():
    """Three groups of four, eight GPUs to a domain: two of them stand together, instead of one and a half."""
    assert placed(8, dp_e=3, tp_e=4).per_domain == 8
    assert placed(8, dp_e=3, tp_e=4).spans(("tp_e",)) == (Span((4,)),)


@pytest.mark.parametrize("gpu", [chip(), chip(scale_up_domain=4), chip(topology="mesh")], ids=["8", "4", "mesh"])
def test_experts_meet_the_same_gpus_by_any_plan(gpu):
    """All GPUs of a stage exchange rows: eight to a domain cost the same however attention is cut over them."""
    spans = {
        place(gpu, api.Deployed(model(LLAMA), api.step_size(model(LLAMA)), plan).degrees, 1).spans(NUMBERED)
        for plan in (Plan(16), Plan(2, 8), Plan(8, 2), Plan(1, 16), Plan(4, 2, 2), Plan(2, 2, 4))
    }
    assert len(spans) == 1


def test_more_gpus_than_one_domain_need_a_network():
    alone = chip(scale_out_bandwidth=None)
    assert place(alone, mesh_of(tp_e=8), 1).gpus == 8
    with pytest.raises(SpecError) as caught:
        place(alone, mesh_of(tp_e=8), 2)
    assert str(caught.value) == (
        "missing-fact at gpu Made up\n"
        "  expected  scale_out_bandwidth in B/s: 16 GPUs stand in domains of 8\n"
        "  got       no such figure in its file\n"
        "  fix       choose at most 8 GPUs, or add the figure with its source"
    )


def test_two_gpus_need_links():
    with pytest.raises(SpecError) as caught:
        place(chip(scale_up_bandwidth=None), mesh_of(tp_e=2), 1)
    assert str(caught.value) == (
        "missing-fact at gpu Made up\n"
        "  expected  scale_up_bandwidth in B/s, to say how long GPUs exchange\n"
        "  got       no such figure in its file\n"
        "  fix       add scale_up_bandwidth with its source"
    )
    assert place(chip(scale_up_bandwidth=None), mesh_of(), 1).gpus == 1


def test_without_a_domain_every_gpu_stands_alone():
    alone = place(chip(scale_up_domain=None, scale_up_bandwidth=None), mesh_of(tp_e=4), 1)
    assert span_of(alone, "tp_e") == Span((1, 1, 1, 1))


def test_a_torus_holds_what_its_largest_slice_holds():
    """Of a domain only the shapes that are rented count."""
    shapes = (Slice((2, 2), (False, False)), Slice((4, 4), (True, True)))
    gpu = chip(topology="torus", slices=shapes, scale_up_domain=20)
    assert place(gpu, mesh_of(tp_e=16), 1).domain == 16
    assert place(gpu, mesh_of(tp_e=32), 1).per_domain == 16


def test_counts_are_of_a_torus_too():
    two = torus(4, 4, dp_e=2, tp_e=16)
    assert two.per_domain == 16
    assert span_of(two, "dp_e") == Span((1, 1))
    assert span_of(two, "dp_e", "tp_e").counts == (16, 16)
    assert prod(lane.extent for lane in span_of(two, "dp_e", "tp_e").lanes) == 16
