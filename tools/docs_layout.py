"""The drawings of docs/parallelism.md: what the engine says of layouts, read from a sharded walk of real models."""

from __future__ import annotations

from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docs_markdown import table

from rooflight import api
from rooflight.edge.library import open_catalog
from rooflight.edge.screen import size
from rooflight.layout import AXES, BATCH, EXPERT_WIDTH, EXPERTS, HEADS, Layout, degrees

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.spec import Model

ROOT = Path(__file__).resolve().parents[1]
LLAMA, DEEPSEEK = "meta-llama/Meta-Llama-3-8B", "deepseek-ai/DeepSeek-V3"
CONTEXT_OF_WALKS = 4_096


class Drawing(NamedTuple):
    """One walk to show: the nodes below `front`, or of them those in `only`."""

    model: str
    plan: str
    phase: str
    front: str
    only: tuple[str, ...] = ()
    batch: int = 1


DRAWINGS: dict[str, Drawing] = {
    "tp": Drawing(LLAMA, "attn_tp=4", "prefill", "layers."),
    "mla": Drawing(
        DEEPSEEK,
        "attn_tp=8,ep=8",
        "decode",
        "layers.moe.attention.",
        ("q_b_proj", "q_heads", "kv_a_proj_with_mqa", "kv_latent", "kv_a_layernorm", "k_rope", "k", "scores", "o_proj"),
    ),
    "ep": Drawing(
        DEEPSEEK,
        "attn_dp=8,ep=8",
        "decode",
        "layers.moe.ffn.",
        ("gate", "picks", "dispatch", "experts.gate_proj", "experts.down_proj", "combine", "shared.down_proj", "sum"),
        64,
    ),
    "one_sum": Drawing(
        DEEPSEEK,
        "attn_tp=8,ep=8",
        "decode",
        "layers.moe.",
        ("ffn.experts.gate_proj", "ffn.experts.down_proj", "ffn.combine", "ffn.shared.gate_proj",
         "ffn.shared.down_proj", "ffn.sum", "ffn_residual"),
        64,
    ),
    "cp_prefill": Drawing(
        LLAMA, "cp=4", "prefill", "layers.attention.", ("q_rope", "k_rope", "v_heads", "scores", "attended", "o_proj")
    ),
    "cp_decode": Drawing(
        LLAMA,
        "cp=4",
        "decode",
        "layers.",
        ("attention.scores", "attention.attended", "attention.merged", "attention.o_proj", "attention_residual"),
    ),
}  # fmt: skip


def deployed(drawing: Drawing) -> api.Deployed:
    """The walk a drawing shows."""
    model = bound(drawing.model)
    step = api.step_size(model, drawing.phase, batch=drawing.batch, context=CONTEXT_OF_WALKS)
    return api.Deployed(model, step, api.parse_plan(drawing.plan))


_BOUND: dict[str, Model] = {}


def bound(model_id: str) -> Model:
    """A shipped checkpoint, bound once."""
    if model_id not in _BOUND:
        _BOUND[model_id] = open_catalog().model(model_id)
    return _BOUND[model_id]


def draw(drawing: Drawing) -> str:
    """A text block: a line a node with its layout and one GPU's shape, and a line a collective before it."""
    walk = deployed(drawing)
    on = {axis for axis in AXES if walk.binding[axis] > 1}
    lines: list[tuple[str, str, str]] = []
    for index, step in enumerate(walk.program.steps):
        name = step.node.id.removeprefix(drawing.front)
        if name == step.node.id or (drawing.only and name not in drawing.only):
            continue
        for move in walk.device.collectives[index]:
            group = [axis for axis in move.group if axis in on]
            if group:
                lines.append((f"  ↓ {move.kind}", "over " + "·".join(group), size(move.bytes)))
        copies = walk.device.copies[index]
        times = f"{copies:,} × " if step.node.copies != 1 else ""
        shape = ", ".join(_length(n) for n in walk.device.shape[index])
        lines.append((name, _shown(walk.program.local[index].layout, on), f"{times}[{shape}]"))
    first, second = (max(len(line[i]) for line in lines) + 2 for i in (0, 1))
    sequences = f"{drawing.batch} sequences a rank" if drawing.batch > 1 else "one sequence"
    head = f"{drawing.model}  {drawing.plan} · {drawing.phase} · {sequences} · context {CONTEXT_OF_WALKS:,}"
    body = [f"{a:{first}}{b:{second}}{c}".rstrip() for a, b, c in lines]
    return "\n".join(["```text", head, "", *body, "```"])


