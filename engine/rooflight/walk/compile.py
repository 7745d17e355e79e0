"""Compiles a graph: shapes flow along the edges, and every op's record becomes slots of straight-line code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rooflight.dims import LEADING
from rooflight.expr import names, print_tree
from rooflight.graph import POSITIONS, TOKENS
from rooflight.values import SpecError
from rooflight.walk.code import FUNCTIONS, Code
from rooflight.walk.program import Cached, Check, Counting, Program, Step, Stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.dims import Axes
    from rooflight.graph import Graph, Instance, Kept, Node
    from rooflight.walk.code import Slot

Shape = tuple["Slot", ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value on an edge, as its readers see it.

    cache     the index of the node whose cache it is read from, if any
    on_chip   whether it never leaves the kernel that made it
    pairs     (query, key) pairs of one head and sequence, behind a mask
    """

    shape: Shape
    cache: int | None = None
    on_chip: bool = False
    pairs: Slot | None = None


def compile_graph(graph: Graph, counting: Counting | None = None) -> Program:
    """Return the Program of a graph. Raises SpecError where ranks cannot meet; lengths are compared later, by value."""
    return _Compiler(graph, counting or Counting()).run()


class _Compiler:
    def __init__(self, graph: Graph, counting: Counting) -> None:
        self.graph = graph
        self.counting = counting
        self.code = Code()
        self.batch, self.new, self.held = (self.code.symbol(name) for name in ("B", "s_q", "s_kv"))
        self.tensors: dict[int, Tensor] = {TOKENS: Tensor((self.batch, self.new)), POSITIONS: Tensor((self.new,))}
        self.steps: list[Step] = []
        self.checks: list[Check] = []
        self.reads: set[tuple[int, str]] = set()

    def run(self) -> Program:
        code, graph = self.code, self.graph
        for index, node in enumerate(graph.nodes):
            self.steps.append(self._step(index, node))
        counts = tuple(code.lower(group.count, {}) for group in graph.groups)
        for seam in graph.seams:
            enters, leaves = self.tensors[seam.enters], self.tensors[seam.leaves]
            self._same_rank(leaves.shape, enters.shape, seam.where, f"stream {seam.stream}")
            for want, have in zip(enters.shape, leaves.shape, strict=True):
                self._check(want, have, "stream-shape", seam.where, f"stream {seam.stream}", "",
                            "a block must give the stream the shape it took")  # fmt: skip
        self._check_ties()
        invariants = tuple(check for instance in graph.instances for check in self._invariants(instance))
        return Program(
            graph=graph,
            counting=self.counting,
            symbols={entry[1]: slot for slot, entry in enumerate(code.entries) if entry[0] == "symbol"},
            start=tuple(entry[1] if entry[0] == "constant" else None for entry in code.entries),
            run=tuple(
                (slot, FUNCTIONS[entry[0]], entry[1:])
                for slot, entry in enumerate(code.entries)
                if entry[0] not in ("symbol", "constant")
            ),
            steps=tuple(self.steps),
            counts=counts,
            checks=tuple(self.checks),
            invariants=invariants,
        )

    # ------------------------------------------------------------------------------------------------ one node

    def _step(self, index: int, node: Node) -> Step:
        code, op = self.code, node.op
        inputs = [self.tensors[source] for source in node.inputs]
        known, rows, lead = self._solve(node, inputs)
        shape = tuple(slot for axis in op.map.output for slot in (lead if axis == LEADING else [self._axis(axis, known)]))
        pairs = self._pairs(node, inputs, known)
        local: dict[str, Slot] = {**known, "rows": rows}
        if pairs is not None:
            local["pairs"] = pairs
        local |= {name: code.constant(int(on)) for name, on in node.switches.items()}
        stored = tuple(
            Stored(weight.name, axes, code.product(axes))
            for weight in op.weights
            if weight.switch is None or node.switches[weight.switch]
            for axes in [tuple(self._axis(axis, known) for axis in weight.axes)]
        )
        elements = code.sum([weight.elements for weight in stored])
        zero = code.constant(0)
        moved = not op.view or node.kept is not None  # keeping a view means copying it into the cache
        reads = [t for t in inputs if t.cache is None and not t.on_chip]
        outside = op.family != "embedding"  # ids are not activations; their few bytes are the host's
        cached = self._cached(node, shape) if node.kept is not None else None
        step = Step(
            node=node,
            shape=shape,
            matmul=code.lower(op.matmul, local),
            other=code.lower(op.other, local),
            stored=stored,
            params=zero if node.tied_to is not None else elements,
            weights_read=elements if op.reads is None else code.lower(op.reads, local),
            read=code.sum([code.product(t.shape) for t in reads]) if moved and outside else zero,
            written=zero if op.view or op.on_chip or node.kept is not None else code.product(shape),
            cache_read=code.sum([self._cache_read(t, node) for t in inputs if t.cache is not None]) if moved else zero,
            cache_written=code.product(shape) if cached is not None else zero,
            cached=cached,
        )
        self.tensors[index] = self._output(index, node, shape, pairs, inputs)
        return step

    def _output(self, index: int, node: Node, shape: Shape, pairs: Slot | None, inputs: list[Tensor]) -> Tensor:
        carried = pairs if node.op.on_chip else None
        if node.kept is not None:
            at = self._position_axis(node, shape)
            seen = self._visible(node.kept)
            return Tensor((*shape[:at], seen, *shape[at + 1 :]), cache=index, on_chip=False, pairs=None)
        if node.op.view and inputs:
            # Another look at something cached is still read from the cache.
            return Tensor(shape, cache=inputs[0].cache, on_chip=inputs[0].on_chip, pairs=None)
        return Tensor(shape, on_chip=node.op.on_chip, pairs=carried)

    def _solve(self, node: Node, inputs: list[Tensor]) -> tuple[dict[str, Slot], Slot, list[Slot]]:
        """Match the op's axes with the shapes that come; return lengths by name, rows, and the leading axes."""
        code, op = self.code, node.op
        known = {name: code.lower(tree, {}) for name, tree in node.dims.items()}
        lead: list[Slot] | None = None
        merged: list[tuple[tuple[str, ...], Slot, str]] = []
        for operand, axes, tensor, source in zip(op.map.operands, op.map.inputs, inputs, node.inputs, strict=True):
            shape = list(tensor.shape)
            giver = self._name(source)
            if axes and axes[0] == LEADING:
                spare = len(shape) - (len(axes) - 1)
                self._rank(spare >= 0, node, axes, shape, giver, operand)
                mine, shape, axes = shape[:spare], shape[spare:], axes[1:]
                if lead is None:
                    lead = mine
                else:
                    self._rank(len(lead) == len(mine), node, axes, tensor.shape, giver, operand)
                    for want, have in zip(lead, mine, strict=True):
                        self._check(want, have, "axis-mismatch", node.where, operand, giver,
                                    f"make {giver} and the other inputs of {node.id} one shape")  # fmt: skip
            self._rank(len(axes) == len(shape), node, axes, shape, giver, operand)
            for axis, length in zip(axes, shape, strict=True):
                if not axis:
                    self._check(code.constant(1), length, "axis-mismatch", node.where, operand, giver,
                                f"give {operand} a length of 1 there")  # fmt: skip
                elif len(axis) > 1:
                    merged.append((axis, length, giver))
                elif axis[0] in known:
                    self._check(known[axis[0]], length, "axis-mismatch", node.where, axis[0], giver,
                                self._repair(node, axis[0], giver))  # fmt: skip
                else:
                    known[axis[0]] = length
        for axis, length, giver in merged:
            self._split(node, axis, length, giver, known)
        rows = code.product(lead or [])
        return known, rows, lead or []

    def _split(self, node: Node, axis: tuple[str, ...], length: Slot, giver: str, known: dict[str, Slot]) -> None:
        """One name of a merged axis may follow from the others."""
        unknown = [name for name in axis if name not in known]
        if len(unknown) > 1:
            raise SpecError(
                "axes-undetermined", node.where, f"lengths for all but one of {', '.join(axis)}",
                f"{', '.join(unknown)} unknown", "give the lengths in dims",
            )
        rest = self.code.product([known[name] for name in axis if name in known])
        if unknown:
            known[unknown[0]] = self.code.call("/", length, rest)
        else:
            self._check(rest, length, "axis-mismatch", node.where, " · ".join(axis), giver, self._repair(node, axis[0], giver))

    def _axis(self, axis: tuple[str, ...], known: Mapping[str, Slot]) -> Slot:
        return self.code.product([known[name] for name in axis])

    def _pairs(self, node: Node, inputs: list[Tensor], known: Mapping[str, Slot]) -> Slot | None:
        if "pairs" not in node.op.counts:
            return None
        mask = node.choices.get("mask")
        if mask is None:  # behind the mask: what the scores were computed for
            pairs = inputs[0].pairs
            if pairs is None:
                raise SpecError(
                    "no-mask", node.where, "an input that comes from attention_score", self._name(node.inputs[0]),
                    f"let {node.id} read the scores",
                )
            return pairs
        if mask == "bidirectional" or self.counting.attention == "square":
            return self.code.call("square_pairs", known["s"], known["t"])
        if mask == "sliding":
            return self.code.call("sliding_pairs", self.new, self.held, known["window"])
        return self.code.call("causal_pairs", self.new, self.held)

    # --------------------------------------------------------------------------------------------- the cache

    def _position_axis(self, node: Node, shape: Shape) -> int:
        if self.batch not in shape or shape.count(self.new) != 1:
            raise SpecError(
                "cache-axis", node.where, "a cached node whose output has one axis B and one axis s_q",
                f"rank {len(shape)}, s_q in {shape.count(self.new)} axes", "cache a node before its positions are merged",
            )
        return shape.index(self.new)

    def _cached(self, node: Node, shape: Shape) -> Cached:
        kept = node.kept
        assert kept is not None  # noqa: S101 - the caller looked
        self._position_axis(node, shape)
        width = self.code.product([slot for slot in shape if slot not in (self.batch, self.new)])
        if kept.growth != "window":
            return Cached(kept, width, self.held, None)
        window = self.code.lower(kept.dims["window"], {})
        return Cached(kept, width, self.code.call("min", self.held, window), window)

    def _visible(self, kept: Kept) -> Slot:
        """Positions a reader sees: all held, or the new ones and the window before the first of them."""
        if kept.growth != "window":
            return self.held
        window = self.code.lower(kept.dims["window"], {})
        reach = self.code.sum([self.code.call("-", window, self.code.constant(1)), self.new])
        return self.code.call("min", self.held, reach)

    def _cache_read(self, tensor: Tensor, node: Node) -> Slot:
        """A cached tensor is read once per component and step, by its first reader: one kernel fetches it."""
        assert tensor.cache is not None  # noqa: S101 - the caller looked
        key = (tensor.cache, node.id.rpartition(".")[0])
        if key in self.reads:
            return self.code.constant(0)
        self.reads.add(key)
        return self.code.product(tensor.shape)

    # -------------------------------------------------------------------------------------------- comparisons

    def _check(self, want: Slot, have: Slot, code: str, where: str, axis: str, source: str, fix: str) -> None:
        if want != have:
            self.checks.append(Check(want, have, code, where, axis, source, fix))

    def _rank(self, fits: bool, node: Node, axes: Axes, shape: Shape | list[Slot], giver: str, operand: str) -> None:  # noqa: FBT001
        if not fits:
            raise SpecError(
                "rank-mismatch", f"{node.where} {operand}", f"{node.op.name}: {node.op.axes}",
                f"{len(shape)} axes, from {giver}", f"split, merge or select axes of {giver} first",
            )

    def _same_rank(self, have: Shape, want: Shape, where: str, what: str) -> None:
        if len(have) != len(want):
            raise SpecError(
                "stream-shape", where, f"{what} with {len(want)} axes", f"{len(have)} axes",
                "a block must give the stream the shape it took",
            )

    def _name(self, source: int) -> str:
        named = {TOKENS: "tokens", POSITIONS: "positions"}
        return named[source] if source in named else self.graph.nodes[source].id

    def _repair(self, node: Node, axis: str, giver: str) -> str:
        if axis in node.dims:
            return f"read another node than {giver}, or correct dims.{axis} ({print_tree(node.dims[axis])})"
        return f"read another node than {giver}"

    def _check_ties(self) -> None:
        at = {step.node.id: step for step in self.steps}
        for step in self.steps:
            if step.node.tied_to is None:
                continue
            owner = at[step.node.tied_to]
            mine, theirs = step.stored[0].shape if step.stored else (), owner.stored[0].shape if owner.stored else ()
            if not mine or len(mine) != len(theirs):
                raise SpecError(
                    "tie-shape", step.node.where, "two nodes that store weights of one shape",
                    f"{len(mine)} axes against {len(theirs)} of {owner.node.id}", "tie nodes whose weights are the same",
                )
            for want, have in zip(theirs, mine, strict=True):
                self._check(want, have, "tie-shape", step.node.where, "weight", owner.node.id,
                            "tie nodes whose weights are the same")  # fmt: skip

    # --------------------------------------------------------------------------------------------- invariants

    def _invariants(self, instance: Instance) -> list[Check]:
        steps = self.steps[instance.first : instance.last]
        checks: list[Check] = []
        for rule in instance.spec.invariants:
            if rule.quantity == "params":
                have = self.code.sum([step.params for step in steps])
            else:
                cached = [step.cached for step in steps if step.cached is not None]
                if rule.quantity == "cache_elements_per_token":
                    have = self.code.sum([entry.width for entry in cached])
                else:
                    have = self.code.sum([self.code.product([entry.width, entry.positions]) for entry in cached])
            scope = {
                name: self.code.lower(instance.dims[name], {}) for name in names(rule.tree) if name in instance.dims
            }
            want = self.code.lower(rule.tree, scope)
            checks.append(
                Check(want, have, "broken-invariant", rule.where, rule.quantity, instance.path,
                      f"correct the graph of {instance.spec.name}, or the invariant {print_tree(rule.tree)}")  # fmt: skip
            )
        return checks
