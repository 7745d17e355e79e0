"""Prints deployments for people."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rooflight.edge.screen import count, refusals, size, table, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_SIGNS = {"compute": "■", "memory": "●", "communication": "◆"}


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


def estimate(result: dict[str, Any], kernels: int | None) -> None:
    """Print a deployment: what it is, its memory, its steps, its price and its longest kernels."""
    console = terminal()
    _deployment(console, result)
    _memory(console, result)
    _steps(console, result)
    for phase in ("prefill", "decode") if kernels != 0 else ():
        _kernels(console, phase, result[phase], len(result["memory"]["stages"]), kernels)
    for line in result["assumptions"]:
        console.print(f"[dim]· {escape(line)}[/]")


def _deployment(console: Console, result: dict[str, Any]) -> None:
    deployed, held, enough = result["deployment"], result["memory"], result["fits_on"]
    console.print(
        f"[bold]{escape(result['model'])}[/]  {deployed['gpus']} × {escape(result['gpu'])} · {escape(deployed['plan'])}"
        f" · {escape(result['precision'])} precision, products in {_products(result)}"
    )
    refusals(console, deployed)
    if result["beyond_published_context"]:
        console.print("[yellow]beyond the model's published context: extrapolated[/]")
    if deployed["expert_copies"] > 1:
        console.print(
            f"[dim]every expert stands on {deployed['expert_copies']} GPUs: ep spreads experts, etp cuts them[/]"
        )
    if deployed["nearest"]:
        console.print(f"[yellow]the nearest plan that can run[/] {escape(deployed['nearest'])}")
    if not held["fits"]:
        console.print("[yellow]does not fit: every time and price below is of memory that is not there[/]")
        if enough:
            console.print(f"[yellow]a request fits on {enough['gpus']:,} of these GPUs:[/] {escape(enough['plan'])}")
        console.print("[dim]a lower --precision needs less memory, too[/]")


def _products(result: dict[str, Any]) -> str:
    """Return the formats that the decode step multiplies in, those first in which most is computed."""
    flops = Counter[str]()
    for row in result["decode"]["kernels"]:
        if row.get("runs_in"):
            flops[row["runs_in"]] += row["matmul_flops"] * row["count"]
    return ", ".join(form for form, _ in flops.most_common())


def _memory(console: Console, result: dict[str, Any]) -> None:
    deployed, held = result["deployment"], result["memory"]
    grid = table(f"memory of the fullest GPU, requests of {held['context']:,} tokens", ">")
    grid.add_row("capacity", size(held["capacity_bytes"]))
    grid.add_row("usable", size(held["usable_bytes"]))
    if held["reserve_bytes"]:
        grid.add_row("reserve", size(held["reserve_bytes"]))
    grid.add_row("weights", size(held["weights_bytes"]))
    grid.add_row("cache of one request", size(held["kv_bytes_per_request"]))
    for phase, activations in held["activation_bytes_per_request"].items():
        grid.add_row(f"activations of one request, {phase}", size(activations))
    per = " per rank" if deployed["ranks"] > 1 else ""
    grid.add_row(f"requests in decode{per}", f"{held['max_batch_decode']:,} (limit: {held['limits']['decode']})")
    grid.add_row(f"requests in prefill{per}", f"{held['max_batch_prefill']:,} (limit: {held['limits']['prefill']})")
    console.print(grid)
    console.print(f"[dim]capacity by {escape(_title(result['capacity_source']))}[/]")


def _title(source: str) -> str:
    """Return a source without its address, which `rooflight gpus` prints."""
    return source.partition(", http")[0]


def _steps(console: Console, result: dict[str, Any]) -> None:
    decode, prefill, price = result["decode"], result["prefill"], result["price"]
    full = prefill["saturated"]
    grid = table("time at peak rates", ">", "")
    grid.add_row(f"TTFT, {prefill['context']:,} tokens", seconds(prefill["ttft_s"]), _shares(prefill["share"]))
    grid.add_row(
        f"prefill, batch {full['batch']:,}", seconds(full["step_s"]), f"{_three(full['tok_s_gpu'])} tok/s per GPU"
    )
    many = "" if decode["fits"] else " (too many)"
    grid.add_row(
        f"decode step, batch {decode['batch']:,}{many}, context {decode['context']:,}",
        seconds(decode["step_s"]),
        _shares(decode["share"]),
    )
    if decode["new_tokens"] > 1:
        grid.add_row("TPOT", seconds(decode["tpot_s"]), f"{decode['tokens_per_step']:.3g} tokens per step")
    grid.add_row("output per GPU", f"{_three(decode['tok_s_gpu'])} tok/s", "")
    grid.add_row("output per user", f"{_three(decode['tok_s_user'])} tok/s", "")
    if price["usd_per_gpu_hour"] is not None:
        hourly = f"at {price['usd_per_gpu_hour']:g} USD per GPU-hour"
        for word in ("input", "output"):
            grid.add_row(f"a million {word} tokens", f"{price[f'usd_per_million_{word}']:.3g} USD", hourly)
    else:
        grid.add_row("a million tokens", "", "no price of this GPU is known: --price sets one")
    joules = result["energy"]["joule_per_output_token"]
    if joules is not None:
        grid.add_row("energy of an output token", f"{joules:.3g} J", "at the GPUs' design power")
    console.print(grid)


def _shares(share: dict[str, float]) -> str:
    parts = sorted(share.items(), key=lambda part: -part[1])
    return "  ".join(f"{_SIGNS[name]} {name} {value:.0%}" for name, value in parts)


def _kernels(console: Console, phase: str, step: dict[str, Any], stages: int, most: int | None) -> None:
    rows = sorted(step["kernels"], key=lambda row: -row["seconds"])[:most]
    left = len(step["kernels"]) - len(rows)
    stage = f", stage {step['stage']} of {stages}, the slowest" if stages > 1 else ""
    grid = table(
        f"{phase}, batch {step['batch']:,}, context {step['context']:,}{stage}",
        "op",
        ">count",
        "one GPU's shape",
        "runs in",
        ">matrix FLOPs",
        ">bytes",
        ">sent",
        ">time",
        "bound",
    )
    for row in rows:
        moved = sum(row.get(kind, 0) for kind in ("weight_bytes", "activation_bytes", "kv_bytes"))
        grid.add_row(
            row["id"],
            row["op"] + (f", {row['algorithm']}" if row.get("algorithm") else ""),
            f"{row['count']:,}",
            " × ".join(f"{n:,.6g}" if isinstance(n, float) else f"{n:,}" for n in row.get("shape", ())),
            row.get("runs_in", ""),
            count(row["matmul_flops"]) if row.get("matmul_flops") else "",
            size(moved) if moved else "",
            size(row["sent_bytes"]) if "sent_bytes" in row else "",
            seconds(row["seconds"]),
            f"{_SIGNS[row['bound']]} {row['bound']}",
        )
    console.print(grid)
    if left:
        console.print(f"[dim]{left} shorter ones left out: --kernels max shows all[/]")


def gpus(rows: list[dict[str, Any]]) -> None:
    """Print the list of GPUs."""
    grid = table(
        "gpu", "name", ">memory", ">bandwidth", ">BF16", ">FP8", ">FP4", "links", ">domain", ">TDP", ">USD / hour"
    )
    for row in rows:
        rates = row["matmul"]
        grid.add_row(
            row["id"],
            escape(row["name"]) + (" (announced)" if row["status"] == "announced" else ""),
            size(row["memory"]),
            f"{row['memory_bandwidth'] / 1e12:.3g} TB/s" if "memory_bandwidth" in row else "",
            *[_three(rates[form] / 1e12) if form in rates else "" for form in ("BF16", "F8_E4M3", "F4_E2M1")],
            f"{row['topology']} {_three(row.get('scale_up_bandwidth', 0) / 1e9)} GB/s",
            f"{row['scale_up_domain']:,}" if "scale_up_domain" in row else "",
            f"{row['tdp']:,} W" if "tdp" in row else "",
            "" if row["usd_per_gpu_hour"] is None else f"{row['usd_per_gpu_hour']:.2f}",
        )
    console = terminal()
    console.print(grid)
    console.print("[dim]rates are dense TFLOP/s; links per GPU and direction; `rooflight gpus ID` has the sources[/]")


def gpu(facts: dict[str, Any]) -> None:
    """Print every fact of a GPU."""
    console = terminal()
    made = f"{facts['maker']} · {facts['status']}" if facts["maker"] else facts["status"]
    console.print(f"[bold]{escape(facts['name'])}[/]  {escape(made)}")
    grid = table("fact", ">value", "unit", "by")
    rates = {f"matmul {form}": fact for form, fact in facts["matmul"].items()}
    price = {} if facts["price"] is None else {"price": facts["price"]}
    for name, fact in {**facts["facts"], **rates, **price}.items():
        grid.add_row(name, f"{fact['value']:,}", fact["unit"], escape(_origin(fact)))
    grid.add_row("topology", facts["topology"]["value"], "", escape(_origin(facts["topology"])))
    console.print(grid)
    if facts["slices"]:
        shapes = ", ".join("×".join(map(str, one["shape"])) for one in facts["slices"])
        console.print(f"slices {shapes}")
    for note in facts["notes"]:
        console.print(f"[dim]· {escape(note)}[/]")


def _origin(fact: dict[str, Any]) -> str:
    if fact.get("source"):
        said = f"{fact['source']}" + (f", read {fact['date']}" if fact.get("date") else "")
    else:
        said = f"{fact.get('copied_from') or 'nobody'}, copied and not opened"
    return said + (f" ({fact['note']})" if fact.get("note") else "")


@contextmanager
def progress() -> Generator[Callable[[], None]]:
    """Show how many points are done, on a terminal. Yields what to call after each."""
    bar = Progress(
        TextColumn("points"), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
    bar.disable = not bar.console.is_terminal
    with bar:
        task = bar.add_task("points", total=None)
        yield lambda: bar.advance(task)


def seconds(value: float) -> str:
    """Write a time with three digits: 36.3 ms, 6.56 µs."""
    for limit, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs")):
        if value >= limit * 0.9995:
            return f"{_three(value * factor)} {unit}"
    return f"{_three(value * 1e9)} ns" if value else "0"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"  # noqa: PLR2004
