"""Every planted fault is seen by the guards its row names and by no other; with those off it slips through."""

import time

import planted
import pytest
from planted import READING, changed, faults, keys_of, library, look, plant, seen

from rooflight.checks import DIAGNOSTICS, GUARDS, examine
from rooflight.spec import locate

ROWS = [pytest.param(fault, id=fault.id) for fault in faults()]
WHOLE = planted.Fault("whole", "", "nothing", (), (), ())


@pytest.mark.parametrize("fault", ROWS)
def test_who_sees_it(fault):
    """Exactly those the row names: a guard that learns to see a fault, or forgets how, moves the row."""
    found = seen(fault.id)
    assert set(found.guards) == set(fault.caught_by), found.codes
    assert set(found.hints) == set(fault.hints), found.codes


# DeepSeek-V3's 91,991 tensors take their time; its rows are told apart by the same code.
QUICK = [
    pytest.param(fault, id=fault.id)
    for fault in faults()
    if fault.caught_by not in ((), (READING,)) and not fault.model.startswith("deepseek-ai/DeepSeek-V3")
]


@pytest.mark.parametrize("fault", QUICK)
def test_it_slips_through_without_those_who_see_it(fault):
    """The real run with guards off: while one of them is on the fault blocks, and with all of them off it does not."""
    subject = plant(fault)
    named = frozenset(fault.caught_by)

    def blocks(skip):
        return any(finding.blocking for finding in examine(subject, frozenset(skip)))

    assert blocks(())
    assert not blocks(named)
    assert all(blocks(named - {guard}) for guard in named)


@pytest.mark.parametrize("model", sorted({fault.model for fault in faults()}))
def test_nothing_is_seen_where_nothing_is_planted(model):
    found = look(plant(WHOLE._replace(model=model)))
    assert (found.guards, found.hints) == ((), ()), found.codes


def test_there_are_enough():
    rows = faults()
    assert len(rows) == len({fault.id for fault in rows}) >= 60
    specs = {library().models[name].name for name in library().models}
    covered = {plant(WHOLE._replace(model=model)).model.spec.name for model in {fault.model for fault in rows}}
    assert covered == specs
    assert len(covered) >= 8


def test_every_guard_alone_catches_something():
    """A guard that no fault needs would be decoration."""
    only = {fault.caught_by[0] for fault in faults() if len(fault.caught_by) == 1}
    assert only >= set(GUARDS)
    assert {hint for fault in faults() for hint in fault.hints} == set(DIAGNOSTICS)


def test_rows_name_those_who_exist():
    for fault in faults():
        assert set(fault.caught_by) <= {*GUARDS, READING}, fault.id
        assert set(fault.hints) <= set(DIAGNOSTICS), fault.id
        assert fault.change, fault.id


def test_honest_rows_are_there():
    assert sum(not fault.caught_by for fault in faults()) >= 10


def test_two_packing_errors_that_cancel_leave_the_bytes():
    """What makes the row worth having: total bytes and elements agree, and the fault is there."""
    for name in ("gpt2-two-dtypes-that-cancel", "deepseek-v3-scale-transposed", "deepseek-v3-fp8-as-bytes"):
        fault = next(fault for fault in faults() if fault.id == name)
        subject = plant(fault)
        claimed = sum(row.bytes for row in subject.claims)
        claimed += sum(row.bytes for row in subject.allowed.values() if subject.stored and row.role == "buffer")
        assert claimed == sum(row.bytes for row in subject.rows), name


def test_a_fault_at_a_place_that_changed_is_no_fault():
    """`old` holds the specs to what a row believes of them: otherwise a row could plant nothing and go unnoticed."""
    data = locate({"a": {"b": ["x", "y"]}}, "f.yaml:1")
    assert changed(data, keys_of("a.b.1"), {"old": "y", "new": "z"}) == {"a": {"b": ["x", "z"]}}
    assert changed(data, keys_of("a.b.0"), {}) == {"a": {"b": ["y"]}}
    assert changed(data, keys_of("a.[c.d]"), {"new": 1}) == {"a": {"b": ["x", "y"], "c.d": 1}}
    assert data == {"a": {"b": ["x", "y"]}}
    with pytest.raises(AssertionError):
        changed(data, keys_of("a.b.1"), {"old": "x", "new": "z"})
    with pytest.raises(AssertionError):
        changed(data, keys_of("a.b"), {"new": "z"})
    with pytest.raises(KeyError):
        changed(data, keys_of("a.c.d"), {"new": "z"})


def test_every_fault_changes_something():
    assert [f.id for f in faults() for c in f.change if "old" in c and c["old"] == c.get("new", ...)] == []


def test_changes_leave_the_specs_as_they_are():
    fault = next(fault for fault in faults() if fault.id == "llama-mask-dropped")
    plant(fault)
    assert library().components["gqa_attention"].graph["scores"].choices == {"mask": "causal"}


def test_the_ablation_is_quick():
    start = time.process_time()
    for fault in faults()[:20]:
        planted.seen.__wrapped__(fault.id)
    assert time.process_time() - start < 20
