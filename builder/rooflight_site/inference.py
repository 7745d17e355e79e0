"""What the Inference page of one model shows, as the data file behind it. Figures go through the books of payload."""

import re
from collections.abc import Mapping
from typing import Any

from rooflight.api import GPU_FIGURES, ROW_FIGURES, KernelCard, StepCard, parse_plan
from rooflight_site.commands import estimate_command, is_plain, priced_command
from rooflight_site.deployments import Deployed, Sweep
from rooflight_site.format import brief, given, grouped, part_of_whole, shown
from rooflight_site.payload import Formulas, Json, StepBook
from rooflight_site.words import counted, per_rank

INFERENCE_SCHEMA = "rooflight.inference/1"

FACTS = ("id", "lab", "name", "architecture", "family", "attention", "released", "config_state", "strength")
# Of a kernel: the table's columns.
KERNEL_FIGURES = ("count", "matmul_flops", "weight_bytes", "activation_bytes", "kv_bytes", "sent_bytes", "seconds")
# Of a step without kernels: what the page says of a prefill of as many prompts as fit.
FULL_FIGURES = (
    "step_s",
    "tok_s_gpu",
    "usd_per_million",
    "max_batch",
    "weights.bytes",
    "cache.bytes",
    "activations.peak",
    "memory.capacity",
    "memory.usable",
    "memory.unusable",
    "memory.left",
    "memory.over",
    "request.cache",
    "request.activations",
    "requests",
    "joules",
)
CHART_COLUMNS = (
    "deployed",
    "fits",
    "batch_decode",
    "max_batch_decode",
    "step_s",
    "tok_s_gpu",
    "tok_s_user",
    "beyond_published_context",
    "error",
)
_URL = re.compile(r",?\s*(https?://\S+)")


def inference(facts: Mapping[str, Any], deployed: Deployed) -> Json:
    """The document of one deployment; `facts` are those of the model's own data file."""
    formulas = Formulas(nested=True)
    summary, steps = deployed.serving.summary, deployed.serving
    cards = {"decode": steps.decode, "prefill": steps.prefill, "full": steps.full}
    books = {name: StepBook(f"{facts['id']} {name}", card.symbols, formulas) for name, card in cards.items()}
    return {
        "schema": INFERENCE_SCHEMA,
        "id": facts["id"],
        "facts": {name: facts[name] for name in FACTS},
        "asked": {
            "gpu": deployed.gpu_id,
            "plan": deployed.plan,
            "input": deployed.asked[0],
            "output": deployed.asked[1],
            "precision": deployed.estimate.ask.precision,
        },
        "command": _estimate(deployed),
        "summary": summary,
        "steps": {name: _step(card, books[name], deployed, whole=name != "full") for name, card in cards.items()},
        "gpu": _gpu(deployed.gpu),
        "charts": {name: _chart(sweep) for name, sweep in deployed.sweeps.items()},
        "books": {name: books[name].document(_around(cards[name], deployed)) for name in cards},
        "formulas": formulas.entries,
    }


def _estimate(deployed: Deployed) -> str:
    return estimate_command(deployed.serving.summary["model"], deployed.gpu_id, deployed.plan, deployed.asked)


def _around(card: StepCard, deployed: Deployed) -> tuple[str, str]:
    """What stands before and behind a key in the command of a figure of the step."""
    return priced_command(deployed.serving.summary["model"], deployed.gpu_id, deployed.plan, card.batch, card.context)


def _step(card: StepCard, book: StepBook, deployed: Deployed, *, whole: bool) -> Json:
    before, after = _around(card, deployed)

    def command(name: str) -> str | None:
        """None where the book's own rule gives it."""
        if name in GPU_FIGURES and not GPU_FIGURES[name].phased:
            return f"{before} {name} {after} --phase {card.phase}"
        return None

    wanted = [name for name in card.figures if whole or name in FULL_FIGURES]
    figures = {name: book.add(card.figures[name], command(name)) for name in wanted}
    return {
        "phase": card.phase,
        "batch": card.batch,
        "context": card.context,
        "new_tokens": card.new_tokens,
        "batch_text": grouped(card.batch),
        "context_text": grouped(card.context),
        "figures": figures,
        "kernels": [_kernel(kernel, book, figures["step_s"]) for kernel in card.kernels],
    }


