"""What a model is, as plain data: the answer of `rooflight show` and one row of `rooflight models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooflight import derive
from rooflight.api.reading import Reading, reading
from rooflight.expr import evaluate_tree, names
from rooflight.graph import ranges

if TYPE_CHECKING:
    from rooflight.graph import Instance
    from rooflight.spec import ComponentSpec, Model


def show(model: Model) -> dict[str, Any]:
    """Return the model's parameters, cache and layers. Sizes in elements and bytes, exact."""
    read = reading(model)
    facts = read.numbers
    cache = [
        {
            "node": node,
            "kind": entry.kind,
            "growth": growth_words(entry.growth, entry.window),
            "layers": copies,
            "bytes_per_token": width * copies,
            "constant_bytes": constant * copies,
        }
        for (node, entry, copies), width, constant in zip(
            facts.cache.join(facts.copies),
            derive.entry_bytes_per_token(facts),
            derive.entry_constant_bytes(facts),
            strict=True,
        )
        if entry is not None
    ]
    return {
        "model": model.id,
        "architecture": model.spec.name,
        "family": model.spec.family,
        "attention": attention_label(read),
        "dtype": model.dtype,
        "max_context": model.max_context,
        "params": {
            "total": derive.params_total(facts),
            "active": derive.params_active(facts),
            "embedding": derive.params_of_role(facts, "embedding"),
            "mtp": derive.params_draft(read.with_drafts.numbers),
            "by_role": derive.params_by_role(facts),
        },
        "cache": {
            "bytes_per_token": derive.cache_bytes_per_token(facts),
            "bytes_per_token_decompressed": derive.cache_bytes_per_token_decompressed(facts),
            "constant_bytes": derive.cache_constant_bytes(facts),
            "entries": cache,
        },
        "layers": [
            {
                "stack": group.stage,
                "kind": group.block,
                "layers": len(group.layers),
                "indices": layer_words(group.layers),
                "components": {
                    i.slot: i.spec.name for i in read.program.graph.instances if i.group == at and i.path != group.name
                },
            }
            for at, group in enumerate(read.program.graph.groups)
            if group.layers is not None
        ],
        "dims": {name: {"value": value, "source": source(model, name)} for name, value in model.dims.items()},
        "warnings": list(model.warnings),
    }


def model_row(model: Model) -> dict[str, Any]:
    """Return one line of the list of models."""
    read = reading(model)
    facts = read.numbers
    return {
        "id": model.id,
        "architecture": model.spec.name,
        "family": model.spec.family,
        "attention": attention_label(read),
        "params_total": derive.params_total(facts),
        "params_active": derive.params_active(facts),
        "layers": layer_count(read),
        "max_context": model.max_context,
        "cache_bytes_per_token": derive.cache_bytes_per_token(facts),
        "dtype": model.dtype,
    }


def layer_count(read: Reading) -> int:
    """Return the layers of the main model."""
    return sum(len(g.layers) for g in read.program.graph.groups if g.layers is not None and g.part == "main")


def attention_label(read: Reading) -> str:
    """Return the short name of how the model attends; several kinds are joined with +."""
    graph = read.program.graph
    labels = [label for instance in graph.instances if (label := component_label(read.model, instance))]
    return " + ".join(dict.fromkeys(labels)) or "none"


def component_label(model: Model, instance: Instance) -> str | None:
    """Return the name a component goes by under these dims, e.g. MHA where every query head has its own key head."""
    for label in instance.spec.labels:
        if label.when is None or evaluate_tree(label.when, lambda n: _dim(model, instance, n)):
            return label.text
    return None


def _dim(model: Model, instance: Instance, name: str) -> Any:
    return evaluate_tree(instance.dims.get(name, name), model.dims.__getitem__)


def growth_words(growth: str, window: Any) -> str:
    """Say how a cache entry grows."""
    return f"last {window:,} tokens" if growth == "window" else growth.replace("_", " ")


def layer_words(layers: tuple[int, ...]) -> str:
    """Write layer indices for a reader: `0–31` or `0, 2, 4–9`."""
    return ranges(layers).replace(",", ", ").replace("-", "–")


def source(model: Model, name: str) -> str:
    """Say where a dim's value comes from."""
    return model.sources.get(name, "schedule")


def component_names(spec: ComponentSpec) -> tuple[str, ...]:
    """Return the dims a component's own nodes use, in order."""
    trees = [tree for node in spec.graph.values() for tree in node.dims.values()]
    trees += [tree for entry in spec.cache for tree in entry.dims.values()]
    return tuple(dict.fromkeys(name for tree in trees for name in names(tree)))
