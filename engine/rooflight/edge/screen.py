"""Prints answers for people: tables with units, formulas with what their symbols stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.values import SpecError


def error(fault: SpecError) -> None:
    """Print a repair order to stderr, never wrapped: people paste it."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]{escape(fault.code)}[/] at {escape(fault.where)}")
    for name in ("expected", "got", "fix"):
        console.print(f"  [dim]{name:<9}[/] {escape(getattr(fault, name))}")


def models(rows: list[dict[str, Any]]) -> None:
    """Print the list of models."""
    table = _table("model", "spec", "attention", ">parameters", ">layers", ">context", ">cache / token", "dtype")
    for row in rows:
        table.add_row(
            escape(row["id"]),
            row["architecture"],
            row["attention"],
            count(row["params_total"]),
            str(row["layers"]),
            f"{row['max_context']:,}",
            size(row["cache_bytes_per_token"]),
            row["dtype"],
        )
    _console().print(table)


def show(facts: dict[str, Any]) -> None:
    """Print what a model is."""
    console = _console()
    console.print(
        f"[bold]{escape(facts['model'])}[/]  {facts['architecture']} · {facts['attention']} · {facts['dtype']}"
    )
    params = facts["params"]
    table = _table("parameters", ">exact", ">")
    for name in ("total", "active", "embedding", "mtp"):
        table.add_row(name, f"{params[name]:,}", count(params[name]))
    for role, value in params["by_role"].items():
        table.add_row(f"  of role {role}", f"{value:,}", count(value))
    console.print(table)
    table = _table("layers", ">", "indices", "components")
    for layer in facts["layers"]:
        parts = ", ".join(f"{slot}: {name}" for slot, name in layer["components"].items())
        table.add_row(f"{layer['stack']} ({layer['kind']})", str(layer["layers"]), layer["indices"], parts)
    console.print(table)
    cache = facts["cache"]
    table = _table("cache of one sequence", "kind", "growth", ">layers", ">bytes / token")
    for entry in cache["entries"]:
        table.add_row(
            entry["node"], entry["kind"], entry["growth"], str(entry["layers"]), f"{entry['bytes_per_token']:,}"
        )
    constant = f"constant {cache['constant_bytes']:,} B" if cache["constant_bytes"] else ""
    table.add_row("a long sequence", "", constant, "", f"{cache['bytes_per_token']:,}")
    console.print(table)
    table = _table("dim", ">value", "from")
    for name, dim in facts["dims"].items():
        table.add_row(name, f"{dim['value']:,}", escape(dim["source"]))
    console.print(table)
    held = facts["checkpoint"]
    dtypes = ", ".join(f"{count:,} {dtype}" for dtype, count in held["by_dtype"].items())
    console.print(f"checkpoint {size(held['bytes'])} ({held['bytes']:,} B) in {held['tensors']:,} tensors: {dtypes}")
    console.print(f"{held['strength']}; config {held['config_state'] or 'as given'}")
    for sentence in held["checked"]:
        console.print(f"  [green]checked[/] {escape(sentence)}")
    for sentence in held["unchecked"]:
        console.print(f"  [dim]not checked[/] {escape(sentence)}")
    console.print(f"published context {facts['max_context']:,} tokens")