def _kernel(kernel: KernelCard, book: StepBook, step: str) -> Json:
    """One row; `step` is the key of the whole step's time.

    A figure that is nothing by its kind, such as what a norm sends, is left out.
    """
    row = kernel.row
    name = row["id"].removeprefix(f"{kernel.kind}.") if kernel.kind else row["id"]
    figures = {}
    for figure in KERNEL_FIGURES:
        if row.get(figure):
            assert is_plain(row["id"]), row["id"]  # the command of the book quotes nothing
            figures[figure] = book.add(kernel.figures[figure])
    share = book.quantities[figures["seconds"]]["value"] / book.quantities[step]["value"]
    kept = {key: value for key, value in row.items() if key not in ROW_FIGURES and key not in {"count", "bytes"}}
    return kept | {
        "name": name,
        "kind": kernel.kind,
        "parts": [_short(member, kernel.kind) for member in row.get("members", ()) if len(row["members"]) > 1],
        "shape_text": " × ".join(given(length) for length in row.get("shape", ())),
        "runs": _runs(row),
        "share": share,
        "share_text": part_of_whole(share),
        "figures": figures,
    }


def _short(node: str, kind: str) -> str:
    return node.removeprefix(f"{kind}.").rpartition(".")[2]


def _runs(row: Mapping[str, Any]) -> str:
    """In which formats a kernel multiplies, or how a collective goes and among how many GPUs."""
    if "algorithm" in row:
        return f"{row['algorithm']}, {grouped(row['group'])} GPUs"
    if "operands" not in row:
        return ""
    operands = " × ".join(dict.fromkeys(row["operands"]))
    return operands if set(row["operands"]) == {row["runs_in"]} else f"{operands} in {row['runs_in']}"


def _chart(sweep: Sweep) -> Json:
    return {
        "x": sweep.x,
        "series": sweep.series,
        "names": dict(sweep.names),
        "command": sweep.command,
        "rows": [_point(row, sweep) for row in sweep.rows],
    }


def _point(row: Mapping[str, Any], sweep: Sweep) -> Json:
    kept = {name: row[name] for name in (sweep.x, sweep.series, *CHART_COLUMNS)}
    rates = {
        f"{name}_{how}": None if row[name] is None else say(row[name])
        for name in ("tok_s_gpu", "tok_s_user")
        for how, say in (("text", lambda value: shown(value, "token/s").text), ("exact", brief))
    }
    return kept | rates | _held(row, sweep)


def _held(row: Mapping[str, Any], sweep: Sweep) -> Json:
    """How many sequences a point decodes at once, and on what they stand; None where it was refused."""
    batch = row["batch_decode"]
    if batch is None:
        return {"batch_text": None, "held_text": None}
    plan = parse_plan(row["deployed"])
    per = per_rank({"gpus": plan.gpus, "ranks": plan.attn_dp * plan.replicas})
    return {"batch_text": grouped(batch), "held_text": f"{counted(batch, 'sequence')} {per}"}


def _gpu(facts: Mapping[str, Any]) -> Json:
    stated = dict(facts["facts"]) | {f"matmul {form}": fact for form, fact in facts["matmul"].items()}
    if facts["price"] is not None:
        stated["price"] = facts["price"]
    return {
        "id": facts["id"],
        "name": facts["name"],
        "maker": facts["maker"],
        "status": facts["status"],
        "topology": facts["topology"]["value"],
        "facts": {name: _fact(fact) for name, fact in stated.items()},
        "notes": list(facts["notes"]),
    }


def _fact(fact: Mapping[str, Any]) -> Json:
    figure = shown(fact["value"], fact["unit"])
    said = fact["source"] or fact["copied_from"]
    link = _URL.search(said)
    return {
        "value": fact["value"],
        "unit": fact["unit"],
        "text": figure.text,
        "exact": given(fact["value"]),
        "opened": fact["source"] is not None,
        "by": _URL.sub("", said).strip(" ,"),
        "url": link[1] if link else None,
        "date": fact["date"],
        "note": fact["note"],
    }
