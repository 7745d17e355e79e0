"""Reads a component: its graph, its cache, and what it asks of whoever uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rooflight.dims import AxesError
from rooflight.expr import Tree, names
from rooflight.ops import MASK_DIMS, OPS, Op, op
from rooflight.spec.located import Section
from rooflight.spec.reader import Reader, described, nearest
from rooflight.spec.records import (
    GROWTH,
    CacheEntry,
    ComponentSpec,
    Invariant,
    Label,
    NodeSpec,
    Switch,
    Use,
)
from rooflight.values import BITS, SpecError

T = TypeVar("T")

INVARIANTS = ("params", "cache_elements_per_token", "cache_elements")


def read_component(name: str, section: Any, place: str, roles: Mapping[str, str]) -> ComponentSpec:
    """Check one component for form. Raises SpecError at the first fault."""
    reader = Reader(section, name, place)
    doc = reader.text("doc")
    role = reader.word("role", tuple(roles))
    inputs = reader.words("inputs", ("x",))
    switches = {key: _one_text(reader.sub("switches", Section(place)), key) for key in _keys(reader, "switches")}
    slots = {key: _roles(reader.sub("slots"), key, roles) for key in _keys(reader, "slots")}
    ops = {key: _read_op(key, sub) for key, sub in reader.entries("ops", Section(place))}
    components = {
        key: read_component(key, reader.section["components"][key], sub.where(), roles)
        for key, sub in reader.entries("components", Section(place))
    }
    graph = {key: _read_node(key, sub, OPS | ops, tuple(switches), roles) for key, sub in reader.entries("graph")}
    if not graph:
        raise SpecError(
            "empty-graph", reader.where("graph"), "at least one node", "none", "write the component's nodes"
        )
    for node in graph.values():
        if node.name in inputs:
            raise SpecError("name-taken", node.where, "a name no input has", node.name, "rename the node")
        _check_inputs(node, inputs, graph)
        if node.slot is not None and node.slot not in slots:
            raise SpecError(
                "unknown-slot",
                node.where,
                "one of " + (", ".join(slots) or "no slots"),
                node.slot,
                "declare it in slots",
            )
    labels, entries = _read_cache(reader, graph, OPS | ops)
    outputs = reader.words("outputs")
    for output in outputs:
        if output not in graph:
            raise SpecError(
                "unknown-node", reader.where("outputs"), "a node of the graph", output, nearest(output, tuple(graph))
            )
    decode_variant = reader.maybe_text("decode_variant")
    paths = _read_paths(reader, graph)
    invariants = _read_invariants(reader)
    reader.done()
    return ComponentSpec(
        name=name,
        doc=doc,
        role=role,
        inputs=inputs,
        outputs=outputs,
        slots=slots,
        switches=switches,
        cache=entries,
        decode_variant=decode_variant,
        labels=labels,
        graph=graph,
        paths=paths,
        invariants=invariants,
        ops=ops,
        components=components,
        where=place,
    )


def _keys(reader: Reader, key: str) -> tuple[str, ...]:
    return reader.sub(key, Section(reader.section.at())).names()


def _one_text(reader: Reader, key: str) -> str:
    return reader.text(key)


def _roles(section: Reader, slot: str, roles: Mapping[str, str]) -> tuple[str, ...]:
    if not isinstance(section.any(slot), list):
        return (section.word(slot, tuple(roles)),)
    taken = section.words(slot)
    for role in taken:
        if role not in roles:
            raise SpecError(
                "unknown-role", section.where(slot), "roles of roles.yaml", role, nearest(role, tuple(roles))
            )
    return taken


def _read_op(name: str, reader: Reader) -> Op:
    """Read an op that a spec declares for itself."""
    if name in OPS:
        raise SpecError("name-taken", reader.where(), "a name no built-in op has", name, "rename the op")
    weights_reader = reader.sub("weights", Section(reader.section.at()))
    fields: dict[str, Any] = {
        "summary": reader.text("summary"),
        "axes": reader.text("axes"),
        "dims": reader.words("dims", ()),
        "weights": {key: weights_reader.text(key) for key in weights_reader.names()},
        "matmul": _formula(reader, "matmul"),
        "other": _formula(reader, "other"),
        "view": reader.flag("view", default=False),
    }
    reader.done()
    try:
        record = op(name, family="declared", **fields)
    except AxesError as error:
        raise SpecError(
            "bad-axes", reader.where("axes"), "an axes line, e.g. x[... in] -> [... out]", str(error), "rewrite it"
        ) from None
    given = {*record.dims, *(word for axes in record.map.inputs for axis in axes for word in axis)}
    for key, shapes in (("axes", [record.map.output]), ("weights", [weight.axes for weight in record.weights])):
        for used in [word for axes in shapes for axis in axes for word in axis]:
            if used not in given:
                raise SpecError(
                    "undeclared-name",
                    reader.where(key),
                    "axes of the inputs, or names of dims",
                    used,
                    nearest(used, tuple(given)),
                )
    known = {*record.map.names(), *record.dims, *record.switches, "rows"}
    for key, tree in (("matmul", record.matmul), ("other", record.other)):
        for used in names(tree):
            if used not in known:
                raise SpecError(
                    "undeclared-name",
                    reader.where(key),
                    "axis names of the op, or rows",
                    used,
                    nearest(used, tuple(known)),
                )
    return record


def _formula(reader: Reader, key: str) -> str | int:
    value = reader.any(key, 0)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SpecError("wrong-type", reader.where(key), "a formula", described(value), "write it as text")
    reader.parsed(key, value)
    return value


def read_switches(reader: Reader, key: str = "switches") -> dict[str, Switch]:
    """Read yes/no settings: true, false, the name of a switch of the enclosing component, or config.KEY."""
    section = reader.sub(key, Section(reader.section.at()))
    return {name: _switch(section, name) for name in section.names()}


def _switch(reader: Reader, key: str) -> Switch:
    value = reader.any(key)
    if isinstance(value, bool | str):
        return value
    raise SpecError(
        "wrong-type", reader.where(key), "true, false, a switch or config.KEY", described(value), "write one of these"
    )


def read_lengths(reader: Reader, key: str = "dims") -> dict[str, Tree]:
    """Read a mapping of names to length expressions."""
    section = reader.sub(key, Section(reader.section.at()))
    return {name: section.length(name) for name in section.names()}


def read_use(reader: Reader) -> Use:
    """Read a component put in a place, with what it is given, or the cases between which a config decides."""
    if "cases" in reader.section:
        return _read_cases(reader)
    use = Use(
        component=reader.text("use"),
        dims=read_lengths(reader),
        switches=read_switches(reader),
        slots={slot: read_use(sub) for slot, sub in reader.entries("slots", Section(reader.section.at()))},
        where=reader.where(),
    )
    reader.done()
    return use


def _read_cases(reader: Reader) -> Use:
    cases: list[tuple[Tree, Use]] = []
    last: Use | None = None
    for item in reader.items("cases"):
        if last is not None:
            raise SpecError(
                "case-order", item.where(), "nothing after the case without `when`", "another case", "move it up"
            )
        when = item.condition("when", None)
        use = read_use(item)
        if when is None:
            last = use
        else:
            cases.append((when, use))
    reader.done()
    if last is None:
        raise SpecError(
            "case-order", reader.where("cases"), "a last case without `when`", "none", "say what holds otherwise"
        )
    return last._replace(cases=tuple(cases))


def _read_node(
    name: str, reader: Reader, ops: Mapping[str, Op], switches: tuple[str, ...], roles: Mapping[str, str]
) -> NodeSpec:
    kinds = [key for key in ("op", "use", "slot") if key in reader.section]
    if len(kinds) != 1:
        raise SpecError(
            "node-kind",
            reader.where(),
            "exactly one of op, use, slot",
            " and ".join(kinds) or "none of them",
            "keep one",
        )
    inputs = reader.words("in")
    dims = read_lengths(reader)
    when = reader.maybe_text("when")
    role = reader.maybe_text("role")
    if role is not None and role not in roles:
        raise SpecError("unknown-role", reader.where("role"), "a role of roles.yaml", role, nearest(role, tuple(roles)))
    if when is not None and when not in switches:
        raise SpecError(
            "unknown-switch", reader.where("when"), "a switch of the component", when, nearest(when, switches)
        )
    where = reader.where()
    if kinds == ["slot"]:
        slot = reader.text("slot")
        reader.done()
        return NodeSpec(name, inputs, dims, where, slot=slot, role=role, when=when)
    if kinds == ["use"]:
        use = Use(
            component=reader.text("use"),
            dims=dims,
            switches=read_switches(reader),
            slots={slot: read_use(sub) for slot, sub in reader.entries("slots", Section(reader.section.at()))},
            where=where,
        )
        copies = reader.length("copies", 1)
        active = reader.maybe_length("active")
        reader.done()
        return NodeSpec(name, inputs, dims, where, use=use, role=role, when=when, copies=copies, active=active)
    return _read_op_node(name, reader, ops, switches, NodeSpec(name, inputs, dims, where, role=role, when=when))


def _read_op_node(
    name: str, reader: Reader, ops: Mapping[str, Op], switches: tuple[str, ...], bare: NodeSpec
) -> NodeSpec:
    op_name = reader.text("op")
    record = ops.get(op_name)
    if record is None:
        raise SpecError("unknown-op", reader.where("op"), "an op of docs/ops.md", op_name, nearest(op_name, tuple(ops)))
    given: dict[str, Switch] = {}
    for key in record.switches:
        value = reader.any(key, default=False)
        if isinstance(value, str) and value not in switches:
            raise SpecError(
                "unknown-switch",
                reader.where(key),
                "true, false or a switch of the component",
                value,
                nearest(value, switches),
            )
        if not isinstance(value, bool | str):
            raise SpecError("wrong-type", reader.where(key), "true, false or a switch", described(value), "write one")
        given[key] = value
    choices = {key: reader.word(key, legal, legal[0]) for key, legal in record.choices.items()}
    wanted = (*record.dims, *MASK_DIMS.get(choices.get("mask", ""), ()))
    for dim in wanted:
        if dim not in bare.dims:
            raise SpecError(
                "missing-dim", bare.where, f"dims with {', '.join(wanted)}", f"no {dim}", f"add {dim} to dims"
            )
    for dim in bare.dims:
        if dim not in wanted:
            raise SpecError(
                "unknown-dim", bare.where, f"dims with {', '.join(wanted) or 'no names'}", dim, nearest(dim, wanted)
            )
    if len(bare.inputs) != len(record.map.inputs):
        raise SpecError(
            "wrong-inputs",
            bare.where,
            f"{len(record.map.inputs)} inputs: {record.axes}",
            f"{len(bare.inputs)}: {', '.join(bare.inputs)}",
            "list one node per operand",
        )
    part_of = reader.maybe_text("part_of")
    cuts_reader = reader.sub("cuts", Section(reader.section.at()))
    cuts = {axis: cuts_reader.text(axis) for axis in cuts_reader.names()}
    for axis in cuts:
        if axis not in bare.dims:
            known = ", ".join(bare.dims) or "none"
            raise SpecError(
                "unknown-dim",
                cuts_reader.where(axis),
                f"an axis of dims: {known}",
                axis,
                nearest(axis, tuple(bare.dims)),
            )
    reader.done()
    return NodeSpec(
        name,
        bare.inputs,
        bare.dims,
        bare.where,
        op=op_name,
        switches=given,
        choices=choices,
        role=bare.role,
        when=bare.when,
        part_of=part_of,
        cuts=cuts,
    )


def _check_inputs(node: NodeSpec, inputs: tuple[str, ...], graph: Mapping[str, NodeSpec]) -> None:
    for source in node.inputs:
        if source not in inputs and source not in graph:
            known = (*inputs, *graph)
            raise SpecError(
                "unknown-node",
                node.where,
                "a node of the graph or an input: " + ", ".join(inputs),
                source,
                nearest(source, known),
            )


def _read_cache(
    reader: Reader, graph: Mapping[str, NodeSpec], ops: Mapping[str, Op]
) -> tuple[tuple[Label, ...], tuple[CacheEntry, ...]]:
    if "cache" not in reader.section:
        reader.any("cache", None)
        return (), ()
    cache = reader.sub("cache")
    labels = tuple(
        _finished(item, Label(item.text("label"), item.condition("when", None))) for item in cache.items("labels", [])
    )
    entries: list[CacheEntry] = []
    for item in cache.items("entries"):
        node = item.text("node")
        if node not in graph:
            raise SpecError(
                "unknown-node", item.where("node"), "a node of the graph", node, nearest(node, tuple(graph))
            )
        if graph[node].op is None:
            raise SpecError(
                "unknown-node", item.where("node"), "a node of the graph that is an op", node, "cache a node inside it"
            )
        if any(entry.node == node for entry in entries):
            raise SpecError(
                "name-taken", item.where("node"), "one entry per node", f"{node} twice", "keep one of the two"
            )
        growth = item.word("growth", tuple(GROWTH), "per_token")
        _check_law(item, growth, ops[graph[node].op or ""])
        dims = read_lengths(item)
        if set(dims) != set(GROWTH[growth]):
            raise SpecError(
                "missing-dim",
                item.where(),
                f"dims with {', '.join(GROWTH[growth]) or 'no names'}",
                ", ".join(dims) or "none",
                f"growth {growth} takes exactly these",
            )
        dtype = item.word("dtype", tuple(BITS)) if "dtype" in item.names() else None
        source, quote = (None, None) if dtype is None else (item.text("source"), item.text("quote"))
        entries.append(
            _finished(item, CacheEntry(node, item.text("kind"), growth, dims, item.where(), dtype, source, quote))
        )
    cache.done()
    return labels, tuple(entries)


def _check_law(item: Reader, growth: str, record: Op) -> None:
    """Only what an op carries itself is constant; a dtype of its own is a state's, of which nobody reads positions."""
    constant = growth == "constant"
    if constant != (record.state is not None):
        expected = "an op that carries a state" if constant else "growth: constant, for the state that the op carries"
        got = f"{record.name}, which carries none" if constant else f"growth: {growth}"
        fix = "give the entry another growth, or another node" if constant else "write growth: constant"
        raise SpecError("cache-state", item.where(), expected, got, fix)
    if "dtype" in item.names() and not constant:
        raise SpecError(
            "cache-state",
            item.where("dtype"),
            "a dtype of its own for a constant entry only",
            f"growth: {growth}",
            "leave it out: --precision decides the dtype of what grows",
        )


