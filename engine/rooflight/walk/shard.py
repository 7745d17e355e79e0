"""Follows layouts along the walk: what one GPU holds and computes of every node, and what must travel between GPUs.

Lengths stay global; a local length is read from a layout. Degrees are bound like any other value, so one Program
serves every plan of a family, and a degree of 1 makes its terms vanish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rooflight.layout import (
    BATCH,
    CONTEXT,
    EXPERT_WIDTH,
    EXPERTS,
    HEADS,
    REPEATS,
    Group,
    Layout,
    Move,
    follow,
    ordered,
    redistribute,
    replicated,
)
from rooflight.walk.shapes import Operand, Shapes
from rooflight.walk.state import state_moved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.expr import Tree
    from rooflight.graph import Graph, Node
    from rooflight.walk.code import Code, Slot
    from rooflight.walk.compile import Tensor
    from rooflight.walk.program import Step
    from rooflight.walk.shapes import Shape

_ROWS = frozenset((*HEADS, *CONTEXT)) - set(EXPERT_WIDTH)  # who share out rows, of the same tokens or of others

# Instead of parts:
AVERAGE = -1  # an axis of rows that experts share out, an average and not a count
PADDED = -2  # an axis of the vocabulary

LOAD = "ep_load_factor"  # bound with the step


class Family(NamedTuple):
    """What of a plan is structure: everything else is a degree.

    ulysses    under context parallelism, exchange heads for positions around attention instead of gathering keys
    sequence   cut the trunk's positions over the GPUs that share heads
    argmax     compare logits where they are and gather the best of each GPU, instead of gathering all logits
    """

    ulysses: bool = False
    sequence: bool = False
    argmax: bool = False


class Transfer(NamedTuple):
    """One collective. `elements` is the local size it works on, as Move.size says; `reader` the node that wants it.

    entry  it happens once where a stack of layers is entered, not in every layer
    """

    kind: str
    group: Group
    elements: Slot
    reader: str
    entry: bool = False


class LocalStep(NamedTuple):
    """One GPU's part of a node, in slots; the fields mean what Step's do."""

    layout: Layout
    shape: Shape
    matmul: Slot
    other: Slot
    stored: tuple[tuple[str, Shape], ...]
    weights_read: Slot
    read: Slot
    written: Slot
    cache_read: Slot
    cache_written: Slot
    state_moved: Slot
    cache_width: Slot
    cache_positions: Slot
    copies: Slot
    transfers: tuple[Transfer, ...]  # before the node runs


class Sections(NamedTuple):
    """An axis that lies in sections side by side, each cut by itself: (length, parts) of each."""

    each: tuple[tuple[Slot, Slot], ...]


Parts: TypeAlias = "Slot | Sections | None"


class Held(NamedTuple):
    """A tensor as one GPU holds it. `parts` say in how many pieces an axis can be cut, None for its length."""

    layout: Layout
    shape: Shape  # global
    parts: tuple[Parts, ...]
    exchanged: bool = False  # rows that already stand with their experts


class Sharder:
    """Runs beside the compiler, node by node."""

    def __init__(self, code: Code, shards: Mapping[str, str], family: Family, graph: Graph) -> None:
        self.code = code
        self.shapes = Shapes(code)  # its checks are thrown away: global lengths were compared already
        self.shards = shards
        self.family = family
        self.phase = graph.phase
        self.blocks = _padded_blocks(graph)
        self.held: dict[int, Held] = {}
        self.versions: dict[tuple[int, Layout, int], Held] = {}  # (what, how, in which block; -1 where it is entered)
        self.steps: list[LocalStep] = []
        self.groups: list[int] = []
        self.fetched: set[tuple[int, str]] = set()  # (cached node, component) whose read is counted

    # ------------------------------------------------------------------------------------------ lengths

    def degree(self, group: Group) -> Slot:
        """Return the slot of a group's number of GPUs."""
        return self.code.product([self.code.symbol(axis) for axis in group])

    def local(self, length: Slot, cut: Group, parts: Parts) -> Slot:
        """Return the length one GPU holds of an axis: whole parts, as many as the fullest GPU gets."""
        code = self.code
        if parts == AVERAGE:
            share = code.call("/", length, self.degree(cut)) if cut else length
            return code.product([share, code.call("busiest", code.symbol(LOAD), self.degree(EXPERTS))])
        if not cut:
            return length
        if isinstance(parts, Sections):
            return code.sum([self.local(section, cut, pieces) for section, pieces in parts.each])
        if parts == PADDED:
            return code.call("vocabulary_rows", length, self.degree(cut))
        if parts is None or parts == length:
            return code.call("ceil_div", length, self.degree(cut))
        pieces = code.call("ceil_div", parts, self.degree(cut))
        return code.product([pieces, code.call("/", length, parts)])

    def local_shape(self, held: Held, layout: Layout | None = None) -> Shape:
        """Return the shape one GPU holds of a tensor."""
        cuts = (layout or held.layout).cuts
        return tuple(self.local(n, cut, p) for n, cut, p in zip(held.shape, cuts, held.parts, strict=True))

    def _cut_of(self, tree: Tree, role: str) -> tuple[Group, Parts]:
        """Return what cuts a length, by the dims table, and its parts."""
        name = cut_name(tree, self.shards)
        if name is None:
            return self._sections(tree)
        shard = self.shards[name]
        if shard == "heads":
            return HEADS, self.code.lower(name, {})
        if shard == "vocabulary":
            return HEADS, PADDED
        block = self.blocks.get(role)
        parts = None if block is None else self.code.lower(("ceil_div", name, block), {})
        return EXPERT_WIDTH if role == "expert" else HEADS, parts

    def _sections(self, tree: Tree) -> tuple[Group, Parts]:
        """Return the cut of a sum of lengths each of which counts heads of its own, such as a fused projection's."""
        terms = terms_of(tree)
        named = [cut_name(term, self.shards) for term in terms]
        heads = [name for name in named if name is not None and self.shards[name] == "heads"]
        if len(terms) == 1 or len(heads) < len(terms):
            return (), None
        lengths = [self.code.lower(term, {}) for term in terms]
        return HEADS, Sections(tuple(zip(lengths, [self.code.lower(name, {}) for name in heads], strict=True)))

    # -------------------------------------------------------------------------------------------- nodes

    def start(self, index: int, shape: Shape) -> None:
        """Lay a step's input: sequences over the GPUs that take different ones, positions under context parallelism."""
        positions = CONTEXT if self.phase == "prefill" else ()
        cuts = (BATCH, positions) if len(shape) == 2 else (positions,)  # noqa: PLR2004 - ids are [B, s_q]
        self.held[index] = Held(Layout(cuts), shape, (None,) * len(shape))

    def step(self, index: int, node: Node, step: Step, tensor: Tensor, seen: Sequence[Tensor]) -> None:
        """Follow one node. `tensor` is its output and `seen` its inputs, globally, as readers see them."""
        transfers: list[Transfer] = []
        inputs = [self._settled(source, node, transfers) for source in node.inputs]
        declared: dict[str, Group] = {}
        parts: dict[str, Parts] = {}
        for name, tree in node.dims.items():
            cut, pieces = self._cut_of(node.cuts.get(name, tree), node.role)
            if cut:
                declared[name], parts[name] = cut, pieces
        attends = "pairs" in node.op.counts
        if node.op.rows == "spread":
            held, moved = self._dispatch(node, inputs, step.shape, transfers)
        elif node.op.rows == "gather":
            held, moved = self._combine(node, inputs, step.shape, transfers)
        elif node.op.rows == "share":
            # A copy sees the rows of all who share the expert; only where experts repeat does it see a part.
            repeats = ordered(set(inputs[0].layout.cuts[0]) & set(REPEATS))
            held, moved = Held(Layout((repeats, ())), step.shape, (AVERAGE, None)), inputs
        else:
            held, moved = self._follow(node, inputs, declared, parts, step.shape, transfers, attends=attends)
        if node.op.shares:
            self._shared(node, moved[0], declared, transfers)
        apart = ordered(held.layout.partial & set(CONTEXT))
        if attends and apart and not node.op.on_chip:
            self._merged(node, moved[0], apart, transfers)
        if self.family.ulysses:
            held = self._exchanged(index, node, held, transfers, attends=attends)
        keeps = node.kept is not None and not node.kept.constant  # positions, and not a state
        if keeps and self.family.sequence:
            # GPUs that share heads each keep all positions, however the trunk is cut: decode reads them there.
            at, cuts = self._position(held, step), held.layout.cuts
            cuts = (*cuts[:at], *_without(HEADS, cuts[at : at + 1]), *cuts[at + 1 :])
            held = self._move(index, held, Layout(cuts, held.layout.partial), node, transfers)
        self._record(node, step, held, inputs, moved, seen, declared, parts, transfers)
        if keeps:
            held = self._keep(held, tensor)
        self.held[index] = held
        self.groups.append(node.group)

    def _shared(self, node: Node, held: Held, declared: Mapping[str, Group], transfers: list[Transfer]) -> None:
        """GPUs that hold parts of one group add up what it needs of all: one number per row and group."""
        name = node.op.shares
        if name in declared:
            groups = self.code.call("shared_groups", self.code.lower(node.dims[name], {}), self.degree(declared[name]))
            numbers = self.code.product([*self.local_shape(held)[:-1], groups])
            transfers.append(Transfer("all_reduce", declared[name], numbers, node.id))

    def _merged(self, node: Node, scores: Held, apart: Group, transfers: list[Transfer]) -> None:
        """GPUs that see other keys learn each other's log-sum-exp, one per query and head, and weigh by all of them."""
        axes = zip(node.op.map.inputs[0], self.local_shape(scores), strict=True)
        own = [length for axis, length in axes if axis[0] not in node.op.whole]
        transfers.append(Transfer("lse_merge", apart, self.code.product([*own, self.degree(apart)]), node.id))

    def ends(self, graph: Graph) -> tuple[Transfer, ...]:
        """Return what brings the logits together: everyone must know the chosen token."""
        found: list[Transfer] = []
        for index, node in enumerate(graph.nodes):
            held = self.held[index]
            if node.role != "head" or node.op.family != "linear" or not held.layout.cuts[-1]:
                continue
            if self.family.argmax:  # a value and its place from every GPU
                pairs = [*self.local_shape(held)[:-1], self.degree(held.layout.cuts[-1]), self.code.constant(2)]
                found.append(Transfer("all_gather", held.layout.cuts[-1], self.code.product(pairs), node.id))
                continue
            want = Layout((*held.layout.cuts[:-1], ()), held.layout.partial)
            self.versions.pop((index, want, node.group), None)
            self._move(index, held, want, node, found)
        return tuple(found)

    def _exchanged(self, index: int, node: Node, held: Held, transfers: list[Transfer], *, attends: bool) -> Held:
        """Around attention heads are cut over context's GPUs too, and positions are whole; behind it, as before."""
        cuts = list(held.layout.cuts)
        heads = next((axis for axis, cut in enumerate(cuts) if set(HEADS) <= set(cut)), None)
        if node.kept is not None and not node.kept.constant:
            cuts = [ordered(set(cut) - set(CONTEXT)) for cut in cuts]
            if heads is not None:
                cuts[heads] = ordered({*HEADS, *CONTEXT})
        elif attends and not node.op.on_chip and heads is not None:
            cuts[heads] = HEADS
            if self.phase == "prefill":
                cuts[1] = CONTEXT
        want = Layout(tuple(cuts), held.layout.partial)
        return held if want == held.layout else self._move(index, held, want, node, transfers)

    def _settled(self, source: int, node: Node, transfers: list[Transfer]) -> Held:
        """What comes from another stage or layer arrives as the trunk lies: no sum owed, positions cut or not."""
        held = self.held[source]
        if source < 0 or self.groups[source] == node.group or len(held.shape) != 3:  # noqa: PLR2004 - [B, s, width]
            return held
        positions = held.layout.cuts[1]
        if self.family.sequence and self.phase == "prefill":
            positions = (*(axis for axis in positions if axis not in HEADS), *HEADS)
        arriving: list[Transfer] = []
        settled = self._move(source, held, Layout((held.layout.cuts[0], positions, ())), node, arriving, block=-1)
        transfers += [transfer._replace(entry=True) for transfer in arriving]
        return settled

    def _follow(
        self,
        node: Node,
        inputs: list[Held],
        declared: Mapping[str, Group],
        parts: Mapping[str, Parts],
        shape: Shape,
        transfers: list[Transfer],
        *,
        attends: bool,
    ) -> tuple[Held, list[Held]]:
        op = node.op
        if attends and self.family.ulysses:
            both = ordered({*HEADS, *CONTEXT})
            declared = {**declared, **{name: both for name in ("k", "h") if name in op.map.names()}}
        if attends and self.phase == "decode" and not self.family.ulysses:
            op = op._replace(whole=tuple(name for name in op.whole if name != "t"))
        layouts = [held.layout for held in inputs]
        if self.family.sequence and self.phase == "prefill" and len(inputs) == 1 and not op.additive:
            layouts = [_scattered(inputs[0])]
        flow = follow(op, layouts, declared)
        moved = [
            self._move(source, held, want, node, transfers)
            for source, held, want in zip(node.inputs, inputs, flow.wants, strict=True)
        ]
        known: dict[tuple[str, ...], Parts] = {}
        leading: list[Parts] = []
        for axes, held in zip(op.map.inputs, moved, strict=True):
            named = axes[1:] if axes[:1] == (("...",),) else axes
            front = len(held.parts) - len(named)
            if axes[:1] == (("...",),) and not leading:
                leading = list(held.parts[:front])
            for axis, pieces in zip(named, held.parts[front:], strict=True):
                known.setdefault(axis, pieces)
                known.setdefault(axis[:1], pieces)
        carried = [*leading] if op.map.output[:1] == (("...",),) else []
        for axis in op.map.output[1:] if op.map.output[:1] == (("...",),) else op.map.output:
            name = axis[0] if axis else ""
            name = name if name in parts else op.carries.get(name, name)
            if name in parts:
                carried.append(parts[name])
            else:
                carried.append(known.get(axis, known.get((name,))))
        return Held(flow.output, shape, tuple(carried)), moved

    def _move(
        self,
        source: int,
        held: Held,
        want: Layout,
        node: Node,
        transfers: list[Transfer],
        block: int | None = None,
    ) -> Held:
        """Bring an input where the node wants it; whoever asks for the same later in the block finds it there.

        Blocks of other layers ask anew: for them the trunk is what the layer before gave.
        """
        key = (source, want, node.group if block is None else block)
        if held.layout == want:
            return held
        if key not in self.versions:
            for move in redistribute(held.layout, want):
                self._transfer(move, held, node, transfers)
            self.versions[key] = held._replace(layout=want)
        return self.versions[key]

    def _transfer(self, move: Move, held: Held, node: Node, transfers: list[Transfer]) -> None:
        elements = self.code.product(self.local_shape(held, move.size))
        transfers.append(Transfer(move.kind, move.group, elements, node.id))

    # ------------------------------------------------------------------------------------------- experts

    def _dispatch(
        self, node: Node, inputs: list[Held], shape: Shape, transfers: list[Transfer]
    ) -> tuple[Held, list[Held]]:
        """Send rows to their experts: gather tokens where experts are cut over them, exchange them elsewhere."""
        tokens, picks = inputs
        whole = replicated(len(tokens.shape)).cuts
        front = _without(EXPERT_WIDTH, tokens.layout.cuts[:-1])
        want = Layout((*front, *whole[len(front) :]))
        tokens = self._move(node.inputs[0], tokens, want, node, transfers)
        picks = self._move(node.inputs[1], picks, want, node, transfers)
        rows = {axis for cut in front for axis in cut}
        # GPUs that hold the same tokens take only the rows of their own experts: nothing travels for that.
        cut = ordered(rows | _ROWS)
        held = Held(Layout((cut, ())), shape, (AVERAGE, None), exchanged=True)
        group = ordered(rows & set(EXPERTS))
        if group:
            self._transfer(Move("all_to_all", group, held.layout), held, node, transfers)
        return held, [tokens, picks]

    def _combine(
        self, node: Node, inputs: list[Held], shape: Shape, transfers: list[Transfer]
    ) -> tuple[Held, list[Held]]:
        """Bring rows back to their tokens; GPUs that hold the same tokens then owe each other a sum."""
        rows, weights = inputs
        front = weights.layout.cuts[:-1]
        tokens = {axis for cut in front for axis in cut}
        owed = set(rows.layout.partial)
        sent = Layout((ordered((tokens - set(EXPERT_WIDTH)) | _ROWS), ()))
        routed = Held(sent, (self.code.product([*weights.shape[:-1], weights.shape[-1]]), shape[-1]), (AVERAGE, None))
        group = ordered((tokens - set(EXPERT_WIDTH)) & set(EXPERTS))
        if group:
            self._transfer(Move("all_to_all", group, sent), routed, node, transfers)
        partial = frozenset(owed | (_ROWS - tokens))
        gathered = Layout((*_without(EXPERT_WIDTH, front), ()), partial)
        held = Held(gathered, shape, (*weights.parts[:-1], None))
        target = Layout((*front, ()), partial - tokens)
        for move in redistribute(gathered, target):
            self._transfer(move, held, node, transfers)
        return held._replace(layout=target), [rows, weights]

    # ------------------------------------------------------------------------------------ cache and figures

    def _keep(self, held: Held, tensor: Tensor) -> Held:
        """A cached tensor is read at its visible length; in decode its positions lie over the context's GPUs."""
        at = next(i for i, (mine, seen) in enumerate(zip(held.shape, tensor.shape, strict=True)) if mine != seen)
        cuts = list(held.layout.cuts)
        if self.phase == "decode" and not self.family.ulysses:
            cuts[at] = CONTEXT
        return held._replace(layout=Layout(tuple(cuts), held.layout.partial), shape=tensor.shape)

    def _record(
        self,
        node: Node,
        step: Step,
        held: Held,
        inputs: list[Held],
        moved: list[Held],
        seen: Sequence[Tensor],
        declared: Mapping[str, Group],
        parts: Mapping[str, Parts],
        transfers: list[Transfer],
    ) -> None:
        """Evaluate the op's formulas at the lengths of one GPU."""
        code, op = self.code, node.op
        lengths = {
            name: self.local(code.lower(tree, {}), declared.get(name, ()), parts.get(name))
            for name, tree in node.dims.items()
        }
        operands = [
            Operand(name, axes, self.local_shape(one), "")
            for name, axes, one in zip(op.map.operands, op.map.inputs, moved, strict=True)
        ]
        found = self.shapes.match(node, operands, lengths)
        shape = self.local_shape(held)
        local = {**found.lengths, "rows": code.product(found.leading)}
        if step.pairs is not None:
            # Balanced over context: every GPU takes its share of the pairs, whichever of the two sides is cut.
            cut = {axis for one in moved for axes in one.layout.cuts for axis in axes if axis in CONTEXT}
            spread = () if self.family.ulysses else ordered(cut)
            local["pairs"] = code.call("/", step.pairs, self.degree(spread)) if spread else step.pairs
        local |= {name: code.constant(int(on)) for name, on in node.switches.items()}
        stored = tuple(
            (weight.name, self.shapes.of(weight.axes, found))
            for weight in op.weights
            if weight.switch is None or node.switches[weight.switch]
        )
        zero = code.constant(0)
        copies = self.copies(node.copies)
        carried = None if op.state is None else self.shapes.of(op.state, found)
        kept = step.cached is not None and not step.cached.kept.constant
        width = positions = zero
        if step.cached is not None and carried is not None:
            width, positions = code.product(carried[1:]), step.cached.positions
        elif step.cached is not None:
            at = self._position(held, step)
            width = code.product([n for axis, n in enumerate(shape) if axis not in (0, at)])
            cut = CONTEXT if self.phase == "decode" and not self.family.ulysses else held.layout.cuts[at]
            positions = self.local(step.cached.positions, cut, None)
        self.steps.append(
            LocalStep(
                layout=held.layout,
                shape=shape,
                matmul=code.lower(op.matmul, local),
                other=code.lower(op.other, local),
                stored=stored,
                weights_read=code.sum([code.product(axes) for _, axes in stored])
                if op.reads is None
                else code.lower(op.reads, local),
                read=zero if step.read == zero else self._read(node, moved, seen),
                written=zero if step.written == zero else code.product(shape),
                cache_read=zero if step.cache_read == zero else self._cache_read(node, inputs, seen),
                cache_written=code.product(shape) if kept else zero,
                state_moved=zero if carried is None else state_moved(code, self.phase, code.product(carried)),
                cache_width=width,
                cache_positions=positions,
                copies=copies,
                transfers=tuple(transfers),
            )
        )

    def copies(self, tree: Tree) -> Slot:
        """Return how many copies of a node one GPU holds: experts are spread, everything else is not."""
        copies = self.code.lower(tree, {})
        return copies if tree == 1 else self.local(copies, EXPERTS, None)

    def _read(self, node: Node, moved: list[Held], seen: Sequence[Tensor]) -> Slot:
        """Activation elements one GPU reads: what came from a cache or never left the chip is counted elsewhere."""
        sizes: list[Slot] = []
        for held, tensor in zip(moved, seen, strict=True):
            if tensor.cache or tensor.on_chip:
                continue
            size = self.code.product(self.local_shape(held))
            if tensor.copies not in (1, node.copies):  # rows that all local experts made
                size = self.code.product([size, self.copies(tensor.copies)])
            sizes.append(size)
        return self.code.sum(sizes)

    def _cache_read(self, node: Node, inputs: list[Held], seen: Sequence[Tensor]) -> Slot:
        """Cached elements one GPU reads of its own cache, each once per component and step."""
        sizes: list[Slot] = []
        for held, tensor in zip(inputs, seen, strict=True):
            local, whole = self.code.product(self.local_shape(held)), self.code.product(tensor.shape)
            for source, elements in tensor.cache:
                key = (source, node.id.rpartition(".")[0])
                if key in self.fetched:
                    continue
                self.fetched.add(key)
                if elements == whole:
                    sizes.append(local)
                elif source in self.held and self.code.product(self.held[source].shape) == elements:
                    sizes.append(self.code.product(self.local_shape(self.held[source])))
                else:
                    sizes.append(self.code.product([elements, self.code.call("/", local, whole)]))
        whole = self.code.sum(sizes)
        if not node.op.picks or not sizes:
            return whole
        picks = seen[-1].shape[-1]
        return self.code.product([whole, self.shapes.picked_share(picks)])

    def _position(self, held: Held, step: Step) -> int:
        """Return the axis of positions of what a node keeps."""
        new = self.code.symbol("s_q")
        return step.shape.index(new) if new in step.shape else 1


