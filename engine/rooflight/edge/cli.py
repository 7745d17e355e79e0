"""The `rooflight` command."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflight import __version__, api
from rooflight.edge import front, screen
from rooflight.edge.access import no_access
from rooflight.edge.deploy import commands as deploy
from rooflight.edge.snapshot import commands
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

BAD_INPUT = 1  # a spec, config, figure or step that was refused; 2 is click's: a wrong command line

_AS_JSON = "rooflight.as_json"  # key in click's context

_TARGET_HELP = "TARGET is a model id of `rooflight models`, the path of a config.json, or a folder that holds one."


class _Group(click.Group):
    """Turns a refusal into its four lines on stderr, or one JSON object under --json, and exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_AS_JSON] = "--json" in args  # the subcommand's option, which its own context has forgotten by then
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SpecError as error:
            self._refuse(ctx, error)
        except BrokenPipeError:  # `rooflight … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written again at exit
            ctx.exit(0)
        except OSError as error:
            self._refuse(ctx, no_access(error))

    def _refuse(self, ctx: click.Context, error: SpecError) -> None:
        if ctx.meta[_AS_JSON]:
            click.echo(json.dumps({"error": error.as_json()}, indent=2), err=True)
        else:
            screen.error(error)
        ctx.exit(BAD_INPUT)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the input was refused (stderr says why and how to fix it), 2 wrong command line.",
)
@click.version_option(__version__, "-V", "--version", prog_name="rooflight")
@click.option("--specs", metavar="DIR", help="Read specs from DIR instead of the project's own.")
@click.pass_context
def main(ctx: click.Context, specs: str | None) -> None:
    """Say what an LLM architecture costs to serve, from a verified description of it."""
    ctx.obj = specs


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def _step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--context",
                "-T",
                type=int,
                metavar="TOKENS",
                help="Tokens each sequence holds when the step is done, new ones included. "
                f"[default: {api.REFERENCE_CONTEXT}, or the model's whole context where that is shorter]",
            ),
            click.option("--batch", "-B", type=int, default=1, show_default=True, help="Sequences in the step."),
            click.option("--prefix", type=int, default=0, show_default=True, help="Prefill: tokens already cached."),
            click.option(
                "--new-tokens", type=int, default=1, show_default=True, help="Decode: new tokens per sequence."
            ),
            click.option(
                "--head",
                type=click.Choice(["last", "all"]),
                default="last",
                show_default=True,
                help="Prefill: positions that get logits.",
            ),
            click.option(
                "--decode",
                type=click.Choice(["variant", "same"]),
                default="variant",
                show_default=True,
                help="Decode: let latent attention work on the latent, or rebuild keys and values as in prefill.",
            ),
            click.option(
                "--precision",
                default="factory",
                show_default=True,
                metavar="NAME",
                help="factory, as the checkpoint has it, or a profile of specs/precision.",
            ),
            click.option("--drafts", is_flag=True, help="Deploy the heads that guess ahead (MTP) too."),
            click.option(
                "--attention",
                type=click.Choice(["exact", "square"]),
                default="exact",
                show_default=True,
                help="Count the pairs a mask lets through, or every query with every visible key.",
            ),
        )
    ):
        command = option(command)
    return command


_phase = click.option(
    "--phase", type=click.Choice(["prefill", "decode"]), default="prefill", show_default=True, help="Which step."
)


def _emit(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=api.json_number))


@main.command()
@_json_option
@click.pass_obj
def models(specs: str | None, *, as_json: bool) -> None:
    """List the checkpoints whose facts ship with the project."""
    rows = front.models(specs=specs)
    if as_json:
        _emit(rows)
    else:
        screen.models(rows)


@main.command(epilog=_TARGET_HELP)
@click.argument("target")
@_json_option
@click.pass_obj
def show(specs: str | None, target: str, *, as_json: bool) -> None:
    """Show what a model is: parameters, layers, cache."""
    facts = front.show(front.load(target, specs=specs, proven=True), specs=specs)
    if as_json:
        _emit(facts)
    else:
        screen.warnings(facts["warnings"])
        screen.show(facts)


