"""The pages about what specs/ and the table of ops hold."""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docs_markdown import code, codes, page, sentence, table

from rooflight.dims import RUN
from rooflight.edge.library import open_catalog
from rooflight.expr import print_tree
from rooflight.hardware import FACTS
from rooflight.ops import OPS

if TYPE_CHECKING:
    from rooflight.spec import ModelSpec, Use

ROOT = Path(__file__).resolve().parents[1]
CATALOG = open_catalog()
LIBRARY = CATALOG.library

_LARGEST = 2**40
_OPS = """\
Every primitive op, from `engine/rooflight/ops/`. The axes line says how the axes of the inputs become those of the
output: `...` are any leading axes, parentheses merge axes, a name that the output lacks is summed over. `rows` is the
product of the leading axes, `pairs` the number of (query, key) pairs of one head and sequence that the mask lets
through, and a switch is 1 where it is on and 0 where it is off. A multiply-add counts two.
[Counting](counting.md) gives the reasons."""
_DIMS = """\
Every name a spec may use as a length or a count, from `specs/dims.yaml`. A model spec gives each of its dims a value
from the config; a `run` dim is set by the step."""
_CONSTRAINTS = """\
## Constraints

Each holds in any model that gives all its names a value; a config that breaks one is refused."""
_MODELS = """\
What `specs/models/` covers. Any config that names one of the classes is read, whatever its sizes: a fine-tune or a size
nobody published needs no new spec."""


def reasons() -> dict[tuple[str, str], str]:
    """(op, field) -> the comment that stands beside the field in the op's record."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted((ROOT / "engine" / "rooflight" / "ops").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        comments: dict[int, str] = {}
        alone: dict[int, str] = {}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                kind = alone if token.line.lstrip().startswith("#") else comments
                kind[token.start[0]] = token.string.lstrip("# ")
        for line in comments:  # a comment goes on in the lines below it
            further = line + 1
            while further in alone:
                comments[line] += f" {alone[further]}"
                further += 1
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "op" and call.args:
                name = ast.literal_eval(call.args[0])
                for keyword in call.keywords:
                    comment = comments.get(keyword.value.end_lineno or 0)
                    if comment and keyword.arg:
                        found[name, keyword.arg] = comment
    return found


def ops() -> str:
    """docs/ops.md."""
    families: dict[str, list[Any]] = {}
    for record in OPS.values():
        families.setdefault(record.family, []).append(record)
    parts = [_OPS]
    why = reasons()
    for family, records in families.items():
        parts.append(f"## {family.capitalize()} ops")
        for record in records:
            rows = [
                ("axes", code(record.axes)),
                ("`dims:` a node gives", codes(record.dims)),
                (
                    "stores",
                    ", ".join(
                        f"`{w.name}[{_axes(w.axes)}]`" + (f" if `{w.switch}`" if w.switch else "")
                        for w in record.weights
                    ),
                ),
                ("matrix FLOPs", _work(record.matmul, why.get((record.name, "matmul")))),
                ("other FLOPs", _work(record.other, why.get((record.name, "other")))),
                ("where", "; ".join(f"`{name}` = {code(print_tree(tree))}" for name, tree in record.lengths.items())),
                ("carries", "" if record.state is None else f"a state `[{_axes(record.state)}]` from step to step"),
                ("weight elements read", _work(record.reads, why.get((record.name, "reads")))),
                ("choices", "; ".join(f"`{key}`: " + codes(words) for key, words in record.choices.items())),
                ("moves", _moves(record)),
            ]
            parts.append(
                f"### {record.name}\n\n{sentence(record.summary)}\n\n"
                + table(("field", "value"), [r for r in rows if r[1]])
            )
    return page("Ops", *parts)


def _axes(axes: Any) -> str:
    return " ".join("1" if not axis else axis[0] if len(axis) == 1 else f"({' '.join(axis)})" for axis in axes)


def _work(tree: Any, why: str | None) -> str:
    if tree is None or tree == 0:
        return ""
    return code(print_tree(tree)) + (f": {why}" if why else "")


def _moves(record: Any) -> str:
    if record.view:
        return "nothing: the output is another look at the input"
    if record.on_chip:
        return "its inputs; the output stays in the kernel that consumes it"
    return ""


def elementwise() -> str:
    """The operations that one element of each op's work takes, and what they are."""
    why = reasons()
    rows = [
        (
            f"[`{record.name}`](ops.md#{record.name})",
            code(print_tree(record.other)),
            why.get((record.name, "other"), ""),
        )
        for record in OPS.values()
        if record.other not in (0, None)
    ]
    return table(("op", "other FLOPs", "what they are"), rows)


