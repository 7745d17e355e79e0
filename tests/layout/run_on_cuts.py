"""Runs one op on cut arrays, shard by shard, where `follow` wants them, and compares with the whole."""

from typing import NamedTuple

import numpy as np

from layout.mesh_in_numpy import Spread, bring, gather, piece, spread
from layout.ops_in_numpy import INTEGER, REFERENCES, Place, lengths_for
from rooflight.dims import LEADING
from rooflight.layout import Layout, follow

COUNTED = ("heads", "groups")  # names of which a kernel is told how many it has


class Case(NamedTuple):
    """Where an op's operands lie, and the cuts of names that weights decide. Leading axes are two."""

    op: object
    operands: tuple
    declared: dict


def axes_of(op, axes, leading=("lead0", "lead1")):
    """The names of each axis of an operand, leading axes included; a literal 1 has none."""
    return [name for axis in axes for name in ([(one,) for one in leading] if axis == LEADING else [axis])]


def run(mesh, case, follow=follow, seed=0):
    """Compare one case with the whole. AssertionError where a number, a shape or a collective is wrong."""
    op, rng = case.op, np.random.default_rng(seed)
    flow = follow(op, case.operands, case.declared)
    shapes = [axes_of(op, axes) for axes in op.map.inputs]
    output = axes_of(op, op.map.output)
    cut_by = {}
    for layouts, axes in (
        *zip(case.operands, shapes, strict=True),
        *zip(flow.wants, shapes, strict=True),
        (flow.output, output),
    ):
        assert len(layouts.cuts) == len(axes), f"{op.name}: {layouts} for {axes}"
        for cut, names in zip(layouts.cuts, axes, strict=True):
            if names:
                # An output name that no input has follows from the one it carries.
                cut_by.setdefault(op.carries.get(names[0], names[0]), []).append(mesh.size(cut))
    for name, cut in flow.names.items():
        cut_by.setdefault(name, []).append(mesh.size(cut))
    lengths = {"lead0": 2, "lead1": 3} | lengths_for(op, cut_by)
    lengths |= {name: max(n, 2) * int(np.lcm.reduce(cut_by.get(name, [1]))) for name, n in [("lead0", 1), ("lead1", 1)]}
    whole = [
        _operand(rng, op, name, tuple(int(np.prod([lengths[n] for n in names])) for names in axes), lengths)
        for name, axes in zip(op.map.operands, shapes, strict=True)
    ]
    weights = {
        weight.name: rng.normal(size=tuple(int(np.prod([lengths[n] for n in axis])) for axis in weight.axes))
        for weight in op.weights
    }
    everything = Place(dict.fromkeys(lengths, 0) | {f"{name}#": lengths.get(name) for name in COUNTED})
    truth = REFERENCES[op.name](everything, *whole, *weights.values())

    held = []
    for array, layout, want, axes in zip(whole, case.operands, flow.wants, shapes, strict=True):
        parts = tuple(lengths[names[0]] if names else 1 for names in axes)
        held.append(bring(mesh, spread(mesh, array, layout, parts, rng), want))
    parts = []
    for n, names in zip(truth.shape, output, strict=True):
        part = lengths.get(names[0], n) if names else 1
        parts.append(part if part and n % part == 0 else n)
    shards = [_local(mesh, gpu, case, flow, lengths, held, weights) for gpu in mesh.ids]
    found = gather(mesh, Spread(flow.output, shards, truth.shape, tuple(parts)))
    assert np.allclose(found, truth), f"{op.name} of {', '.join(map(str, case.operands))} with {case.declared}"
    return flow


def _local(mesh, gpu, case, flow, lengths, held, weights):
    op = case.op

    def part(name):
        cut = flow.names.get(name, ())
        return piece(lengths[name], lengths[name], mesh.size(cut), mesh.rank(gpu, cut))

    starts = {name: part(name).start for name in lengths if name not in {"lead0", "lead1"}}
    for name in COUNTED:
        if name in lengths:
            mine = part(name)
            starts[f"{name}#"] = mine.stop - mine.start
    # A bias is added once, by the first of those whose results are summed.
    first = all(mesh.gpus[gpu].get(axis, 0) == 0 for axis in flow.output.partial)

    def piece_of(axis):
        """Of a merged axis a piece of its outermost part, with all of the others."""
        mine, inner = part(axis[0]), int(np.prod([lengths[name] for name in axis[1:]]))
        return slice(mine.start * inner, mine.stop * inner)

    arrays = [weights[w.name][tuple(piece_of(axis) if axis else slice(None) for axis in w.axes)] for w in op.weights]
    return REFERENCES[op.name](Place(starts, first), *(one.shards[gpu] for one in held), *arrays)


def _operand(rng, op, name, shape, lengths):
    highest = INTEGER.get((op.name, name))
    if highest is not None:
        return rng.integers(0, lengths.get(highest, highest), shape)
    return rng.normal(size=shape) + (3.0 if op.name == "normalize" else 0.0)


def may_be_owed(op, index):
    """Whether an operand can be a partial sum: whole numbers that name places cannot."""
    return (op.name, op.map.operands[index]) not in INTEGER


def rank_of(op, index):
    return len(axes_of(op, op.map.inputs[index]))


def replicated_case(op):
    return Case(op, tuple(Layout(((),) * rank_of(op, i)) for i in range(len(op.map.inputs))), {})
