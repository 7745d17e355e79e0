"""Faults planted in `follow`, in the flags of ops and in `redistribute`: running ops on cut arrays sees each."""

import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import rooflight.layout
from layout.mesh_in_numpy import Mesh, bring, gather, spread
from layout.ops_in_numpy import REFERENCES
from layout.run_on_cuts import Case, run
from layout.test_ops_on_cut_arrays import FLOWS, cases_over_one_axis
from layout.test_redistribute import KNOWN, layouts
from rooflight.layout import Layout, follow
from rooflight.ops import OPS

ONE, TWO, THREE = "tp_r", "dp_r", "cp_r"
FOLLOW_FILE, LAYOUT_FILE = (Path(rooflight.layout.__file__).with_name(name) for name in ("follow.py", "layout.py"))


def with_fault(file, old, new):
    """A module with one piece of its text replaced. The piece must stand in it once."""
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    sys.modules["planted"] = changed = ModuleType("planted")  # records look for the module they stand in
    exec(compile(text.replace(old, new), file, "exec"), changed.__dict__)
    del sys.modules["planted"]
    return changed


def caught(follow, ops):
    """Ops whose arrays come out wrong, over one mesh axis or in the cases that need two; found one by one."""
    for op in ops:
        for mesh, case in [*over_two_axes(op), *((Mesh({ONE: 2}), case) for case in cases_over_one_axis(op))]:
            try:
                run(mesh, case, follow)
            except (AssertionError, ValueError, IndexError, KeyError, RuntimeWarning):
                yield op.name
                break


def over_two_axes(op):
    """Sums owed over different axes meet; a cut nests in another; two operands are cut by the same axis elsewhere."""
    mesh = Mesh({TWO: 2, ONE: 2})
    if op.name == "add":
        one, two = (Layout(((), ()), frozenset({axis})) for axis in (ONE, TWO))
        yield mesh, Case(op, (one, two), {})
    if op.name == "multiply":
        yield mesh, Case(op, (Layout(((ONE,), ())), Layout(((), (ONE,)))), {})
        yield mesh, Case(op, (Layout(((TWO, ONE), ())), Layout(((ONE, TWO), ()))), {})
    if op.name == "linear":
        yield mesh, Case(op, (Layout(((ONE,), (), (TWO,))),), {"in": (ONE,)})


def test_nothing_is_caught_where_nothing_is_wrong():
    assert list(caught(follow, [OPS[name] for name in REFERENCES])) == []