@main.command(epilog=_TARGET_HELP)
@click.argument("target")
@_phase
@_step_options
@_json_option
@click.pass_obj
def cost(specs: str | None, target: str, phase: str, *, as_json: bool, **knobs: Any) -> None:
    """Count what one step computes and moves, node by node (device-independent)."""
    model = front.load(target, specs=specs, proven=True)
    table = front.cost(model, phase, specs=specs, **knobs)
    screen.warnings(model.warnings)
    if as_json:
        _emit(table)
    else:
        screen.cost(table)


@main.command(epilog=_TARGET_HELP)
@click.argument("target")
@click.argument("figure", metavar="QUANTITY", required=False)
@click.option("--node", metavar="ID", help="Of one node (all its copies) instead of the whole model.")
@click.option("--phase", type=click.Choice(["prefill", "decode"]), help="Which step. [default: prefill]")
@click.option("--plan", metavar="PLAN", help="Of one GPU of a plan, e.g. attn_tp=8; --batch is then per DP rank.")
@click.option("--gpu", metavar="GPU", help="Under --plan: times, capacity and price on a GPU, and of its kernels.")
@click.option("--usable", type=click.FloatRange(0, 1), default=api.USABLE, show_default=True, help="Share of memory.")
@click.option("--reserve", type=click.IntRange(0, 10**15), default=0, metavar="BYTES", help="Memory kept free besides.")
@click.option("--acceptance", type=click.FloatRange(0, 1), default=1.0, help="Of each of --new-tokens after the first.")
@click.option("--price", type=click.FloatRange(0, 1e6), metavar="USD", help="Of a GPU-hour, instead of the listed one.")
@_step_options
@click.option(
    "--format",
    "form",
    type=click.Choice(list(api.FORMATS)),
    default="text",
    show_default=True,
    help="text adds value and symbols; json adds the formula as a node table.",
)
@_json_option
@click.pass_obj
def formula(
    specs: str | None,
    target: str,
    figure: str | None,
    node: str | None,
    phase: str | None,
    plan: str | None,
    gpu: str | None,
    usable: float,
    reserve: int,
    acceptance: float,
    price: float | None,
    form: str,
    *,
    as_json: bool,
    **knobs: Any,
) -> None:
    """Print a figure's formula, its value, and the values of its symbols.

    QUANTITY is a name such as params.total, cache.bytes, decode.flops or matmul_flops; without one, the names are
    listed. The keys that pages and JSON files show (prefill.kv_bytes/layers.attention.scores) work as they stand.
    """
    if plan is not None and gpu is None and node is not None:
        raise click.UsageError("--node under --plan needs a --gpu: without one, a plan's figures are of a whole GPU")
    if gpu is not None and plan is None:
        raise click.UsageError("--gpu needs a --plan, e.g. --plan attn_dp=1 for one GPU")
    if figure is None:
        names = _names(plan, gpu, node)
        if as_json or form == "json":
            _emit(names)
        else:
            click.echo("\n".join(names))
        return
    if plan is not None and form not in ("text", "json"):
        raise click.UsageError("--plan prints text or json")
    if as_json or form in ("text", "json"):
        if plan is None:
            facts = front.explain(target, figure, node, phase, specs=specs, **knobs)
        else:
            tokens = sum(acceptance**guess for guess in range(knobs["new_tokens"]))
            terms = api.Terms(tokens, usable, reserve, price)
            knobs |= {"gpu": gpu, "node": node, "terms": terms}
            facts = front.explain_gpu(target, figure, plan, phase, specs=specs, **knobs)
        if as_json or form == "json":
            _emit(facts)
        else:
            screen.formula(facts)
    else:
        click.echo(front.formula(target, figure, node, phase, form, specs=specs, **knobs))


def _names(plan: str | None, gpu: str | None, node: str | None) -> list[str]:
    """Return the names of figures there are."""
    if plan is None:
        return list(api.figure_names(node=node is not None))
    if gpu is None:
        return list(api.GPU_FIGURES)
    if node is not None:
        return ["count", *api.ROW_FIGURES]
    return [*api.PRICED_FIGURES, *api.GPU_FIGURES, *(f"{name}/<kernel>" for name in ("count", *api.ROW_FIGURES))]


@main.command(epilog=_TARGET_HELP)
@click.argument("target")
@_phase
@click.pass_obj
def graph(specs: str | None, target: str, phase: str) -> None:
    """Print the graph: every node with its inputs, shape, weights and cache."""
    click.echo(api.print_graph(front.load(target, specs=specs), phase), nl=False)