def warnings(sentences: Sequence[str]) -> None:
    """Print warnings on stderr: before anything else, because a reader may go away early."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for sentence in sentences:
        console.print(f"[yellow]warning[/] {escape(sentence)}")


def cost(table_of: dict[str, Any]) -> None:
    """Print one step's totals and nodes."""
    console = _console()
    step = table_of
    console.print(
        f"[bold]{escape(step['model'])}[/]  {step['phase']} · batch {step['batch']:,} · context {step['context']:,} · "
        f"new tokens per sequence {step['new_tokens']:,} · {step['dtype']}"
    )
    if step["beyond_published_context"]:
        console.print("[yellow]beyond the model's published context: extrapolated[/]")
    table = _table(
        "node", "op", ">copies", "shape", ">matrix FLOPs", ">other FLOPs", ">weights", ">activations", ">cache"
    )
    for node in step["nodes"]:
        table.add_row(
            node["id"],
            node["op"],
            f"{node['copies']:,}",
            " × ".join(f"{n:,}" for n in node["shape"]),
            *(count(node[key]) for key in ("matmul_flops", "other_flops")),
            *(size(node[key]) for key in ("weight_bytes", "activation_bytes", "kv_bytes")),
        )
    totals = step["totals"]
    table.add_section()
    table.add_row(
        "total",
        "",
        "",
        "",
        *(count(totals[key]) for key in ("matmul_flops", "other_flops")),
        *(size(totals[key]) for key in ("weight_bytes", "activation_bytes", "kv_bytes")),
        style="bold",
    )
    console.print(table)
    console.print(f"cache of one sequence at the end of the step: {size(totals['cache_bytes_per_sequence'])}")


def formula(facts: dict[str, Any]) -> None:
    """Print a formula, its parts, its value and its symbols."""
    console = _Screen(highlight=False, soft_wrap=True)
    value = facts["value"]
    shown = f"{value:,}" if isinstance(value, int) else repr(value)
    console.print(f"[bold]{escape(facts['key'])}[/]  {escape(facts['label'])} [dim]({facts['unit']})[/]")
    if "deployment" in facts:
        _refusals(console, facts["deployment"])
    console.print(f"  {escape(facts['formula'])}")
    for name, body in facts["where"].items():
        console.print(f"    [dim]where[/] {name} = {escape(body)}")
    console.print(f"  = {shown}")
    for name, symbol in facts["symbols"].items():
        console.print(f"    {name} = {symbol['value']:,}  [dim]{escape(symbol['meaning'])}[/]")


def _refusals(console: Console, deployed: dict[str, Any]) -> None:
    for refusal in deployed["refusals"]:
        console.print(f"[yellow]cannot run[/] {escape(refusal['expected'])}; got {escape(refusal['got'])}")


def plans(rows: list[dict[str, Any]], *, show_all: bool) -> None:
    """Print plans, and reasons for those that cannot run."""
    console = Console(highlight=False, soft_wrap=True)
    valid = [row for row in rows if row["valid"]]
    for row in valid:
        console.print(row["plan"])
    refused = [row for row in rows if not row["valid"]]
    for row in refused if show_all else []:
        reason = row["refusals"][0]
        console.print(f"[dim]{row['plan']}[/]  {escape(reason['expected'])}; got {escape(reason['got'])}")
    hint = "" if show_all or not refused else "; --all shows those with reasons"
    console.print(f"[dim]{len(valid)} plans can run, {len(refused)} cannot{hint}[/]")