FOLLOW = {
    "a mesh axis cuts two axes of an op": ("        used.update(mine)\n", ""),
    "a contracted cut owes nothing": (
        "axis for name in (brought | weights) - given - set(op.carries.values()) for axis in names.get(name, ())",
        'axis for name in ("?",) for axis in names.get(name, ())',
    ),
    "a weight's contracted cut owes nothing": ("(brought | weights) - given", "brought - given"),
    "a carried axis owes a sum": (" - set(op.carries.values())", ""),
    "a sum passes through what is not linear": ("    if not op.additive:\n", "    if False:\n"),
    "a whole value stands beside a sum that is owed": ("len(operands) > 1 and not all(owed)", "False"),
    "a sum stays owed over what cuts the op": ("layout.partial - busy", "layout.partial"),
    "an owed sum is forgotten": (
        "return _Owed(tuple(passed for _ in operands), passed | frozenset(contracted))",
        "return _Owed(tuple(passed for _ in operands), frozenset(contracted))",
    ),
    "only the first operand's sum is passed on": ("for mine in owed for axis in mine", "for axis in owed[0]"),
    "an inner part of a merged axis is cut": (
        "for axes in (*op.map.inputs, op.map.output) for axis in axes for name in axis[1:]",
        "for axes in op.map.inputs for axis in axes for name in axis[1:]",
    ),
    "a merged axis is cut where its inner part was": (
        "names.get(axis[0], ()) if axis",
        "names.get(axis[-1], ()) if axis",
    ),
    "an axis that must be whole is cut": (
        "names[axis[0]] = () if axis[0] in whole else take(cut)",
        "names[axis[0]] = take(cut)",
    ),
    "leading axes are left where they are": ("leading = tuple(take(cut) for cut in front)", "leading = tuple(front)"),
    "leading axes are not asked of the second operand": (
        "*(front if axes[:1] == (LEADING,) else ())",
        "*(operands[i].cuts[: len(front)] if axes[:1] == (LEADING,) else ())",
    ),
    "an output axis that carries another's cut is whole": (
        "    names |= {name: names.get(source, ()) for name, source in op.carries.items()}\n",
        "    names |= dict.fromkeys(op.carries, ())\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), FOLLOW.values(), ids=FOLLOW)
def test_a_fault_in_follow_is_seen(old, new):
    faulty = with_fault(FOLLOW_FILE, old, new).follow
    if all(faulty(op, have, {})[:2] == flow for op, have, flow in FLOWS.values()):
        assert next(caught(faulty, [OPS[name] for name in REFERENCES]), None) is not None


FLAGS = {
    "silu passes a sum on": ("silu", {"additive": True}),
    "multiply passes a sum on": ("multiply", {"additive": True}),
    "a norm of a part of its width": ("rms_norm", {"whole": ()}),
    "softmax over a part of its axis": ("softmax", {"whole": ()}),
    "the largest of a part": ("top_k", {"whole": ()}),
    "rotary pairs across a cut": ("rope", {"whole": ()}),
    "scores over a part of the head": ("attention_softmax", {"whole": ()}),
    "a plain slice of fused heads": ("slice", {"whole": (), "carries": {"to": "from"}}),
    "a slice of the last positions of a part": ("select_positions", {"whole": ()}),
    "concat across a cut": ("concat", {"whole": ()}),
    "fused halves whose cut is lost": ("clamped_swiglu", {"carries": {}}),
    "a group's scores are of a part": ("keep_groups", {"whole": ()}),
    "a place in a part": ("pick", {"whole": ()}),
}


@pytest.mark.parametrize(("name", "change"), FLAGS.values(), ids=FLAGS)
def test_a_wrong_flag_is_seen(name, change):
    assert list(caught(follow, [OPS[name]._replace(**change)])) == [name]


REDISTRIBUTE = {
    "an outer cut is gathered alone": (
        "return tuple(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], zip(cut, aim, strict=False)))",
        "return tuple(mine for mine in cut if mine in aim)",
    ),
    "an axis comes without its place in the nest": ("if aim[: len(held)] != held:", "if not aim:"),
    "a slice is taken of a sum that is owed": ("busy = partial.union(*cuts)", "busy = frozenset().union(*cuts)"),
    "a slice is taken of what is cut elsewhere": ("busy = partial.union(*cuts)", "busy = partial"),
    "a sum is scattered but still owed": ("partial -= frozenset(group)", "pass"),
    "a sum is never paid": ("owed = partial - want.partial", "owed = partial - partial"),
    "pieces are never gathered": ("    if gone:", "    if not gone:"),
    "an exchange of what is not innermost": (
        "if group and cuts[source][-len(group) :] == group:",
        "if group:",
    ),
    "an exchange that leaves the source cut": ("cuts[source] = cuts[source][: -len(group)]", "pass"),
    "a sum that should stay owed is paid": ("owed = partial - want.partial", "owed = partial"),
    "a scatter of a sum that should stay owed": (
        "comes(index, partial - want.partial)",
        "comes(index, frozenset(AXES))",
    ),
}


@pytest.mark.parametrize(("old", "new"), REDISTRIBUTE.values(), ids=REDISTRIBUTE)
def test_a_fault_in_redistribute_is_seen(old, new):
    faulty = with_fault(LAYOUT_FILE, old, new).redistribute
    if any(list(faulty(have, want)) != moves for have, want, moves in KNOWN.values()):
        return
    mesh, whole = Mesh({TWO: 2, ONE: 2, THREE: 2}), np.arange(64.0).reshape(8, 8)
    for have, want in product(layouts((TWO, ONE, THREE), 2), repeat=2):
        held = spread(mesh, whole, have, rng=np.random.default_rng(0))
        try:
            found = bring(mesh, held, want, faulty(have, want))
            assert np.array_equal(gather(mesh, found), whole)
        except (AssertionError, ValueError, IndexError):
            return
    pytest.fail("no pair of layouts shows the fault")
