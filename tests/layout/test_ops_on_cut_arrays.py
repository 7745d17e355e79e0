"""Every op, on arrays cut in every way the algebra allows, computes what it computes on the whole."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.mesh_in_numpy import Mesh
from layout.ops_in_numpy import DECLARED, EXCHANGED, REFERENCES
from layout.run_on_cuts import Case, may_be_owed, rank_of, run
from layout.test_redistribute import layouts
from rooflight.layout import Layout, follow
from rooflight.ops import OPS

ONE, TWO, THREE = "tp_r", "dp_r", "cp_r"
each_op = pytest.mark.parametrize("op", [OPS[name] for name in REFERENCES], ids=list(REFERENCES))


def test_every_op_has_a_reference_or_moves_rows_by_content():
    assert set(OPS) == set(REFERENCES) | EXCHANGED


def placements(op, axes):
    """Every layout of each operand over mesh axes."""
    return [
        [one for one in layouts(axes, rank_of(op, i)) if may_be_owed(op, i) or not one.partial]
        for i in range(len(op.map.inputs))
    ]


def declarations(op, axes):
    """Every way to cut the names that weights decide."""
    groups = [(), *((axis,) for axis in axes)]
    names = DECLARED.get(op.name, ())
    for cuts in product(groups, repeat=len(names)):
        used = [axis for cut in cuts for axis in cut]
        if len(used) == len(set(used)):
            yield {name: cut for name, cut in zip(names, cuts, strict=True) if cut}


def cases_over_one_axis(op):
    for operands in product(*placements(op, (ONE,))):
        for declared in declarations(op, (ONE,)):
            yield Case(op, operands, declared)


@each_op
def test_every_placement_over_one_mesh_axis(op):
    mesh = Mesh({ONE: 2})
    for case in cases_over_one_axis(op):
        run(mesh, case)


@each_op
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_placements_over_three_mesh_axes(op, data):
    degrees = {axis: data.draw(st.integers(1, 3)) for axis in (TWO, ONE, THREE)}
    operands = tuple(data.draw(st.sampled_from(one)) for one in placements(op, (TWO, ONE, THREE)))
    declared = data.draw(st.sampled_from(list(declarations(op, (TWO, ONE, THREE)))))
    run(Mesh(degrees), Case(op, operands, declared))


# What arrays cannot show, because it is right either way and only dearer: where a sum is paid.
W, S = Layout(((), ())), Layout(((ONE,), ()))
P = Layout(((), ()), frozenset({ONE}))
Q = Layout(((), ()), frozenset({TWO}))
BOTH = Layout(((), ()), frozenset({ONE, TWO}))
FLOWS = {
    "two sums owed over one axis stay owed: one reduction for both": (OPS["add"], (P, P), ((P, P), P)),
    "two sums owed over two axes stay owed": (OPS["add"], (P, Q), ((BOTH, BOTH), BOTH)),
    "a sum that meets the trunk is paid": (OPS["add"], (W, P), ((W, W), W)),
    "a sum that meets a cut trunk is paid in slices": (OPS["add"], (S, P), ((S, S), S)),
    "a view passes a sum on": (OPS["add_axis"], (P,), ((P,), Layout(((), (), ()), frozenset({ONE})))),
    "what is not linear waits for the sum": (OPS["silu"], (P,), ((W,), W)),
    "a product of two sums is no sum": (OPS["multiply"], (P, P), ((W, W), W)),
}


@pytest.mark.parametrize(("op", "have", "flow"), FLOWS.values(), ids=FLOWS)
def test_where_a_sum_is_paid(op, have, flow):
    assert follow(op, have, {})[:2] == flow