def estimate(result: dict[str, Any]) -> None:
    """Print a deployment's memory and one GPU's kernels."""
    console = _console()
    deployed, held = result["deployment"], result["memory"]
    console.print(
        f"[bold]{escape(result['model'])}[/]  {deployed['gpus']} × {escape(result['gpu'])} · {escape(deployed['plan'])}"
    )
    _refusals(console, deployed)
    if result["beyond_published_context"]:
        console.print("[yellow]beyond the model's published context: extrapolated[/]")
    if deployed["expert_copies"] > 1:
        console.print(
            f"[dim]every expert stands on {deployed['expert_copies']} GPUs: ep spreads experts, etp cuts them[/]"
        )
    if deployed["nearest"]:
        console.print(f"[yellow]the nearest plan that can run[/] {escape(deployed['nearest'])}")
    if not held["fits"]:
        console.print("[yellow]does not fit: priced all the same[/]")
    lengths = result["prefill"]["context"], result["decode"]["context"] - result["prefill"]["context"]
    table = _table("memory of the fullest GPU, requests of {:,} + {:,} tokens".format(*lengths), ">")
    table.add_row("capacity", size(held["capacity_bytes"]))
    table.add_row("usable", size(held["usable_bytes"]))
    if held["reserve_bytes"]:
        table.add_row("reserve", size(held["reserve_bytes"]))
    table.add_row("weights", size(held["weights_bytes"]))
    table.add_row("cache of one request", size(held["kv_bytes_per_request"]))
    for phase, activations in held["activation_bytes_per_request"].items():
        table.add_row(f"activations of one request, {phase}", size(activations))
    per = " per rank" if deployed["ranks"] > 1 else ""
    table.add_row(f"requests in decode{per}", f"{held['max_batch_decode']:,} (limit: {held['limits']['decode']})")
    table.add_row(f"requests in prefill{per}", f"{held['max_batch_prefill']:,} (limit: {held['limits']['prefill']})")
    console.print(table)
    console.print(f"[dim]capacity by {escape(result['capacity_source'])}[/]")
    for phase in ("prefill", "decode"):
        step = result[phase]
        parts = len(held["stages"])
        stage = f", stage {step['stage']} of {parts}, which moves most" if parts > 1 else ""
        many = "" if step["fits"] else " (too many)"
        table = _table(
            f"{phase}, batch {step['batch']:,}{many}, context {step['context']:,}{stage}",
            "op",
            ">count",
            "one GPU's shape",
            ">matrix FLOPs",
            ">weights",
            ">cache",
            ">sent",
        )
        for row in step["kernels"]:
            table.add_row(
                row["id"],
                row["op"],
                f"{row['count']:,}",
                " × ".join(f"{n:,}" for n in row.get("shape", ())),
                count(row["matmul_flops"]) if row.get("matmul_flops") else "",
                size(row["weight_bytes"]) if row.get("weight_bytes") else "",
                size(row["kv_bytes"]) if row.get("kv_bytes") else "",
                size(row["sent_bytes"]) if "sent_bytes" in row else "",
            )
        console.print(table)


def findings(result: dict[str, Any]) -> None:
    """Print findings, the blocking ones first."""
    console = Console(highlight=False, soft_wrap=True)
    found = sorted(result["findings"], key=lambda finding: not finding["blocking"])
    for finding in found:
        colour = "red" if finding["blocking"] else "yellow"
        console.print(
            f"[bold {colour}]{escape(finding['code'])}[/] ({finding['guard']}) {escape(finding['model'])}: "
            f"{escape(finding['where'])}"
        )
        for name in ("expected", "got", "fix"):
            console.print(f"  [dim]{name:<9}[/] {escape(finding[name])}")
    blocking = sum(finding["blocking"] for finding in found)
    checked = len(result["checked"])
    console.print(f"{checked} checked, {blocking} blocking findings, {len(found) - blocking} hints")


def tensors(rows: list[dict[str, Any]]) -> None:
    """Print tensor patterns."""
    table = _table("tensor", "dtype", "shape", ">count")
    for row in rows:
        table.add_row(escape(row["name"]), row["dtype"], str(row["shape"]), f"{row['count']:,}")
    _console().print(table)


def count(value: float) -> str:
    """Write a count with three digits and a decimal prefix: 8.03 B, 1.44 T."""
    for limit, suffix in ((1e15, " P"), (1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " K")):
        if abs(value) >= limit:
            return _three_digits(value / limit, suffix)
    return f"{value:,}"


def size(value: float) -> str:
    """Write bytes with three digits and a binary prefix: 15 GiB, 128 KiB."""
    for power, suffix in ((5, "PiB"), (4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(value) >= 1024**power:
            return _three_digits(value / 1024**power, " " + suffix)
    return f"{value:,.0f} B" if value == int(value) else f"{value:,.3g} B"


def _three_digits(value: float, suffix: str) -> str:
    # Past 999 the three digits of %g would turn into an exponent.
    return (f"{value:,.0f}" if round(value) >= 1_000 else f"{value:.3g}") + suffix  # noqa: PLR2004


def _table(*columns: str) -> Table:
    """A table whose columns starting with > are right-aligned."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


class _Screen(Console):
    """A console that leaves a reader who went away (`rooflight … | head`) to the command, as plain output does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console() -> Console:
    """The terminal; piped output is as wide as it needs to be."""
    console = _Screen(highlight=False)
    return console if console.is_terminal else _Screen(highlight=False, width=200)
