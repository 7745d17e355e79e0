"""Axiom guard: what authors say must hold does hold, caches grow as declared, windows cap them, routing adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.analysis.geometry import check_geometry
from rooflight.checks.finding import Finding, from_error
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject
    from rooflight.walk import Program

GUARD = "axiom"


def axiom(subject: Subject) -> Iterator[Finding]:
    """Prove invariants, and compare masks, windows and caches with each other and with the config."""
    for program in subject.programs.values():
        try:
            check_geometry(program._replace(checks=()), subject.model.spec.dims, subject.binding)
        except SpecError as error:
            yield from_error(error, GUARD)
    yield from _invariants_written(subject)
    yield from _windows(subject)
    yield from _kept(subject)
    yield from _routed(subject)


def _invariants_written(subject: Subject) -> Iterator[Finding]:
    seen: set[str] = set()
    for program in subject.programs.values():
        for instance in program.graph.instances:
            spec = instance.spec
            written = {rule.quantity for rule in spec.invariants}
            if spec.cache and spec.name not in seen and "cache_elements" not in written:
                yield Finding(
                    "invariant-missing",
                    GUARD,
                    True,
                    spec.where,
                    "invariants with cache_elements",
                    "a cache without one",
                    "say how many elements one sequence holds at s_kv",
                )
            seen.add(spec.name)


def _windows(subject: Subject) -> Iterator[Finding]:
    model = subject.model
    config = model.config.facts
    window = config.get("sliding_window")
    active = isinstance(window, int) and window > 0 and config.get("use_sliding_window", True) is not False
    steps = subject.programs["prefill"].steps
    capped = [step for step in steps if step.cached is not None and step.cached.window is not None]
    first = config.get("max_window_layers")
    depth = max(map(len, model.layers.values()), default=0)
    listed = config.get("layer_types")
    begins = not isinstance(first, int) or first < depth
    reached = "sliding_attention" in listed if isinstance(listed, list) else begins
    if active and reached and not capped and "sliding_window" not in model.spec.config.ignores:
        yield Finding(
            "window-uncapped",
            GUARD,
            True,
            f"{model.config.where} sliding_window",
            f"a cache that stops at {window} positions",
            "every cache grows with the context",
            "use a sliding component in the layers the config means",
        )


def _kept(subject: Subject) -> Iterator[Finding]:
    """Keys, values and states that a decoder goes back to must be kept, and a mask and its caches must agree."""
    for program in subject.programs.values():
        steps = program.steps
        masks: dict[int, str] = {}
        for index, step in enumerate(steps):
            node = step.node
            if node.op.state is not None and node.kept is None:
                yield Finding(
                    "state-unkept",
                    GUARD,
                    True,
                    node.where,
                    "a cache entry of growth constant for the state the op carries",
                    "none",
                    "declare the node in cache.entries with growth: constant",
                )
            mask = node.choices.get("mask") or masks.get(node.inputs[0] if node.inputs else -1)
            if mask is None:
                continue
            masks[index] = mask
            if len(node.inputs) < 2 or mask == "bidirectional":  # noqa: PLR2004 - a query, or scores, and what they read
                continue
            sources = _caches(program, node.inputs[1])
            if not sources:
                yield Finding(
                    "attention-uncached",
                    GUARD,
                    True,
                    node.where,
                    "a key or value that the cache keeps",
                    steps[node.inputs[1]].node.id,
                    "declare the node in cache.entries",
                )
            for source in sources:
                held = steps[source].cached
                capped = held is not None and held.window is not None
                if capped != (mask == "sliding"):
                    yield Finding(
                        "window-mismatch",
                        GUARD,
                        True,
                        node.where,
                        f"caches that fit the mask {mask}",
                        f"{steps[source].node.id} {'is capped' if capped else 'grows per token'}",
                        "give mask and cache entry the same window",
                    )


def _routed(subject: Subject) -> Iterator[Finding]:
    """As many experts must work on a token as a token chooses; both are written by hand, far from each other."""
    facts = subject.facts
    steps = facts.program.steps
    for index, step in enumerate(steps):
        if step.node.op.rows != "share" or steps[step.node.inputs[0]].node.op.rows != "spread":
            continue
        picks = steps[step.node.inputs[0]].node.inputs[1]
        chosen, working = facts.shape.values[picks][-1], facts.inner.values[index][1]
        if chosen != working:
            yield Finding(
                "active-mismatch",
                GUARD,
                True,
                step.node.where,
                f"{chosen} experts at work on a token, as many as {steps[picks].node.id} chooses",
                str(working),
                "correct active where the experts are used, or k of the choice",
            )


def _caches(program: Program, start: int) -> list[int]:
    """Return the cached nodes a tensor is made of, without looking behind them."""
    found: list[int] = []
    waiting, seen = [start], set[int]()
    while waiting:
        index = waiting.pop()
        if index < 0 or index in seen:
            continue
        seen.add(index)
        cached = program.steps[index].cached
        if cached is not None and not cached.kept.constant:
            found.append(index)
        elif program.steps[index].node.group == program.steps[start].node.group:
            waiting += program.steps[index].node.inputs
    return found
