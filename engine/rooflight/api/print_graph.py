"""The graph of a model as text: one line per node, layers once with their number, shapes in symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.api.inspect import shape_words
from rooflight.api.reading import reading
from rooflight.api.show import growth_words, layer_words
from rooflight.expr import text
from rooflight.graph import POSITIONS, TOKENS

if TYPE_CHECKING:
    from rooflight.spec import Model
    from rooflight.walk import Step

_SOURCES = {TOKENS: "tokens", POSITIONS: "positions"}


def print_graph(model: Model, phase: str = "prefill") -> str:
    """Return the graph of one phase. Raises SpecError where the spec does not hold together."""
    read = reading(model, phase)
    facts = read.formulas
    groups = read.program.graph.groups
    lines = [f"{model.spec.name} · {phase}"]
    for at, group in enumerate(groups):
        own = [index for index, step in enumerate(read.program.steps) if step.node.group == at]
        if group.layers is None:
            lines.append(f"\n{group.name}")
        else:
            lines.append(f"\n{group.name} × {text(facts.group_copies[at])}  (layers {layer_words(group.layers)})")
        ids = {index: read.program.steps[index].node.id.removeprefix(group.name + ".") for index in own}
        names = {**_SOURCES, **{i: step.node.id for i, step in enumerate(read.program.steps)}, **ids}
        width = max(map(len, ids.values()), default=0)
        for index in own:
            step = read.program.steps[index]
            inputs = ", ".join(names[source] for source in step.node.inputs)
            line = f"  {ids[index]:<{width}} = {step.node.op.name}({inputs}) {shape_words(facts.shape.values[index])}"
            lines.append(line + _marks(step, window=read.numbers.cache.values[index]))
    return "\n".join(lines) + "\n"


def _marks(step: Step, window: object) -> str:
    node = step.node
    marks = [f"{weight.name}" for weight in step.stored]
    stored = f"  stores {', '.join(marks)}" if marks and node.tied_to is None else ""
    tied = f"  reads the weight of {node.tied_to}" if node.tied_to is not None else ""
    mask = f"  {node.choices['mask']}" if "mask" in node.choices else ""
    kept = ""
    if node.kept is not None:
        kept = f"  keeps {node.kept.kind}, {growth_words(node.kept.growth, getattr(window, 'window', None))}"
    return mask + stored + tied + kept