def _scattered(held: Held) -> Layout:
    """How a sum still owed arrives at what needs it paid, where the trunk is cut: each GPU pays for its positions."""
    layout = held.layout
    if len(layout.cuts) != 3 or not set(HEADS) <= layout.partial:  # noqa: PLR2004 - [B, s, width]
        return layout
    batch, positions, width = layout.cuts
    return Layout((batch, (*positions, *HEADS), width), layout.partial - set(HEADS))


def _without(axes: Group, cuts: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(tuple(axis for axis in cut if axis not in axes) for cut in cuts)


def cut_name(tree: Tree, shards: Mapping[str, str]) -> str | None:
    """Return the dim by which a length is cut: the one of its factors that the dims table lets something cut."""
    named = [factor for factor in _factors(tree) if isinstance(factor, str) and factor in shards]
    return named[0] if len(named) == 1 else None


def terms_of(tree: Tree) -> list[Tree]:
    """Return what a length is the sum of."""
    if isinstance(tree, tuple) and tree[0] == "+":
        return [term for part in tree[1:] for term in terms_of(part)]
    return [tree]


def _padded_blocks(graph: Graph) -> dict[str, int]:
    """Role -> the block that widths of its nodes are cut by, where a format fills parts of blocks up."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        for one in (one.format for formats in node.formats.values() for one in formats):
            if one.padded:
                block = max(one.block(axis) for axis in ("in", "out"))
                found[node.role] = max(found.get(node.role, 1), block)
    return found


def _factors(tree: Tree) -> list[Tree]:
    if isinstance(tree, tuple) and tree[0] == "*":
        return [factor for part in tree[1:] for factor in _factors(part)]
    return [tree]


__all__ = ["REPEATS", "Family", "Held", "LocalStep", "Sharder", "Transfer", "cut_name", "terms_of"]
