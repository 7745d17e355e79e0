"""What a collective takes: the public fault, prices by hand, and bounds that no algorithm beats."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost.machines import HALVES, KINDS, chip, links, placed, span_of
from cost.strategies import linked, priced, spans
from oracles.material import fault
from plans.deployed import LLAMA, model
from rooflight import api
from rooflight.layout import Plan
from rooflight.pricing import ALGORITHMS, Span, cheapest, prices
from rooflight.values import SpecError

MOVES = (*KINDS, "send")
each_kind = pytest.mark.parametrize("kind", KINDS)
some = settings(max_examples=60, deadline=None)


def on_switch(kind, size, gpus, **rates):
    return prices(kind, size, Span((gpus,)), links(**rates), "switch", 8)


def test_one_rank_on_each_host_is_priced_between_hosts():
    """comm-sparse-two-node."""
    given, expected = fault("comm-sparse-two-node")
    hosts, gpus = given["mesh"]
    gpu = chip(
        scale_up_bandwidth=given["inside_gb_per_s"] * 1e9,
        scale_out_bandwidth=given["between_gb_per_s"] * 1e9,
        scale_up_domain=gpus,
    )
    step = api.step_size(model(LLAMA), "decode")
    timed = api.timed(model(LLAMA), step, Plan(attn_dp=hosts, attn_tp=gpus), gpu)
    where = timed.machine.place
    span = span_of(where, "dp_r", "dp_e", "dp_t")
    assert span.counts == (1,) * len(given["group"])
    found = priced("all_reduce", given["message_bytes"], span, timed.machine.rates, where)
    assert round(found["ring"] * 1e6, 1) == expected["time_us"]
    assert found["ring"] * given["between_gb_per_s"] * 1e9 == pytest.approx(expected["bytes_sent_per_rank"])
    # The group inside a host is not: 2 · 7/8 of the message at 450 GB/s.
    inside = priced("all_reduce", given["message_bytes"], span_of(where, "tp_r"), timed.machine.rates, where)
    assert inside["ring"] == pytest.approx(2 * 7 / 8 * given["message_bytes"] / 450e9)


def test_by_hand_on_a_switch():
    """800 bytes, 8 GPUs, 100 B/s and a second: 7 parts of 100 bytes leave each GPU, in each half of an all-reduce."""
    hand = {
        "all_reduce": {"two-shot": 2 + 14, "one-shot": 1 + 56, "ring": 14 + 14, "tree": 2 * 3 + 16},
        "all_gather": {"one-shot": 1 + 7, "ring": 7 + 7},
        "reduce_scatter": {"one-shot": 1 + 7, "ring": 7 + 7},
        "lse_merge": {"one-shot": 1 + 7, "ring": 7 + 7},
        "all_to_all": {"one-shot": 1 + 7},
    }
    assert {kind: on_switch(kind, 800, 8, up=100, up_latency=1) for kind in KINDS} == hand
    assert on_switch("send", 800, 2, up=100, up_latency=1) == {"direct": 1 + 8}


def test_by_hand_over_two_domains():
    """1600 bytes, 2 domains of 8: 8 of a GPU's 15 parts cross at 10 B/s, and 800 bytes' worth is left to sum there."""
    span = Span((8, 8))
    hand = links(up=100, out=10, up_latency=1, out_latency=2)
    # In a domain a half is 1 + 1400/100; between, 200 bytes of 2 GPUs: a ring sends 2 · 100, a tree 2 · 200.
    assert prices("all_reduce", 1600, span, hand, "switch", 8) == {
        "ring": 2 * (15 * 2 + 150),
        "hierarchical": 2 * 15 + (2 * 2 + 20),
    }
    assert prices("all_gather", 1600, span, hand, "switch", 8) == {"ring": 30 + 150, "hierarchical": 15 + (2 + 10)}
    assert prices("all_to_all", 1600, span, hand, "switch", 8) == {"one-shot": 2 + 80}
    assert prices("send", 1600, Span((1, 1)), hand, "switch", 8) == {"direct": 2 + 160}


def test_uneven_domains_wait_for_the_smallest():
    """8 GPUs and 4 send each other 12 parts: one of the 4 sends 8 of them out."""
    found = prices("all_to_all", 1200, Span((8, 4)), links(up=100, out=10), "switch", 8)
    assert found == {"one-shot": 80}
    assert set(prices("all_reduce", 1200, Span((8, 4)), links(), "switch", 8)) == {"ring"}


def test_a_tree_between_hosts_gathers_only_powers_of_two():
    assert set(prices("all_gather", 64, Span((1,) * 4), links(), "switch", 8)) == {"ring", "tree"}
    assert set(prices("all_gather", 64, Span((1,) * 3), links(), "switch", 8)) == {"ring"}


@each_kind
@pytest.mark.parametrize("gpus", [2, 4, 7])
def test_gpus_of_a_mesh_use_the_links_to_each_other_only(kind, gpus):
    """Of eight GPUs with seven links each, n use n − 1 at once, and a ring one."""
    on_mesh = prices(kind, 4200, Span((gpus,)), links(up=700), "mesh", 8)
    switched = prices(kind, 4200, Span((gpus,)), links(up=700), "switch", 8)
    for name, seconds in on_mesh.items():
        assert isclose(seconds, switched[name] * (7 if name == "ring" else 7 / (gpus - 1)))
    assert set(switched) - set(on_mesh) <= {"tree"}


def test_two_gpus_of_eight_exchange_over_one_of_seven_links():
    assert prices("all_to_all", 200, Span((2,)), links(up=700), "mesh", 8) == {"one-shot": 1}
    assert prices("send", 100, Span((2,)), links(up=700), "mesh", 8) == {"direct": 1}
    assert prices("send", 100, Span((1, 1)), links(up=700, out=100), "mesh", 8) == {"direct": 1}


@each_kind
def test_a_whole_mesh_is_as_fast_as_a_switch_at_once(kind):
    on_mesh = prices(kind, 4200, Span((8,)), links(up=700), "mesh", 8)
    switched = prices(kind, 4200, Span((8,)), links(up=700), "switch", 8)
    assert all(on_mesh[name] == switched[name] for name in on_mesh if name != "ring")


@pytest.mark.parametrize("kind", MOVES)
def test_one_gpu_exchanges_nothing(kind):
    assert prices(kind, 1 << 30, Span((1,)), links(), "switch", 8) == {}


def test_the_cheapest_is_taken_and_the_first_of_equals():
    assert cheapest({"ring": 2.0, "two-shot": 1.0, "tree": 3.0}) == ("two-shot", 1.0)
    assert cheapest({"ring": 1.0, "tree": 1.0}) == ("ring", 1.0)


def test_small_messages_go_at_once_and_large_ones_do_not():
    rates = {"up": 450e9, "up_latency": 2e-6}
    assert cheapest(on_switch("all_reduce", 8, 8, **rates))[0] == "one-shot"
    assert cheapest(on_switch("all_reduce", 1 << 30, 8, **rates))[0] == "two-shot"


def test_no_links_between_domains_is_an_error():
    with pytest.raises(SpecError) as caught:
        prices("all_gather", 64, Span((2, 2)), links()._replace(out=None), "switch", 2)
    assert str(caught.value) == (
        "missing-fact at gpu\n"
        "  expected  scale_out_bandwidth in B/s: a group of 4 GPUs stands in 2 domains\n"
        "  got       no such figure in its file\n"
        "  fix       choose fewer GPUs, or add the figure with its source"
    )


@some
@given(spans(), linked(), st.sampled_from(MOVES), st.integers(1, 1 << 30))
def test_twice_the_bytes_take_twice_as_long_where_nothing_is_late(where, rates, kind, size):
    place, span = where
    rates = rates._replace(up=rates.up._replace(latency=0.0), out=rates.out._replace(latency=0.0))
    once, twice = (priced(kind, n, span, rates, place) for n in (size, 2 * size))
    assert set(once) == set(twice) <= set(ALGORITHMS)
    assert all(once.values())
    assert all(isclose(twice[name], 2 * once[name], rel_tol=1e-12) for name in once)


@some
@given(spans(), linked(), linked(), st.sampled_from(MOVES), st.integers(1, 1 << 30))
def test_better_links_never_take_longer(where, one, two, kind, size):
    place, span = where

    def at(pick, latest):
        tiers = zip(one[3:], two[3:], strict=True)
        up, out = (a._replace(bandwidth=pick(a[0], b[0]), latency=latest(a[1], b[1])) for a, b in tiers)
        return priced(kind, size, span, one._replace(up=up, out=out), place)

    worse, better = at(min, max), at(max, min)
    assert all(better[name] <= worse[name] for name in worse)


@some
@given(spans(), linked(), st.sampled_from(KINDS))
def test_nothing_leaves_a_gpu_faster_than_its_links(where, rates, kind):
    """Two bounds that hold for every algorithm without sums in the network, latency or not.

    A GPU sends its contribution to every other part, or receives every other part: size · (n − 1)/n; an all-reduce of n
    GPUs takes 2 · size · (n − 1) transfers, so some GPU sends 2 · size · (n − 1)/n. Between domains the same of a
    domain's GPUs together, whose own parts or sums need not cross.
    """
    place, span = where
    size, gpus, domains = 1 << 20, span.gpus, len(span.counts)
    out = rates.out.bandwidth if domains > 1 else 0
    floors = [size * (gpus - 1) / gpus / (rates.up.bandwidth * (span.counts[0] > 1) + out)]
    if kind == "all_reduce":
        floors = [2 * floors[0]]
    if domains > 1:
        for count in span.counts:
            leaving = (gpus - count) / gpus
            floors += {
                "all_reduce": [2 * size * (domains - 1) / domains / (span.counts[0] * out)],
                "all_to_all": [size * leaving / out],
            }.get(kind, [size * leaving / (count * out)])
    found = priced(kind, size, span, rates, place)
    assert found
    for name, seconds in found.items():
        assert seconds >= max(floors) * (1 - 1e-12), (name, span)


@some
@given(spans(), linked())
def test_a_gather_and_a_scatter_take_as_long(where, rates):
    """Each is the other backwards."""
    place, span = where
    first, *others = (priced(kind, 1 << 20, span, rates, place) for kind in HALVES)
    assert all(other == first for other in others)


@some
@given(spans(), linked())
def test_a_ring_reduces_in_a_scatter_and_a_gather(where, rates):
    place, span = where
    whole, half = (priced(kind, 1 << 20, span, rates, place) for kind in ("all_reduce", "all_gather"))
    for name in {"ring", "torus"} & set(whole):
        assert isclose(whole[name], 2 * half[name], rel_tol=1e-12)


@some
@given(spans(), linked(), st.sampled_from(KINDS))
def test_a_group_with_one_gpu_to_a_domain_sees_the_network_only(where, rates, kind):
    place, span = where
    lone = span._replace(counts=(1,) * span.gpus, lanes=())
    faster = rates._replace(up=rates.up._replace(bandwidth=1e15, latency=0.0))
    found = priced(kind, 1 << 20, lone, rates, place)
    assert found == priced(kind, 1 << 20, lone, faster, place)
    assert min(found.values()) >= (1 << 20) * (span.gpus - 1) / span.gpus / rates.out.bandwidth


def test_sizes_of_a_domain_do_not_matter_to_a_switch():
    assert span_of(placed(8, tp_e=8), "tp_e") == span_of(placed(72, tp_e=8), "tp_e")
