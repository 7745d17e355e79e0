"""Expands a bound model's components into one graph for one phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rooflight.dims import RUN
from rooflight.expr import Tree, evaluate_tree, names, print_tree
from rooflight.graph.graph import POSITIONS, TOKENS, Graph, Group, Instance, Kept, Node, Seam, Stored
from rooflight.graph.names import mapped, weight_path
from rooflight.graph.order import ordered
from rooflight.ops import OPS, Op
from rooflight.spec import (
    ComponentSpec,
    Format,
    Model,
    NodeSpec,
    Stage,
    Storage,
    Tie,
    Use,
    find_component,
    format_of,
    nearest,
    switch_value,
)
from rooflight.spec.config import config_number
from rooflight.values import SpecError

PHASES = ("prefill", "decode")
_MAX_NESTING = 16
_MAX_NODES = 20_000

Scope = Mapping[str, Tree]  # a component's names in the model's terms; a missing name means itself


def expand(
    model: Model,
    phase: str,
    *,
    drafts: bool = False,
    variants: bool = True,
    storage: Storage | None = None,
    states: str | None = None,
) -> Graph:
    """Return the model's graph in one phase. Raises SpecError where parts do not fit together.

    drafts    also the heads that guess ahead
    variants  in decode, put a component's decode variant in its place
    storage   how weights are stored, where not as the checkpoint has them
    states    dtype of recurrent states, where not what their component says
    """
    if phase not in PHASES:
        raise SpecError("unknown-phase", "phase", "prefill or decode", phase, nearest(phase, PHASES))
    variants = variants and phase == "decode"
    return _Expansion(model, phase, storage or model.storage, states, drafts=drafts, variants=variants).run()


@dataclass(slots=True)
class _Place:
    """Where a component is being expanded."""

    path: str
    slot: str
    group: int
    scope: Scope
    depth: int
    ops: Mapping[str, Op]
    components: Mapping[str, ComponentSpec]
    copies: Tree = 1
    active: Tree = 1


@dataclass(slots=True)
class _Expansion:
    model: Model
    phase: str
    storage: Storage
    states: str | None
    drafts: bool
    variants: bool
    nodes: list[Node] = field(default_factory=list[Node])
    groups: list[Group] = field(default_factory=list[Group])
    instances: list[Instance] = field(default_factory=list[Instance])
    seams: list[Seam] = field(default_factory=list[Seam])
    ids: dict[str, int] = field(default_factory=dict[str, int])
    overrides: set[int] = field(default_factory=set[int])
    ties: dict[str, Tie] = field(default_factory=dict[str, Tie])  # node id -> what it shares its weight with

    def run(self) -> Graph:
        outputs: dict[str, tuple[int, ...]] = {"tokens": (TOKENS,), "positions": (POSITIONS,)}
        for stage in self.model.spec.stages:
            if stage.part == "draft" and not self.drafts:
                continue
            inputs = tuple(node for name in stage.inputs for node in outputs[name])
            outputs[stage.name] = self._stage(stage, inputs)
        return Graph(
            self.phase,
            tuple(self.nodes),
            tuple(self.groups),
            tuple(self.instances),
            tuple(self.seams),
            frozenset(self.overrides),
        )

    def _stage(self, stage: Stage, inputs: tuple[int, ...]) -> tuple[int, ...]:
        if stage.use is not None:
            self.groups.append(Group(stage.name, stage.name, None, None, 1, stage.part))
            self._tie(stage, stage.name)
            outputs = self._use(self._chosen(stage.use), inputs, self._root(stage.name, stage.name), {})
            self._check_tied(stage, stage.name)
            return outputs
        schedule = stage.schedule
        assert schedule is not None  # read_model gives every repeated stage one
        layers = self.model.layers[stage.name]
        kinds = tuple(dict.fromkeys(layers))
        many = len({rule.block for rule in schedule.rules} | set(schedule.blocks.values())) > 1
        outputs = inputs
        for block in kinds:
            name = f"{stage.name}.{block}" if many else stage.name
            count = self.model.counts[stage.name, block]
            self._check_names(count, {}, stage.where)
            first = evaluate_tree(stage.first, self.model.dims.__getitem__)
            indices = tuple(first + index for index, kind in enumerate(layers) if kind == block)
            self.groups.append(Group(name, stage.name, block, indices, count, stage.part))
            use = self._chosen(self.model.spec.blocks[block])
            self._tie(stage, name)
            outputs = self._use(use, inputs, self._root(name, block), {})
            self._check_tied(stage, name)
            if len(outputs) != 1:
                raise SpecError(
                    "carried-stream",
                    use.where,
                    "a block that gives the carried stream alone",
                    f"{len(outputs)} outputs",
                    "give the block one output",
                )
            self.seams.append(Seam(stage.carries or "", inputs[0], outputs[0], use.where))
        return outputs

    def _tie(self, stage: Stage, path: str) -> None:
        self.ties |= {f"{path}.{tie.node}": tie for tie in stage.ties}

    def _check_tied(self, stage: Stage, path: str) -> None:
        for tie in stage.ties:
            if f"{path}.{tie.node}" not in self.ids:
                raise SpecError("unknown-node", tie.where, f"a node of {path}", tie.node, "name the tied node")

    def _chosen(self, use: Use) -> Use:
        """Let the config decide between cases."""

        def look_up(name: str) -> Any:
            if not name.startswith("config."):
                if name in self.model.unbound:
                    raise self.model.unbound[name]
                return self.model.dims[name]
            key = name.removeprefix("config.")
            config = self.model.config
            return config_number(config, key, flags=True) if config.facts.get(key.split(".")[0]) is not None else 0

        for when, case in use.cases:
            try:
                holds = evaluate_tree(when, look_up)
            except ZeroDivisionError:
                raise SpecError(
                    "config-out-of-range", case.where, "no division by zero", print_tree(when), "correct the condition"
                ) from None
            if holds:
                return case
        return use

    def _root(self, path: str, slot: str) -> _Place:
        return _Place(path, slot, len(self.groups) - 1, {}, 0, {}, {})

    def _use(self, use: Use, inputs: tuple[int, ...], place: _Place, outer: Mapping[str, bool]) -> tuple[int, ...]:
        component = self._find(use.component, place, use.where)
        if place.depth > _MAX_NESTING:
            raise SpecError(
                "nested-too-deep",
                use.where,
                f"components nested at most {_MAX_NESTING} deep",
                place.path,
                "a component must not contain itself",
            )
        if len(inputs) != len(component.inputs):
            raise SpecError(
                "wrong-inputs",
                use.where,
                f"{component.name} takes {len(component.inputs)}: {', '.join(component.inputs)}",
                f"{len(inputs)} inputs",
                "list one node per input",
            )
        for name in use.switches:
            if name not in component.switches:
                raise SpecError(
                    "unknown-switch",
                    use.where,
                    f"a switch of {component.name}",
                    name,
                    nearest(name, tuple(component.switches)),
                )
        for name in use.slots:
            if name not in component.slots:
                raise SpecError(
                    "unknown-slot",
                    use.where,
                    f"a slot of {component.name}",
                    name,
                    nearest(name, tuple(component.slots)),
                )
        switches = {
            name: switch_value(self.model.config, use.switches.get(name, False), outer, use.where)
            for name in component.switches
        }
        self._check_facts(component, place.scope)
        first = len(self.nodes)
        at: dict[str, int] = dict(zip(component.inputs, inputs, strict=True))
        inner = _Place(
            place.path,
            place.slot,
            place.group,
            place.scope,
            place.depth + 1,
            {**place.ops, **component.ops},
            {**place.components, **component.components},
            place.copies,
            place.active,
        )
        self.instances.append(Instance(place.path, place.slot, component, place.group, first, first, place.scope))
        mine = len(self.instances) - 1
        for node in ordered(component):
            sources = tuple(at[name] for name in node.inputs)
            if node.when is not None and not switches[node.when]:
                at[node.name] = sources[0]
            else:
                at[node.name] = self._node(node, component, use, sources, inner, switches)
        self.instances[mine] = Instance(
            place.path, place.slot, component, place.group, first, len(self.nodes), place.scope, place.copies
        )
        return tuple(at[name] for name in component.outputs)

    def _find(self, name: str, place: _Place, where: str) -> ComponentSpec:
        library, spec = self.model.library, self.model.spec
        component = find_component(library, spec, name, place.components, where)
        if self.variants and component.decode_variant is not None:
            return find_component(library, spec, component.decode_variant, place.components, component.where)
        return component

    def _node(
        self,
        node: NodeSpec,
        component: ComponentSpec,
        use: Use,
        sources: tuple[int, ...],
        place: _Place,
        switches: Mapping[str, bool],
    ) -> int:
        path = f"{place.path}.{node.name}"
        dims = {name: self._lower(tree, place.scope, node.where) for name, tree in node.dims.items()}
        if node.op is not None:
            return self._op(node, component, sources, place, switches, dims, path)
        if node.slot is not None:
            filled = use.slots.get(node.slot)
            if filled is None:
                raise SpecError(
                    "empty-slot",
                    use.where,
                    f"slots with {node.slot}: a component of role {' or '.join(component.slots[node.slot])}",
                    "none",
                    f"fill the slot {node.slot}",
                )
            filled = self._chosen(filled)
            wanted = component.slots[node.slot]
            found = self._find(filled.component, place, filled.where)
            if found.role not in wanted:
                raise SpecError(
                    "wrong-role",
                    filled.where,
                    f"a component of role {' or '.join(wanted)} for the slot {node.slot}",
                    f"{found.name}, of role {found.role}",
                    "fill the slot with another component",
                )
            given = {name: self._lower(tree, {}, filled.where) for name, tree in filled.dims.items()}
        else:
            filled = node.use
            assert filled is not None
            given = {}
        inner = _Place(
            path,
            node.slot or node.name,
            place.group,
            {**place.scope, **given, **dims},
            place.depth,
            place.ops,
            place.components,
            _times(place.copies, self._lower(node.copies, place.scope, node.where)),
            _times(place.active, self._lower(node.active or node.copies, place.scope, node.where)),
        )
        outputs = self._use(filled, sources, inner, switches)
        if len(outputs) != 1:
            raise SpecError(
                "several-outputs",
                node.where,
                "a component with one output where a node stands for it",
                f"{filled.component} has {len(outputs)}",
                "give the component one output",
            )
        return outputs[0]

    def _op(
        self,
        node: NodeSpec,
        component: ComponentSpec,
        sources: tuple[int, ...],
        place: _Place,
        switches: Mapping[str, bool],
        dims: Mapping[str, Tree],
        path: str,
    ) -> int:
        record = {**OPS, **place.ops}[node.op or ""]
        kept = None
        for entry in component.cache:
            if entry.node == node.name:
                law = {name: self._lower(tree, place.scope, entry.where) for name, tree in entry.dims.items()}
                kept = Kept(entry.kind, entry.growth, law, entry.dtype and (self.states or entry.dtype))
        tied_to, tie = None, self.ties.get(path)
        if tie is not None and switch_value(self.model.config, tie.when, {}, tie.where):
            if tie.to not in self.ids:
                raise SpecError(
                    "unknown-node",
                    tie.where,
                    "an earlier node that stores the weight",
                    tie.to,
                    nearest(tie.to, tuple(self.ids)),
                )
            tied_to = tie.to
        index = len(self.nodes)
        if index >= _MAX_NODES:
            raise SpecError(
                "graph-too-large", node.where, f"at most {_MAX_NODES} nodes", "more", "use a repeated stack"
            )
        self.ids[path] = index
        self.nodes.append(
            Node(
                id=path,
                op=record,
                inputs=sources,
                dims=dims,
                switches={
                    name: value if isinstance(value, bool) else switches[value]
                    for name, value in (node.switches or {}).items()
                },
                choices=node.choices or {},
                role=node.role or component.role,
                component=component.name,
                group=place.group,
                kept=kept,
                tied_to=tied_to,
                part_of=None if node.part_of is None else f"{place.path}.{node.part_of}",
                cuts={name: self._lower(dim, place.scope, node.where) for name, dim in (node.cuts or {}).items()},
                copies=place.copies,
                active=place.active,
                dtype=self.storage.dtype,
                formats=self._formats(record, path, node.role or component.role, self.groups[place.group]),
                where=f"{node.where.split(' ')[0]} {path}",
            )
        )
        return index

    def _formats(self, record: Op, path: str, role: str, group: Group) -> dict[str, tuple[Stored, ...]]:
        """Decide how each weight of a node is stored, layer by layer where a list of modules may tell layers apart."""
        found: dict[str, tuple[Stored, ...]] = {}
        spec = self.model.spec
        for weight in record.weights:
            parts = weight_path(group.stage, group.name, path, weight.name)
            dtype = mapped(spec.dtypes, parts)
            module = mapped(spec.modules, parts)
            name = path if module is None else ".".join((module[0], *parts[module[1] :])).removesuffix(".weight")
            linear = record.family == "linear" and weight.name == "weight"
            layers: dict[Format, list[int]] = {}
            for layer in group.layers or (None,):
                concrete = name.replace("{i}", str(layer)).replace("{e}", "0")
                made, override = format_of(self.storage, concrete, role, dtype and dtype[0], linear=linear)
                layers.setdefault(made, []).extend(() if layer is None else (layer,))
                if override is not None:
                    self.overrides.add(override)
            found[weight.name] = tuple(Stored(made, tuple(indices)) for made, indices in layers.items())
        return found

    def _lower(self, tree: Tree, scope: Scope, where: str) -> Tree:
        """Rewrite a length into the model's names, refusing names that mean nothing there."""
        lowered = substitute(tree, scope)
        self._check_names(lowered, scope, where)
        return lowered

    def _check_facts(self, component: ComponentSpec, scope: Scope) -> None:
        """What a component says of itself beside its nodes must use names that mean something, too."""
        for rule in component.invariants:
            self._lower(rule.tree, scope, rule.where)
        where = f"{component.where} {component.name}.cache.labels"
        for label in component.labels:
            if label.when is None:
                continue
            for name in names(self._lower(label.when, scope, where)):
                if name not in self.model.dims:
                    raise SpecError(
                        "undeclared-dim", where, "dims of the model", f"{name}, which the step sets", "compare a dim"
                    )

    def _check_names(self, tree: Tree, scope: Scope, where: str) -> None:
        model = self.model
        table = model.library.dims.dims
        for name in names(tree):
            if name in model.dims:
                continue
            if name in model.unbound:
                raise model.unbound[name]
            if name in table and table[name].kind == RUN:
                continue
            if name in table:
                raise SpecError(
                    "unbound-dim",
                    where,
                    f"dims of {model.spec.name} to give {name} a value",
                    "none",
                    f"add {name} to the dims of {model.spec.name}, or pass it where the component is used",
                )
            raise SpecError(
                "undeclared-dim",
                where,
                "names of dims.yaml",
                f"{name} in {print_tree(tree)}",
                nearest(name, (*scope, *table)),
            )


def _times(a: Tree, b: Tree) -> Tree:
    return b if a == 1 else a if b == 1 else ("*", a, b)


def substitute(tree: Tree, scope: Scope) -> Tree:
    """Replace names by what they mean."""
    if isinstance(tree, str):
        return scope.get(tree, tree)
    if isinstance(tree, int):
        return tree
    return (tree[0], *(substitute(part, scope) for part in tree[1:]))