@main.command(epilog=_TARGET_HELP)
@click.argument("target")
@click.option("--buffers", is_flag=True, help="Also what old files hold beside parameters.")
@_json_option
@click.pass_obj
def tensors(specs: str | None, target: str, *, buffers: bool, as_json: bool) -> None:
    """List the tensors a checkpoint of the model holds, layers written as ranges."""
    rows = front.tensors(target, specs=specs, buffers=buffers)
    if as_json:
        _emit(rows)
    else:
        screen.tensors(rows)


@main.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@_json_option
@click.pass_obj
def check(specs: str | None, targets: tuple[str, ...], *, as_json: bool) -> None:
    """Check that specs hold together: graph, geometry at random dims, tensor names. All models without a TARGET."""
    catalog = front.catalog(specs)
    ids = targets or catalog.ids()
    findings: list[dict[str, Any]] = []
    for target in ids:
        try:
            api.check(front.load(target, specs=specs))
        except SpecError as error:
            findings.append({"model": target, **error.as_json()})
            if not as_json:
                screen.error(error)
    if as_json:
        _emit({"checked": list(ids), "findings": findings})
    elif not findings:
        click.echo(f"{len(ids)} {'model holds' if len(ids) == 1 else 'models hold'} together")
    if findings:
        sys.exit(BAD_INPUT)


@main.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--sources", metavar="DIR", help="Folder with the wheels that specs quote from. [default: .sources]")
@_json_option
@click.pass_obj
def validate(specs: str | None, targets: tuple[str, ...], sources: str | None, *, as_json: bool) -> None:
    """Hold specs against facts outside the project; all models without a TARGET. Exit 1 on a blocking finding."""
    result = front.validate(*targets, specs=specs, sources=sources)
    if as_json:
        _emit(result)
    else:
        screen.findings(result)
    if any(finding["blocking"] for finding in result["findings"]):
        sys.exit(BAD_INPUT)


@main.command()
@click.option("--out", metavar="DIR", default="site", show_default=True, help="Folder to write; replaced as a whole.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--site-url", metavar="URL", help="Where the site will stand; only its 404 page needs to know.")
@click.pass_obj
def build(specs: str | None, out: str, jobs: int, site_url: str | None, *, quiet: bool) -> None:
    """Evaluate every published model and write the site."""
    builder = _builder("rooflight_site.build")
    try:
        report = builder.build(Path(out), front.catalog(specs), jobs, quiet, site_url=site_url)
    except builder.BuildError as error:
        raise click.ClickException(str(error)) from None
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items())
    click.echo(f"{report.models} models, {report.pages} pages, {screen.size(report.bytes)} in {out} ({stages})")
    for line in report.left_out:
        click.echo(f"left out: {line}", err=True)
    click.echo(f"view it with: rooflight serve {out}")


@main.command()
@click.argument("folder", default="site", metavar="[DIR]", type=click.Path(exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port on this machine.")
@click.option("--base", default="/", show_default=True, help="Path the site is served under, e.g. /rooflight/.")
def serve(folder: str, port: int, base: str) -> None:
    """Serve a built site on this machine, the way GitHub Pages does."""
    try:
        running = _builder("rooflight_site.serve").server(Path(folder), port=port, prefix=base)
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror}; choose another with --port") from None
    with running:
        path = f"{base.strip('/')}/" if base.strip("/") else ""
        click.echo(f"http://127.0.0.1:{running.server_address[1]}/{path}  (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            running.serve_forever()


def _builder(module: str) -> Any:
    # The builder is another package that stands on this one; the engine never imports it by name.
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed; `make site` sets up everything a build needs, "
            "or install rooflight with its extra: pip install 'rooflight[site]'"
        ) from None


main.add_command(commands.snapshot)
main.add_command(commands.new)
main.add_command(deploy.plans)
main.add_command(deploy.estimate)
main.add_command(deploy.sweep)
main.add_command(deploy.gpus)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell's completion script: eval "$(rooflight completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "rooflight", "_ROOFLIGHT_COMPLETE").source())


if __name__ == "__main__":
    main()
