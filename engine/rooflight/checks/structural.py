"""Structural guard: the graph has the rotary part, the masks and the reach that the config asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rooflight.checks.finding import Finding
from rooflight.expr import evaluate_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rooflight.checks.subject import Subject

GUARD = "structural"


def structural(subject: Subject) -> Iterator[Finding]:
    """Compare rotary segments and masks with the config; look for keys, nodes and switches nobody accounts for."""
    yield from _keys(subject)
    yield from _rotary(subject)
    yield from _masks(subject)
    yield from _dead_ends(subject)


def _keys(subject: Subject) -> Iterator[Finding]:
    model = subject.model
    for key, value in model.unlisted.items():
        yield Finding(
            "config-key-unlisted",
            GUARD,
            True,
            f"{model.config.where} {key}",
            f"a binding in {model.spec.name}, or a reason to ignore it",
            f"{key} = {value}",
            f"bind {key} where it belongs, or list it under config.ignores with the reason",
        )
    for key, (value, legal) in model.unexpected.items():
        yield Finding(
            "config-value-unexpected",
            GUARD,
            True,
            f"{model.config.where} {key}",
            " or ".join(map(repr, legal)),
            value,
            f"write the other case into {model.spec.name}",
        )


def _rotary(subject: Subject) -> Iterator[Finding]:
    facts, config = subject.facts, subject.model.config.facts
    ropes = [step for step in facts.program.steps if step.node.op.family == "rope"]
    ignored = "rope_theta" in subject.model.spec.config.ignores  # with a reason: the source does not rotate
    if config.get("rope_theta") is not None and not ropes and not ignored:
        yield Finding(
            "rope-missing",
            GUARD,
            True,
            f"{subject.model.config.where} rope_theta",
            "a node that rotates",
            "none in the graph",
            "add rope to queries and keys",
        )
    share = config.get("partial_rotary_factor")
    for step in ropes:
        dims = {name: evaluate_tree(tree, facts.binding.__getitem__) for name, tree in step.node.dims.items()}
        width, rotated = dims["width"], dims["rotated"]
        # Heads whose rotary part has a width of its own are cut before they are turned.
        own = config.get("qk_rope_head_dim")  # null where a family's files list it and a model has none
        wanted: Any = int(width * (1 if share is None else share)) if own is None else own
        if rotated != wanted:
            yield Finding(
                "rope-segment",
                GUARD,
                True,
                step.node.where,
                f"{wanted} rotated of a head, as the config says",
                f"{rotated}",
                "correct dims.rotated, or bind it to the config",
            )
    rotated_inputs = {step.node.id for step in ropes}
    scores = [step for step in facts.program.steps if step.node.op.name == "attention_score"]
    bare = _without_positions(config)
    for step in scores if ropes else ():
        layers = set(facts.program.graph.groups[step.node.group].layers or ())
        for source, what in zip(step.node.inputs, ("query", "key"), strict=True):
            turned = _comes_from(subject, source, rotated_inputs)
            if turned and layers & bare:
                yield Finding(
                    "rope-unwanted",
                    GUARD,
                    True,
                    step.node.where,
                    f"a {what} without positions in layer {min(layers & bare)}, as the config says",
                    f"{facts.program.steps[source].node.id}, which is rotated",
                    "give these layers an attention without rope",
                )
            elif not turned and (layers - bare or not layers):
                yield Finding(
                    "rope-missing",
                    GUARD,
                    True,
                    step.node.where,
                    f"a {what} that was rotated",
                    f"{facts.program.steps[source].node.id}, which no rope precedes",
                    f"rotate the {what} before the scores",
                )


def _without_positions(config: Mapping[str, Any]) -> set[int]:
    """Return the layers that a config says have no positions: those with a 0 in its list, or every few."""
    listed, every = config.get("no_rope_layers"), config.get("no_rope_layer_interval")
    if isinstance(listed, list):
        return {layer for layer, turned in enumerate(cast("list[Any]", listed)) if turned in (0, False)}
    count = config.get("num_hidden_layers")
    if type(every) is not int or type(count) is not int or every < 1:
        return set()
    return set(range(every - 1, count, every))


def _comes_from(subject: Subject, start: int, wanted: set[str]) -> bool:
    """Say whether a node, or one it is made of within its layer, is among the wanted."""
    steps = subject.facts.program.steps
    waiting, seen = [start], set[int]()
    while waiting:
        index = waiting.pop()
        if index < 0 or index in seen:
            continue
        seen.add(index)
        node = steps[index].node
        if node.id in wanted:
            return True
        if node.group == steps[start].node.group:
            waiting += node.inputs
    return False


def _masks(subject: Subject) -> Iterator[Finding]:
    config = subject.model.config.facts
    causal = not config.get("is_encoder_decoder") and config.get("is_causal", True) is not False
    for step in subject.facts.program.steps:
        mask = step.node.choices.get("mask")
        if mask == "bidirectional" and causal:
            yield Finding(
                "mask-not-causal",
                GUARD,
                True,
                step.node.where,
                "a causal mask in a decoder",
                mask,
                "set mask: causal, or sliding with a window",
            )


def _dead_ends(subject: Subject) -> Iterator[Finding]:
    """A node that nobody reads computes for nothing: a draft's or a model's logits are the only ends."""
    for phase, program in subject.programs.items():
        steps = program.steps
        read = {source for step in steps for source in step.node.inputs}
        read |= {seam.leaves for seam in program.graph.seams} | {len(steps) - 1}
        for index, step in enumerate(steps):
            if index not in read and step.node.role != "head":
                yield Finding(
                    "node-unread",
                    GUARD,
                    True,
                    f"{step.node.where} ({phase})",
                    "a node that reads it",
                    "none",
                    "let a node read it, or remove it",
                )