def dims() -> str:
    """docs/dims.md."""
    known = LIBRARY.dims
    parts = [
        _DIMS,
        "## Kinds\n\n" + table(("kind", "what it is"), [(code(kind), text) for kind, text in known.kinds.items()]),
    ]
    rows = []
    for dim in known.dims.values():
        users = [
            f"{code(print_tree(spec.dims[dim.name]))} in {spec.name}"
            for spec in LIBRARY.models.values()
            if dim.name in spec.dims
        ]
        rows.append(
            (code(dim.name), dim.kind, dim.meaning, _range(dim), "the step" if dim.kind == RUN else _short(users))
        )
    parts.append("## All dims\n\n" + table(("dim", "kind", "meaning", "legal", "value"), rows))
    constraints = [(code(rule.text), rule.why) for rule in known.constraints]
    parts.append(_CONSTRAINTS + "\n\n" + table(("rule", "why"), constraints))
    return page("Dims", *parts)


def _range(dim: Any) -> str:
    return f"{dim.minimum:,} or more" if dim.maximum >= _LARGEST else f"{dim.minimum:,} to {dim.maximum:,}"


def _short(users: list[str]) -> str:
    sources: dict[str, list[str]] = {}
    for user in users:
        source, _, name = user.rpartition(" in ")
        sources.setdefault(source, []).append(name)
    return "; ".join(f"{source} ({', '.join(names)})" for source, names in sources.items())


def roles() -> str:
    """docs/roles.md."""
    rows = []
    for role, meaning in LIBRARY.roles.items():
        members = [f"[{c.name}](components.md#{c.name})" for c in LIBRARY.components.values() if c.role == role]
        rows.append((code(role), meaning, ", ".join(members)))
    return page(
        "Roles",
        "What a component is for, from `specs/roles.yaml`. A slot takes components of one role, and parameters are "
        "reported by role. A node belongs to the role of its component unless it names its own.",
        table(("role", "meaning", "components"), rows),
    )


def components() -> str:
    """docs/components.md."""
    parts = ["The library, from `specs/components/`. [The spec language](spec-language.md) explains the fields."]
    for component in sorted((*LIBRARY.components.values(), *LIBRARY.drafts.values()), key=lambda c: c.name):
        base = _extends(component.name)
        draft = component.name in LIBRARY.drafts
        rows = [
            ("role", code(component.role) + (" (draft)" if draft else "")),
            ("extends", f"[{base}](#{base})" if base else ""),
            ("takes", codes(component.inputs)),
            (
                "slots",
                "; ".join(
                    f"`{slot}`: a component of role {' or '.join(map(code, roles))}"
                    for slot, roles in component.slots.items()
                ),
            ),
            ("switches", "; ".join(f"`{name}`: {meaning}" for name, meaning in component.switches.items())),
            ("cache", "; ".join(_kept(entry) for entry in component.cache)),
            ("known as", "; ".join(_label(label) for label in component.labels)),
            (
                "in decode",
                f"[{component.decode_variant}](#{component.decode_variant})" if component.decode_variant else "",
            ),
            ("invariants", "; ".join(f"{rule.quantity} = `{print_tree(rule.tree)}`" for rule in component.invariants)),
            ("used by", ", ".join(users(component.name))),
        ]
        parts.append(
            f"## {component.name}\n\n{component.doc}\n\n"
            + table(("field", "value"), [row for row in rows if row[1]])
            + "\n\n```text\n"
            + "\n".join(_node(name, node) for name, node in component.graph.items())
            + "\n```"
        )
    return page("Components", *parts)


