"""Schedule guard: what the config says layer by layer reaches the layers, and every bound parameter reaches an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rooflight.checks.finding import Finding
from rooflight.expr import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

GUARD = "schedule"


def schedule(subject: Subject) -> Iterator[Finding]:
    """Look for per-layer lists that decide nothing, and for dims that no node uses."""
    model = subject.model
    read = {stage.schedule.list_key for stage in model.spec.stages if stage.schedule is not None}
    read |= {rule.listed for s in model.spec.stages if s.schedule is not None for rule in s.schedule.rules}
    depths = {len(layers) for layers in model.layers.values()}
    for key, value in sorted(model.config.facts.items()):
        listed = (
            isinstance(value, list) and len(cast("list[Any]", value)) in depths and len(cast("list[Any]", value)) > 1
        )
        if listed and f"config.{key}" not in read and key not in model.spec.config.ignores:
            yield Finding(
                "list-unread",
                GUARD,
                True,
                f"{model.config.where} {key}",
                "a schedule that reads the list",
                f"{len(cast('list[Any]', value))} entries that decide nothing",
                f"set schedule.list to config.{key}, or ignore the key with a reason",
            )
    yield from _words(subject)
    for name, value in unused_dims(subject).items():
        yield Finding(
            "dim-unused",
            GUARD,
            True,
            f"{model.spec.where} dims.{name}",
            "a node, count or schedule that uses it",
            f"{name} = {value} reaches no op",
            "give it to the op it belongs to, or remove it",
        )


# What the words of a config's list say of attention. Other words, of other kinds of layers, say nothing of masks.
_MASKS = {"sliding_attention": "sliding", "full_attention": "causal"}


def _words(subject: Subject) -> Iterator[Finding]:
    """A layer must look as far back as its word in the list says: a list shifted by one leaves every total as it is."""
    model = subject.model
    program = subject.programs["prefill"]
    for stage in model.spec.stages:
        key = None if stage.schedule is None else stage.schedule.list_key
        listed = None if key is None else model.config.facts.get(key.removeprefix("config."))
        if not isinstance(listed, list):
            continue
        masks = {
            layer: step.node.choices["mask"]
            for step in program.steps
            if "mask" in step.node.choices and program.graph.groups[step.node.group].stage == stage.name
            for layer in program.graph.groups[step.node.group].layers or ()
        }
        words = cast("list[Any]", listed)
        wrong = [layer for layer, mask in sorted(masks.items()) if _MASKS.get(str(words[layer]), mask) != mask]
        if wrong:
            yield Finding(
                "list-mismatch",
                GUARD,
                True,
                f"{model.config.where} {key}[{wrong[0]}]",
                f"{words[wrong[0]]}: the mask {_MASKS[str(words[wrong[0]])]}",
                f"{masks[wrong[0]]}" + (f", and {len(wrong) - 1} layers more like it" if len(wrong) > 1 else ""),
                f"correct schedule.blocks of {stage.name}, or the attention of the block",
            )


def unused_dims(subject: Subject) -> dict[str, Any]:
    """Return the dims that the config gives a value and nothing uses.

    A dim that only another kind of block would use, e.g. the window of a model without windows, counts as used where
    the spec's own blocks name it.
    """
    model = subject.model
    used: set[str] = set()
    for program in subject.programs.values():
        used |= set(program.symbols)
    for stage in model.spec.stages:
        for rule in stage.schedule.rules if stage.schedule is not None else ():
            for tree in (rule.when, rule.count):
                used |= set(names(tree)) if tree is not None else set[str]()
        used |= {name for tree in (stage.repeat, stage.first) if tree is not None for name in names(tree)}
    for count in model.counts.values():
        used |= set(names(count))
    used |= _named_by_blocks(subject)
    changed = True
    while changed:  # a dim is used where a used dim follows from it
        further = {n for name in used if name in model.spec.dims for n in names(model.spec.dims[name])}
        changed = not further <= used
        used |= further
    return {name: value for name, value in model.dims.items() if name in model.spec.dims and name not in used}


def _named_by_blocks(subject: Subject) -> set[str]:
    """Return the names in components that the spec can use but this config does not."""
    library, spec = subject.model.library, subject.model.spec
    instances = [instance for program in subject.programs.values() for instance in program.graph.instances]
    taken = {instance.spec.name for instance in instances}
    found: set[str] = set()
    for instance in instances:  # nodes that a switch leaves out
        for node in instance.spec.graph.values():
            if node.when is not None:
                found |= {
                    name
                    for tree in node.dims.values()
                    for dim in names(tree)
                    for name in names(instance.dims.get(dim, dim))
                }
    scheduled = {block for layers in subject.model.layers.values() for block in layers}
    # A component that stands elsewhere, too, says nothing of a block that no layer uses.
    waiting = [(use, name in scheduled) for name, use in spec.blocks.items()]
    waiting += [(stage.use, True) for stage in spec.stages if stage.use is not None]
    while waiting:
        use, used = waiting.pop()
        waiting += [(one, used) for one in (*use.slots.values(), *(case for _, case in use.cases))]
        component = spec.components.get(use.component) or library.components.get(use.component)
        if component is None or (used and component.name in taken):
            continue
        for node in component.graph.values():
            found |= {name for tree in node.dims.values() for name in names(tree)}
        for entry in component.cache:
            found |= {name for tree in entry.dims.values() for name in names(tree)}
    return found