def _length(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _shown(layout: Layout, on: set[str]) -> str:
    """A layout without the axes of degree 1."""
    return str(Layout(tuple(tuple(a for a in cut if a in on) for cut in layout.cuts), layout.partial & on))


def meshes() -> str:
    """How plans lie over a mesh: the degrees of its axes."""
    plans = ("attn_tp=8", "attn_tp=8,ep=8", "attn_tp=8,etp=8", "attn_tp=8,ep=4,etp=2", "attn_dp=8,ep=8",
             "attn_dp=4,attn_tp=2,ep=8", "attn_dp=2,cp=2,attn_tp=2,ep=8", "attn_dp=4,attn_tp=2,ep=4")  # fmt: skip
    rows = []
    for text in plans:
        found = degrees(api.parse_plan(text))
        rows.append((f"`{text}`", *(found[axis] if found[axis] > 1 else "" for axis in AXES)))
    return table(("plan", *(f"`{axis}`" for axis in AXES)), rows)


def places() -> str:
    """What every GPU of one plan has of attention and of the experts."""
    text, experts = "attn_dp=4,attn_tp=2,ep=4,etp=2", bound(DEEPSEEK).dims["n_experts"]
    found = degrees(api.parse_plan(text))
    rows = [("GPU", "sequences", "heads", f"experts of {experts}", "width of each")]
    for gpu in range(prod(found.values())):
        at = _coordinates(gpu, found)
        first = _index(EXPERTS, at, found) * (experts // _count(EXPERTS, found))
        last = first + experts // _count(EXPERTS, found) - 1
        sequences, heads, width = (_part(axes, at, found) for axes in (BATCH, HEADS, EXPERT_WIDTH))
        rows.append((str(gpu), sequences, heads, f"{first}–{last}", width))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(["```text", text, "", *lines, "```"])


def _coordinates(gpu: int, found: dict[str, int]) -> dict[str, int]:
    at: dict[str, int] = {}
    for axis in reversed(AXES):  # the last axis joins neighbours
        gpu, at[axis] = divmod(gpu, found[axis])
    return at


def _count(axes: tuple[str, ...], found: dict[str, int]) -> int:
    return prod(found[axis] for axis in axes)


def _index(axes: tuple[str, ...], at: dict[str, int], found: dict[str, int]) -> int:
    index = 0
    for axis in axes:
        index = index * found[axis] + at[axis]
    return index


def _part(axes: tuple[str, ...], at: dict[str, int], found: dict[str, int]) -> str:
    count = _count(axes, found)
    return "all" if count == 1 else f"{_index(axes, at, found) + 1} of {count}"


def shards() -> str:
    """The dims that cut axes, and what their kind of cut means."""
    means = {
        "heads": "whole heads, over the GPUs that share a sequence",
        "width": "any equal parts; inside a routed expert over `etp`, elsewhere over the GPUs that share a sequence",
        "vocabulary": "any parts, over the GPUs that share a sequence",
    }
    dims = open_catalog().library.dims.dims.values()
    rows = [
        (f"`{word}`", ", ".join(f"`{dim.name}`" for dim in dims if dim.shard == word), meaning)
        for word, meaning in means.items()
    ]
    return table(("`shard`", "dims", "cut into"), rows)


def stages() -> str:
    """How one model's layers are cut into stages."""
    rows = []
    for pp in (2, 4, 8):
        drawing = Drawing(DEEPSEEK, f"attn_dp=8,ep=8,pp={pp}", "prefill", "")
        found = api.memory(
            bound(DEEPSEEK), api.parse_plan(drawing.plan), 180 << 30, input_tokens=1024, output_tokens=1024
        )
        counts = " + ".join(str(stage["layers"]) for stage in found["stages"])
        rows.append((f"`{drawing.plan}`", counts, size(found["weights_bytes"])))
    return table(("plan", "layers of the stages", "weights of the fullest GPU"), rows)


PARTS: dict[str, Callable[[], str]] = {
    **{f"walk_{name}": partial(draw, drawing) for name, drawing in DRAWINGS.items()},
    "meshes": meshes,
    "places": places,
    "shards": shards,
    "stages": stages,
}
