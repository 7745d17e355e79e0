"""Another way of pricing is another object: nothing else has to know."""

import pytest

from cost.machines import chip, mesh_of
from plans.deployed import LLAMA, V3, model
from rooflight import api
from rooflight.layout import Plan
from rooflight.pricing import BACKENDS, Rates, SpeedOfLight, Spent, Work, place, rates
from rooflight.values import SpecError

GPU = chip([("BF16", 1e15), ("F8_E4M3", 2e15)], scale_up_latency=2e-6)
LIGHT = BACKENDS["sol"]


class Overlapping(SpeedOfLight):
    """Everything at the same time: a step takes what its busiest resource takes, and twice that for its matrix work."""

    name = "overlapping"

    def kernel(self, work, rates):
        found = super().kernel(work, rates)
        return found._replace(compute=2 * found.compute)

    def collective(self, kind, size, span, rates, place):
        return {"by pigeon": 1.0} if span.gpus > 1 else {}

    def combine(self, spent):
        return max(sum(float(getattr(one, name)) * one.times for one in spent) for name in api.RESOURCES)


def timed(name, plan, backend, phase="decode"):
    bound = model(name)
    deployed = api.Deployed(bound, api.step_size(bound, phase, batch=2, context=64), plan)
    return api.Timed(deployed, GPU, backend)


@pytest.mark.parametrize(("name", "plan"), [(LLAMA, Plan(attn_tp=4)), (V3, Plan(attn_dp=4, ep=4))])
def test_a_made_up_backend_prices_a_step(name, plan):
    light, mine = timed(name, plan, LIGHT), timed(name, plan, Overlapping())
    moved = [line for line in mine.lines if line.move is not None]
    assert moved
    assert all((line.spent.communication, line.algorithm) == (1.0, "by pigeon") for line in moved)
    (stage,) = mine.stages
    sums = dict.fromkeys(api.RESOURCES, 0.0)
    for line, before, times in zip(mine.lines, light.lines, mine.times(stage), strict=True):
        assert line.id == before.id
        assert line.spent.memory == before.spent.memory
        assert line.spent.compute == 2 * before.spent.compute
        for resource in api.RESOURCES:
            sums[resource] += float(getattr(line.spent, resource)) * times
    assert mine.seconds == (max(sums.values()),)
    assert sum(mine.share.values()) == pytest.approx(1)
    assert {row["algorithm"] for row in mine.rows() if "algorithm" in row} == {"by pigeon"}


def test_a_name_in_the_table_is_all_an_estimate_needs(monkeypatch):
    monkeypatch.setitem(BACKENDS, "overlapping", Overlapping())
    light, mine = (
        api.Estimate(model(LLAMA), GPU, Plan(attn_tp=4), api.Ask(batch=2, backend=name)) for name in BACKENDS
    )
    assert mine.decode.backend.name == "overlapping"
    assert mine.step_seconds != light.step_seconds
    assert mine.prefill.backend is mine.decode.backend is mine.saturated.backend


def test_an_unknown_backend_is_refused():
    with pytest.raises(SpecError) as caught:
        api.Estimate(model(LLAMA), GPU, Plan(), api.Ask(backend="so"))
    assert str(caught.value) == (
        "bad-step at backend\n  expected  one of sol\n  got       so\n  fix       you may have intended sol"
    )


def test_the_speed_of_light_by_hand():
    """100 FLOPs of BF16 and 100 of F8 at 10 and 20, 90 others at 30 at the same time, 70 bytes at 7; then exchanges."""
    work = Work((0,), ("BF16", "BF16"), "BF16", (("BF16", 100), ("F8_E4M3", 100)), 90, 40, 20, 10)
    spent = LIGHT.kernel(work, Rates({"BF16": 10.0, "F8_E4M3": 20.0}, 30.0, 7.0, None, None))
    assert spent == Spent(15, 10, 0)
    assert spent.longest == 15
    assert LIGHT.kernel(work, Rates({"BF16": 10.0, "F8_E4M3": 20.0}, 5.0, 7.0, None, None)).compute == 18
    assert LIGHT.kernel(work, Rates({"BF16": 10.0, "F8_E4M3": 20.0}, None, 7.0, None, None)).compute == 15
    assert LIGHT.combine([Spent(15, 10, 0, 2), Spent(0, 1, 5, 3)]) == 45


def test_the_speed_of_light_takes_every_algorithm():
    where = place(GPU, mesh_of(tp_e=8), 1)
    (span,) = where.spans(("tp_e",))
    assert set(LIGHT.collective("all_reduce", 800, span, rates(GPU), where)) == {"one-shot", "two-shot", "ring", "tree"}
