"""Compiles a graph: shapes flow along the edges, and every op's record becomes slots of straight-line code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.expr import names, print_tree
from rooflight.graph import POSITIONS, TOKENS
from rooflight.values import SpecError
from rooflight.walk.code import FUNCTIONS, Code
from rooflight.walk.program import Cached, Check, Counting, Program, Step, Stored
from rooflight.walk.shapes import Matched, Operand, Shapes
from rooflight.walk.shard import Family, Sharder
from rooflight.walk.state import state_moved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.expr import Tree
    from rooflight.graph import Graph, Instance, Kept, Node, Seam
    from rooflight.walk.code import Slot
    from rooflight.walk.shapes import Shape


class Tensor(NamedTuple):
    """A value on an edge, as its readers see it.

    cache     nodes whose cache it is read from, with the elements that are
    on_chip   whether it never leaves the kernel that made it
    pairs     (query, key) pairs of one head and sequence, behind a mask
    distinct  elements per position, a repeated one once; None means all that the shape holds
    copies    of the node that made it, in one layer
    """

    shape: Shape
    cache: tuple[tuple[int, Slot], ...] = ()
    on_chip: bool = False
    pairs: Slot | None = None
    distinct: Slot | None = None
    copies: Tree = 1


def compile_graph(
    graph: Graph,
    counting: Counting | None = None,
    *,
    shards: Mapping[str, str] | None = None,
    family: Family | None = None,
) -> Program:
    """Return the Program of a graph. Raises SpecError where ranks cannot meet; lengths are compared later, by value.

    With a plan family the program also holds one GPU's part of every step; shards say what may cut which dim.
    """
    compiler = _Compiler(graph, counting or Counting())
    if family is not None:
        compiler.sharder = Sharder(compiler.code, shards or {}, family, graph)
    return compiler.run()


class _Compiler:
    def __init__(self, graph: Graph, counting: Counting) -> None:
        self.graph = graph
        self.counting = counting
        self.code = Code()
        self.shapes = Shapes(self.code)
        self.batch, self.new, self.held = (self.code.symbol(name) for name in ("B", "s_q", "s_kv"))
        self.tensors: dict[int, Tensor] = {TOKENS: Tensor((self.batch, self.new)), POSITIONS: Tensor((self.new,))}
        self.steps: list[Step] = []
        self.sharder: Sharder | None = None
        self.fetched: set[tuple[int, str]] = set()  # (cached node, component) pairs whose read is already counted

    def run(self) -> Program:
        code, graph = self.code, self.graph
        if self.sharder is not None:
            for source, tensor in self.tensors.items():
                self.sharder.start(source, tensor.shape)
        seams = {seam.leaves: seam for seam in graph.seams}
        for index, node in enumerate(graph.nodes):
            inputs = [self.tensors[source] for source in node.inputs]
            self.steps.append(self._step(index, node))
            if self.sharder is not None:
                self.sharder.step(index, node, self.steps[-1], self.tensors[index], inputs)
            if index in seams:  # before its readers, who would take the blame
                self._check_seam(seams[index])
        counts = tuple(code.lower(group.count, {}) for group in graph.groups)
        self._check_ties()
        ends = () if self.sharder is None else self.sharder.ends(graph)
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
            checks=tuple(self.shapes.checks),
            invariants=invariants,
            local=() if self.sharder is None else tuple(self.sharder.steps),
            ends=ends,
        )

    # ------------------------------------------------------------------------------------------------ one node

    def _step(self, index: int, node: Node) -> Step:
        code, op = self.code, node.op
        inputs = [self.tensors[source] for source in node.inputs]
        found = self.shapes.match(
            node,
            [
                Operand(name, axes, tensor.shape, self._name(source))
                for name, axes, tensor, source in zip(op.map.operands, op.map.inputs, inputs, node.inputs, strict=True)
            ],
        )
        shape = self.shapes.of(op.map.output, found)
        pairs = self._pairs(node, inputs, found)
        local = {**found.lengths, "rows": code.product(found.leading)}
        if pairs is not None:
            local["pairs"] = pairs
        local |= {name: code.constant(int(on)) for name, on in node.switches.items()}
        stored = tuple(
            Stored(weight.name, axes, code.product(axes))
            for weight in op.weights
            if weight.switch is None or node.switches[weight.switch]
            for axes in [self.shapes.of(weight.axes, found)]
        )
        elements = code.sum([weight.elements for weight in stored])
        zero = code.constant(0)
        carried = None if op.state is None else self.shapes.of(op.state, found)
        kept = node.kept is not None and not node.kept.constant
        reads = [t for t in inputs if not t.cache and not t.on_chip]
        # Keeping a view means copying it into the cache. Ids are not activations; their few bytes are the host's.
        reading = (kept or not op.view) and op.family != "embedding"
        self.tensors[index] = self._output(index, node, shape, pairs, inputs)
        return Step(
            node=node,
            shape=shape,
            matmul=code.lower(op.matmul, local),
            other=code.lower(op.other, local),
            stored=stored,
            params=zero if node.tied_to is not None else elements,
            weights_read=elements if op.reads is None else code.lower(op.reads, local),
            read=code.sum([self._elements(t, node) for t in reads]) if reading else zero,
            written=zero if op.view or op.on_chip or kept else code.product(shape),
            cache_read=self._cache_reads(inputs, node, found) if kept or not op.view else zero,
            cache_written=code.product(shape) if kept else zero,
            state_moved=zero if carried is None else state_moved(code, self.graph.phase, code.product(carried)),
            cached=self._cached(node, shape, carried),
            attended=self._attended(node, inputs),
            pairs=pairs,
            copies=code.lower(node.copies, {}),
            active=code.lower(node.active, {}),
        )

    def _output(self, index: int, node: Node, shape: Shape, pairs: Slot | None, inputs: list[Tensor]) -> Tensor:
        if node.kept is not None and not node.kept.constant:
            at = self._position_axis(node, shape)
            seen = (*shape[:at], self._visible(node.kept), *shape[at + 1 :])
            return Tensor(seen, cache=((index, self.code.product(seen)),), copies=node.copies)
        if node.op.view:
            return self._view(node, shape, inputs)
        distinct = self.code.sum([self._distinct(t) for t in inputs]) if node.op.family == "copy" else None
        behind = pairs if node.op.on_chip else None
        return Tensor(shape, on_chip=node.op.on_chip, pairs=behind, distinct=distinct, copies=node.copies)

    def _view(self, node: Node, shape: Shape, inputs: list[Tensor]) -> Tensor:
        """Another look: what was cached is still read from the cache, and repeating shows nothing new."""
        cache = tuple(entry for tensor in inputs for entry in tensor.cache)
        if node.op.narrows and len(cache) == 1:
            cache = ((cache[0][0], self.code.product(shape)),)
        distinct = None
        if node.op.repeats:
            distinct = self._distinct(inputs[0])
        elif not node.op.narrows:
            distinct = self.code.sum([self._distinct(tensor) for tensor in inputs])
        return Tensor(shape, cache, all(t.on_chip for t in inputs), distinct=distinct, copies=node.copies)

    def _distinct(self, tensor: Tensor) -> Slot:
        """Elements per position of a tensor whose first two axes are sequences and positions."""
        return self.code.product(tensor.shape[2:]) if tensor.distinct is None else tensor.distinct

    def _elements(self, tensor: Tensor, node: Node) -> Slot:
        """Elements a node reads of a tensor; who stands outside the copies reads what all of them made."""
        elements = self.code.product(tensor.shape)
        if tensor.copies in (1, node.copies):
            return elements
        return self.code.product([elements, self.code.lower(tensor.copies, {})])

    def _attended(self, node: Node, inputs: list[Tensor]) -> Slot:
        if "pairs" not in node.op.counts or len(inputs) < 2:  # noqa: PLR2004 - a query, or its scores, and a key or value
            return self.code.constant(0)
        return self._distinct(inputs[1])

    def _pairs(self, node: Node, inputs: list[Tensor], found: Matched) -> Slot | None:
        if "pairs" not in node.op.counts:
            return None
        mask = node.choices.get("mask")
        if mask is None:  # behind the mask: what the scores were computed for
            pairs = inputs[0].pairs
            if pairs is None:
                raise SpecError(
                    "no-mask",
                    node.where,
                    "an input that comes from attention_score",
                    self._name(node.inputs[0]),
                    f"let {node.id} read the scores",
                )
            return pairs
        if mask == "bidirectional" or self.counting.attention == "square":
            return self.code.call("square_pairs", found.lengths["s"], found.lengths["t"])
        if mask == "picked":  # each query sees its picks, the first ones as many as there are
            return self.code.call("sliding_pairs", self.new, self.held, found.lengths[node.op.picks])
        if mask == "sliding":
            return self.code.call("sliding_pairs", self.new, self.held, found.lengths["window"])
        return self.code.call("causal_pairs", self.new, self.held)

    # --------------------------------------------------------------------------------------------- the cache

    def _position_axis(self, node: Node, shape: Shape) -> int:
        if self.batch not in shape or shape.count(self.new) != 1:
            raise SpecError(
                "cache-axis",
                node.where,
                "a cached node whose output has one axis B and one axis s_q",
                f"rank {len(shape)}, s_q in {shape.count(self.new)} axes",
                "cache a node before its positions are merged",
            )
        return shape.index(self.new)

    def _cached(self, node: Node, shape: Shape, carried: Shape | None) -> Cached | None:
        kept = node.kept
        if kept is None:
            return None
        if carried is not None:
            return Cached(kept, self.code.product(carried[1:]), self.code.constant(1), None)
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

    def _cache_reads(self, inputs: list[Tensor], node: Node, found: Matched) -> Slot:
        """Cached elements a node reads: of what several queries pick at most what there is, each position once."""
        whole = self.code.sum([self._cache_read(tensor, node) for tensor in inputs])
        if not node.op.picks or whole == self.code.constant(0):
            return whole
        return self.code.product([whole, self.shapes.picked_share(found.lengths[node.op.picks])])

    def _cache_read(self, tensor: Tensor, node: Node) -> Slot:
        """A cached tensor is read once per component and step, by its first reader: one kernel fetches it."""
        fresh: list[Slot] = []
        for source, elements in tensor.cache:
            key = (source, node.id.rpartition(".")[0])
            if key not in self.fetched:
                self.fetched.add(key)
                fresh.append(elements)
        return self.code.sum(fresh)

    # -------------------------------------------------------------------------------------------- comparisons

    def _name(self, source: int) -> str:
        named = {TOKENS: "tokens", POSITIONS: "positions"}
        return named[source] if source in named else self.graph.nodes[source].id

    def _check_seam(self, seam: Seam) -> None:
        enters, leaves = self.tensors[seam.enters].shape, self.tensors[seam.leaves].shape
        where, fix = f"{seam.where} stream {seam.stream}", "a block must give the stream the shape it took"
        if len(enters) != len(leaves):
            raise SpecError("stream-shape", where, f"{len(enters)} axes", f"{len(leaves)} axes", fix)
        for want, have in zip(enters, leaves, strict=True):
            self.shapes.check(Check(want, have, "stream-shape", where, "", fix))

    def _check_ties(self) -> None:
        at = {step.node.id: step for step in self.steps}
        fix = "tie nodes whose weights are the same"
        for step in self.steps:
            if step.node.tied_to is None:
                continue
            owner = at[step.node.tied_to]
            mine, theirs = ([weight.shape for weight in one.stored] for one in (step, owner))
            if [len(shape) for shape in mine] != [len(shape) for shape in theirs]:
                raise SpecError(
                    "tie-shape",
                    step.node.where,
                    f"the weights of {owner.node.id}: {_ranks(theirs)}",
                    _ranks(mine),
                    fix,
                )
            for ours, other in zip(mine, theirs, strict=True):
                for want, have in zip(other, ours, strict=True):
                    self.shapes.check(Check(want, have, "tie-shape", step.node.where, f", not as {owner.node.id}", fix))

    def _invariants(self, instance: Instance) -> list[Check]:
        steps = self.steps[instance.first : instance.last]
        cached = [step.cached for step in steps if step.cached is not None]
        code = self.code
        quantities = {
            "params": lambda: code.sum([code.product([step.params, step.copies]) for step in steps]),
            "cache_elements_per_token": lambda: code.sum([entry.width for entry in cached if not entry.kept.constant]),
            "cache_elements": lambda: code.sum([code.product([entry.width, entry.positions]) for entry in cached]),
        }
        checks: list[Check] = []
        for rule in instance.spec.invariants:
            scope = {name: code.lower(instance.dims[name], {}) for name in names(rule.tree) if name in instance.dims}
            checks.append(
                Check(
                    code.lower(rule.tree, scope),
                    quantities[rule.quantity](),
                    "broken-invariant",
                    f"{rule.where} of {instance.path}",
                    "",
                    f"correct the graph of {instance.spec.name}, or the invariant {print_tree(rule.tree)}",
                )
            )
        return checks


def _ranks(shapes: list[Shape]) -> str:
    return " and ".join(f"{len(shape)} axes" for shape in shapes) or "no weights"
