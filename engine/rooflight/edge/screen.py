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
    grid = table("model", "spec", "attention", ">parameters", ">layers", ">context", ">cache / token", "dtype")
    for row in rows:
        grid.add_row(
            escape(row["id"]),
            row["architecture"],
            row["attention"],
            count(row["params_total"]),
            str(row["layers"]),
            f"{row['max_context']:,}",
            size(row["cache_bytes_per_token"]),
            row["dtype"],
        )
    terminal().print(grid)


def show(facts: dict[str, Any]) -> None:
    """Print what a model is."""
    console = terminal()
    console.print(
        f"[bold]{escape(facts['model'])}[/]  {facts['architecture']} · {facts['attention']} · {facts['dtype']}"
    )
    params = facts["params"]
    grid = table("parameters", ">exact", ">")
    for name in ("total", "active", "embedding", "mtp"):
        grid.add_row(name, f"{params[name]:,}", count(params[name]))
    for role, value in params["by_role"].items():
        grid.add_row(f"  of role {role}", f"{value:,}", count(value))
    console.print(grid)
    grid = table("layers", ">", "indices", "components")
    for layer in facts["layers"]:
        parts = ", ".join(f"{slot}: {name}" for slot, name in layer["components"].items())
        grid.add_row(f"{layer['stack']} ({layer['kind']})", str(layer["layers"]), layer["indices"], parts)
    console.print(grid)
    cache = facts["cache"]
    grid = table("cache of one sequence", "kind", "growth", ">layers", ">bytes / token")
    for entry in cache["entries"]:
        law = entry["growth"] + (f" {entry['constant_bytes']:,} B" if entry["growth"] == "constant" else "")
        grid.add_row(entry["node"], entry["kind"], law, str(entry["layers"]), f"{entry['bytes_per_token']:,}")
    constant = f"constant {cache['constant_bytes']:,} B" if cache["constant_bytes"] else ""
    grid.add_row("a long sequence", "", constant, "", f"{cache['bytes_per_token']:,}")
    console.print(grid)
    grid = table("dim", ">value", "from")
    for name, dim in facts["dims"].items():
        grid.add_row(name, f"{dim['value']:,}", escape(dim["source"]))
    console.print(grid)
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
    console = terminal()
    step = table_of
    console.print(
        f"[bold]{escape(step['model'])}[/]  {step['phase']} · batch {step['batch']:,} · context {step['context']:,} · "
        f"new tokens per sequence {step['new_tokens']:,} · {step['dtype']}"
    )
    if step["beyond_published_context"]:
        console.print("[yellow]beyond the model's published context: extrapolated[/]")
    grid = table(
        "node", "op", ">copies", "shape", ">matrix FLOPs", ">other FLOPs", ">weights", ">activations", ">cache"
    )
    for node in step["nodes"]:
        grid.add_row(
            node["id"],
            node["op"],
            f"{node['copies']:,}",
            " × ".join(f"{n:,}" for n in node["shape"]),
            *(count(node[key]) for key in ("matmul_flops", "other_flops")),
            *(size(node[key]) for key in ("weight_bytes", "activation_bytes", "kv_bytes")),
        )
    totals = step["totals"]
    grid.add_section()
    grid.add_row(
        "total",
        "",
        "",
        "",
        *(count(totals[key]) for key in ("matmul_flops", "other_flops")),
        *(size(totals[key]) for key in ("weight_bytes", "activation_bytes", "kv_bytes")),
        style="bold",
    )
    console.print(grid)
    console.print(f"cache of one sequence at the end of the step: {size(totals['cache_bytes_per_sequence'])}")


def formula(facts: dict[str, Any]) -> None:
    """Print a formula, its parts, its value and its symbols."""
    console = _Screen(highlight=False, soft_wrap=True)
    value = facts["value"]
    shown = f"{value:,}" if isinstance(value, int) else repr(value)
    console.print(f"[bold]{escape(facts['key'])}[/]  {escape(facts['label'])} [dim]({facts['unit']})[/]")
    if "deployment" in facts:
        refusals(console, facts["deployment"])
    console.print(f"  {escape(facts['formula'])}")
    for name, body in facts["where"].items():
        console.print(f"    [dim]where[/] {name} = {escape(body)}")
    console.print(f"  = {shown}")
    for name, symbol in facts["symbols"].items():
        console.print(f"    {name} = {symbol['value']:,}  [dim]{escape(symbol['meaning'])}[/]")


def refusals(console: Console, deployed: dict[str, Any]) -> None:
    """Print why a plan cannot run."""
    for refusal in deployed["refusals"]:
        console.print(f"[yellow]cannot run[/] {escape(refusal['expected'])}; got {escape(refusal['got'])}")


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
    grid = table("tensor", "dtype", "shape", ">count")
    for row in rows:
        grid.add_row(escape(row["name"]), row["dtype"], str(row["shape"]), f"{row['count']:,}")
    terminal().print(grid)


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


def table(*columns: str) -> Table:
    """Return a table whose columns starting with > are right-aligned."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return made


class _Screen(Console):
    """A console that leaves a reader who went away (`rooflight … | head`) to the command, as plain output does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def terminal() -> Console:
    """Return the terminal; piped output is as wide as it needs to be."""
    console = _Screen(highlight=False)
    return console if console.is_terminal else _Screen(highlight=False, width=200)
