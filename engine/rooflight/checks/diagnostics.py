"""Diagnostics: hints that do not block. They read the source as a syntax tree and the published figures as numbers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from rooflight.checks.finding import Finding
from rooflight.derive import params_total
from rooflight.truth import values_by_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rooflight.checks.subject import Subject

MAX_SOURCE = 4 << 20


def residuals(subject: Subject) -> Iterator[Finding]:
    """Compare the additions to the trunk in the source's decoder layer with those of the graph."""
    spec = subject.model.spec
    text = subject.sources.get(spec.source)
    if text is None or len(text) > MAX_SOURCE:
        return
    counted = _source_residuals(text)
    if not counted:
        return
    steps = subject.programs["prefill"].steps
    for at, group in enumerate(subject.programs["prefill"].graph.groups):
        if group.layers is None or group.part != "main":
            continue
        mine = sum(step.node.group == at and step.node.id.endswith("_residual") for step in steps)
        if mine not in counted:
            yield Finding(
                "residual-count",
                "calls",
                False,
                f"{spec.source} against {group.name}",
                f"{' or '.join(map(str, sorted(counted)))} additions to the trunk in a layer",
                str(mine),
                "compare the block with the forward pass of the decoder layer",
            )


def _source_residuals(text: str) -> set[int]:
    """Return how often each decoder layer of a source adds to its trunk."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith(("DecoderLayer", "Block")):
            forward = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
            if forward is not None:
                adds = [n for n in ast.walk(forward) if _adds_residual(n)]
                branches = [n for branch in ast.walk(forward) if isinstance(branch, ast.If) for n in ast.walk(branch)]
                # With and without what stands under a condition, such as attention to an encoder.
                found |= {len(adds), sum(n not in branches for n in adds)}
    return found - {0}


def _adds_residual(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    return any(isinstance(side, ast.Name) and "residual" in side.id for side in (node.left, node.right))


_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu"}


def activation(subject: Subject) -> Iterator[Finding]:
    """Compare the config's activation with the ops of the graph."""
    config = subject.model.config
    word = config.facts.get("hidden_act") or config.facts.get("activation_function")
    wanted = _ACTIVATIONS.get(str(word))
    ops = {step.node.op.name for step in subject.programs["prefill"].steps}
    known = set(_ACTIVATIONS.values()) | {"clamped_swiglu"}
    if wanted is not None and ops & known and not ops & {wanted, "clamped_swiglu"}:
        yield Finding(
            "activation-differs",
            "activation",
            False,
            f"{config.where} hidden_act",
            wanted,
            ", ".join(sorted(ops & known)),
            "use the component with the config's activation",
        )


def published_total(subject: Subject) -> Iterator[Finding]:
    """Compare the model's elements with the total that was published, by the kinds of tensors that total adds up."""
    if subject.published is None:
        return
    total, kinds = subject.published
    held = values_by_kind(subject.rows or ())
    mine = params_total(subject.facts) if "parameter" in kinds else 0
    mine += sum(count for kind, count in held.items() if kind in kinds and kind != "parameter")
    mine -= subject.elements_left_out
    if mine != total:
        yield Finding(
            "published-total",
            "totals",
            False,
            subject.model.id,
            f"{total:,} elements as published",
            f"{mine:,} ({mine - total:+,})",
            "itemise the difference in the snapshot's notes",
        )


def duplicate_drafts(subject: Subject) -> Iterator[Finding]:
    """Look for drafts that repeat a component of the library node by node."""
    library = subject.model.library
    known = {_form(component): name for name, component in library.components.items()}
    for name in subject.model.spec.drafts:
        twin = known.get(_form(library.drafts[name]))
        if twin is not None:
            yield Finding(
                "draft-duplicate",
                "drafts",
                False,
                library.drafts[name].where,
                "a structure the library lacks",
                f"{name} is {twin} under another name",
                f"use {twin}",
            )


def _form(component: object) -> str:
    graph = getattr(component, "graph", {})
    return repr([(node.name, node.op, node.inputs, sorted(node.dims.items(), key=str)) for node in graph.values()])