def _finished(reader: Reader, record: T) -> T:
    """Return the record once nothing of the mapping is left unread."""
    reader.done()
    return record


def _read_paths(reader: Reader, graph: Mapping[str, NodeSpec]) -> dict[str, tuple[str, ...]]:
    section = reader.sub("paths", Section(reader.section.at()))
    paths = {title: section.words(title) for title in section.names()}
    if not paths:
        return {}
    listed = [node for nodes in paths.values() for node in nodes]
    for node in listed:
        if node not in graph:
            raise SpecError("unknown-node", section.where(), "nodes of the graph", node, nearest(node, tuple(graph)))
    wrong = next((n for n in graph if listed.count(n) != 1), None)
    if wrong is not None:
        raise SpecError(
            "paths-cover",
            section.where(),
            "every node in exactly one path",
            f"{wrong} in {listed.count(wrong)}",
            f"list {wrong} once",
        )
    return paths


def _read_invariants(reader: Reader) -> tuple[Invariant, ...]:
    section = reader.sub("invariants", Section(reader.section.at()))
    for key in section.names():
        if key not in INVARIANTS:
            raise SpecError(
                "unknown-key", section.where(key), "one of " + ", ".join(INVARIANTS), key, nearest(key, INVARIANTS)
            )
    return tuple(Invariant(key, section.length(key), section.where(key)) for key in section.names())