def _extends(name: str) -> str:
    for folder in ("components", "drafts"):
        path = ROOT / "specs" / folder / f"{name}.yaml"
        if path.is_file():
            found = re.search(r"^extends: *(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            return found[1] if found else ""
    return ""


def _kept(entry: Any) -> str:
    law = entry.growth.replace("_", " ")
    given = ", ".join(f"{name} {code(print_tree(tree))}" for name, tree in entry.dims.items())
    dtype = f", in `{entry.dtype}`" if entry.dtype else ""
    return f"`{entry.node}` ({entry.kind}), {law}" + (f" ({given})" if given else "") + dtype


def _label(label: Any) -> str:
    return label.text + (f" where `{print_tree(label.when)}`" if label.when is not None else "")


def _node(name: str, node: Any) -> str:
    what = node.op or (f"component {node.use.component}" if node.use else f"slot {node.slot}")
    extras = [f"{key}={print_tree(tree)}" for key, tree in node.dims.items()]
    extras += [
        f"{key}={value}"
        for key, value in {**(node.choices or {}), **(node.switches or {})}.items()
        if value is not False
    ]
    extras += [f"when {node.when}"] if node.when else []
    return f"{name} = {what}({', '.join(node.inputs)})" + (f"  [{'; '.join(extras)}]" if extras else "")


def users(name: str) -> list[str]:
    """What uses a component: models by their stages and blocks, components by their nodes."""
    found = [
        f"[{spec.name}](models.md#{spec.name})" for spec in LIBRARY.models.values() if name in _used_by_model(spec)
    ]
    for other in (*LIBRARY.components.values(), *LIBRARY.drafts.values()):
        inside = {use for node in other.graph.values() if node.use for use in _used(node.use)}
        if name in inside or _extends(other.name) == name or other.decode_variant == name:
            found.append(f"[{other.name}](#{other.name})")
    return found


def _used_by_model(spec: ModelSpec) -> set[str]:
    uses = [*spec.blocks.values(), *(stage.use for stage in spec.stages if stage.use is not None)]
    return {name for use in uses for name in _used(use)}


def _used(use: Use) -> Iterator[str]:
    yield use.component
    for inner in use.slots.values():
        yield from _used(inner)


def models() -> str:
    """docs/models.md."""
    shipped: dict[str, list[str]] = {}
    for model in CATALOG.models():
        shipped.setdefault(model.spec.name, []).append(model.id)
    parts = [
        _MODELS,
        table(
            ("spec", "classes in `architectures`", "`model_type`", "checkpoints shipped"),
            [
                (f"[{s.name}](#{s.name})", codes(s.architectures), codes(s.model_types), len(shipped.get(s.name, ())))
                for s in LIBRARY.models.values()
            ],
        ),
    ]
    parts += [_model(spec, shipped.get(spec.name, [])) for spec in LIBRARY.models.values()]
    keys = LIBRARY.config_keys
    parts.append(
        "## Read alike for every model\n\n"
        "From `specs/config_keys.yaml`; [Reading a config](config-reading.md) explains them.\n\n"
        + table(
            ("what", "keys"),
            [
                ("another spelling", "; ".join(f"`{old}` is read as `{new}`" for old, new in keys.aliases.items())),
                ("sections that hold the text model", codes(keys.text_sections)),
                ("sections unpacked", codes(keys.unpack)),
            ],
        )
        + "\n\nKeys that never change an architecture:\n\n"
        + table(("reason", "keys"), _by_reason(keys.ignores))
    )
    return page("Models", *parts)


def _model(spec: ModelSpec, ids: list[str]) -> str:
    rules = spec.config
    rows = [
        ("describes", code(spec.source)),
        ("family", spec.family),
        ("dims", "; ".join(f"`{name}` = `{print_tree(tree)}`" for name, tree in spec.dims.items())),
        ("longest context", code(print_tree(spec.max_context))),
        ("absent means", "; ".join(f"`{key}`: {_value(value)}" for key, value in rules.defaults.items())),
        ("absent or null means", "; ".join(f"`{key}`: {_value(value)}" for key, value in rules.nulls.items())),
        (
            "written for",
            "; ".join(f"`{key}`: {codes(map(_json, values), ' or ')}" for key, values in rules.expects.items()),
        ),
        ("keys bound", codes(bound_keys(spec))),
        ("keys knowingly ignored", "; ".join(f"{codes(keys)}: {why}" for why, keys in _reasons(rules.ignores))),
        ("components", ", ".join(f"[{name}](components.md#{name})" for name in sorted(_used_by_model(spec)))),
        ("checkpoints shipped", codes(ids)),
    ]
    return f"## {spec.name}\n\n{spec.doc}\n\n" + table(("field", "value"), [row for row in rows if row[1]])


def _by_reason(ignores: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(why, codes(keys)) for why, keys in _reasons(ignores)]


def _reasons(ignores: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for key, why in ignores.items():
        found.setdefault(why, []).append(key)
    return list(found.items())


def _value(value: Any) -> str:
    return code(print_tree(value.tree) if hasattr(value, "tree") else _json(value))


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def bound_keys(spec: ModelSpec) -> list[str]:
    """Every config key the spec reads, sorted: whatever it writes as `config.KEY`, anywhere."""
    found = {text.split(".")[1] for text in _texts(spec) if text.startswith("config.")}
    return sorted(found | {*spec.config.defaults, *spec.config.nulls} - {*spec.config.expects})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _texts(inner)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _texts(getattr(value, field.name))


def gpu_facts() -> str:
    """The facts a GPU file may hold."""
    by_unit: dict[str, list[str]] = {}
    for name, unit in FACTS.items():
        by_unit.setdefault(unit, []).append(name)
    return table(("in", "facts"), [(unit, codes(names)) for unit, names in by_unit.items()])


def profiles() -> str:
    """Every precision profile."""
    rows = [
        (code(p.name), p.doc, code(p.weights), code(p.activations or ""), code(p.operands or ""), code(p.cache or ""))
        for p in LIBRARY.precisions.values()
    ]
    return table(("profile", "what it is", "weights", "activations", "operands", "cache"), rows)


def coverage() -> str:
    """What is covered, in a table short enough for the front page."""
    shipped: dict[str, list[Any]] = {}
    for model in CATALOG.models():
        shipped.setdefault(model.spec.name, []).append(model)
    rows = [
        (
            spec.name,
            spec.family,
            codes(spec.architectures),
            ", ".join(sorted(m.id.rpartition("/")[2] for m in shipped.get(spec.name, ()))),
        )
        for spec in LIBRARY.models.values()
    ]
    return table(("spec", "family", "class in config.json", "checkpoints shipped"), rows)
