"""The commands `plans`, `estimate`, `sweep` and `gpus`."""

from __future__ import annotations

import csv
import json
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from rooflight import api
from rooflight.edge import front, screen
from rooflight.edge.deploy import show

if TYPE_CHECKING:
    from collections.abc import Callable

_TARGET = "TARGET is a model id of `rooflight models`, the path of a config.json, or a folder that holds one."
_DIGITS = 10
_MOST_BATCH = 10**9


def _most(_ctx: click.Context, option: click.Parameter, written: str) -> int | None:
    """Read a whole number from 1, or max, which is None."""
    if written == "max":
        return None
    if not (written.isascii() and written.isdigit() and len(written) <= _DIGITS and 1 <= int(written) <= _MOST_BATCH):
        raise click.BadParameter("a whole number from 1 to a billion, or max, is needed", param=option)
    return int(written)


def _kernels(ctx: click.Context, option: click.Parameter, written: str) -> int | None:
    return 0 if written == "0" else _most(ctx, option, written)


class _Tokens(click.ParamType[int]):
    """A number of tokens: 4096, or 4k."""

    name = "tokens"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        tokens = value if isinstance(value, int) else api.whole_number(value)
        if tokens is None or not 1 <= tokens <= self.most:
            self.fail(
                f"{str(value)[:40]!r} is not a number of tokens from 1 to {self.most:,}, such as 4096 or 4k", param
            )
        return tokens


def _number(_ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value != value:  # noqa: PLR0124 - NaN passes every range
        raise click.BadParameter("a number is needed", param=option)
    return value


def _exact(_ctx: click.Context, option: click.Parameter, value: float) -> Any:
    """Return a factor as the decimal fraction it was written as, so that figures stay exact."""
    if value != value:  # noqa: PLR0124 - NaN passes every range
        raise click.BadParameter("a number is needed", param=option)
    return int(value) if value == int(value) else Fraction(str(value))


def _option(*names: str, **settings: Any) -> Callable[..., Any]:
    settings.setdefault("show_default", settings.get("default") is not None)
    return click.option(*names, **settings)


def _flag(name: str, help: str) -> Callable[..., Any]:  # noqa: A002 - click's word
    return click.option(name, is_flag=True, help=help)


_OPTIONS = (
    _option(
        "--gpus", type=click.IntRange(1, 4096), metavar="N", help="GPUs in all, which the plan is repeated to fill."
    ),
    _option(
        "--plan",
        default="",
        metavar="PLAN",
        show_default=False,
        help="Degrees, e.g. attn_dp=8,ep=8. [default: of the usual plans for --gpus GPUs, or one, the fastest per GPU]",
    ),
    _option("--input", "input_tokens", type=_Tokens(10**8), default=1024, help="Tokens of a prompt."),
    _option("--output", "output_tokens", type=_Tokens(10**8), default=1024, help="Tokens of an answer."),
    _option(
        "--batch",
        default="max",
        callback=_most,
        metavar="N|max",
        help="Sequences per attention-DP rank in decode; max: what fits.",
    ),
    _option(
        "--context",
        type=_Tokens(2 * 10**8),
        metavar="TOKENS",
        help="Tokens each sequence holds in the decode step; TTFT is of --input. [default: input and output]",
    ),
    _option("--prefill-batch", type=click.IntRange(1, 10**6), default=1, help="Prompts per rank behind TTFT."),
    _option("--precision", default="factory", metavar="NAME", help="factory, or a profile of specs/precision."),
    _option("--usable", type=click.FloatRange(0, 1), default=api.USABLE, callback=_number, help="Share of memory."),
    _option(
        "--reserve",
        "reserve_bytes",
        type=click.IntRange(0, 10**15),
        default=0,
        metavar="BYTES",
        help="Kept free besides, for what a runtime needs.",
    ),
    _option("--head", type=click.Choice(["last", "all"]), default="last", help="Prefill: positions that get logits."),
    _option("--speculative", type=click.IntRange(0, 64), default=0, metavar="K", help="Tokens guessed ahead per step."),
    _option(
        "--acceptance",
        type=click.FloatRange(0, 1),
        default=1.0,
        callback=_number,
        help="Chance that a guess is right once all before it were.",
    ),
    _option(
        "--ep-load-factor",
        type=click.FloatRange(1, 4096),
        default=1.0,
        callback=_exact,
        help="Rows of the busiest GPU of experts, over the average.",
    ),
    _option(
        "--price",
        "usd_per_gpu_hour",
        type=click.FloatRange(0, 1e6),
        callback=_number,
        metavar="USD",
        help="Of a GPU-hour. [default: gpus/prices.yaml]",
    ),
    _flag("--drafts", "Deploy the heads that guess ahead (MTP) too."),
    _flag("--ulysses", "Under cp, exchange heads for positions around attention."),
    _flag("--sequence", "Cut the trunk's positions over the GPUs that share heads."),
    _flag("--argmax", "Gather the best logit of each GPU instead of all."),
)


def _gpu(*, required: bool) -> Callable[..., Any]:
    said = "An id of `rooflight gpus`, or the path of a GPU file, as docs/gpus.md describes them."
    more = "" if required else " Not needed where an axis is gpu."
    return click.option("--gpu", required=required, metavar="G|FILE", help=said + more)


def _deployment(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def _emit(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=api.json_number))


@click.command(epilog=_TARGET)
@click.argument("target")
@click.option("--gpus", type=click.IntRange(1, 4096), default=8, show_default=True, help="GPUs of one replica.")
@click.option("--all", "show_all", is_flag=True, help="Also plans that cannot run, with the reason.")
@_json
@click.pass_obj
def plans(specs: str | None, target: str, gpus: int, *, show_all: bool, as_json: bool) -> None:
    """List the plans a model can run under on a number of GPUs, and why others are not."""
    rows = front.plans(front.load(target, specs=specs, proven=True), gpus, specs=specs)
    if as_json:
        _emit(rows)
    else:
        show.plans(rows, show_all=show_all)


@click.command(epilog=_TARGET)
@click.argument("target")
@_gpu(required=True)
@_deployment
@click.option(
    "--kernels",
    default="12",
    callback=_kernels,
    metavar="N|max",
    show_default=True,
    help="Kernels to print of each step, the longest ones; 0 for none.",
)
@_json
@click.pass_obj
def estimate(
    specs: str | None, target: str, gpu: str, plan: str, kernels: int | None, *, as_json: bool, **knobs: Any
) -> None:
    """Say whether a deployment fits, how long its steps take, kernel by kernel, and what its tokens cost.

    Times are what the hardware's peak rates allow, one kernel after another.
    """
    model = front.load(target, specs=specs, proven=True)
    result = front.estimate(model, gpu, plan, specs=specs, **knobs)
    screen.warnings((*model.warnings, *_input_stays(knobs)))
    if as_json:
        _emit(result)
    else:
        show.estimate(result, kernels)


def _input_stays(knobs: dict[str, Any]) -> list[str]:
    """Say which tokens a prompt has where only the context was given, since TTFT is of the prompt."""
    held = knobs["context"]
    if held is None or _given("input_tokens"):
        return []
    return [
        f"--context {held:,} is of decode; TTFT is of prompts of {knobs['input_tokens']:,} tokens: --input sets them"
    ]


def _given(name: str) -> bool:
    """Say whether an option of this command was written, not left at its default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


@click.command(epilog=_TARGET)
@click.argument("target")
@click.option(
    "--over",
    "axes",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="An axis, once per axis: batch=1,2,4 or context=4k..128k (doubling), batch=1..64*4, input=512..4096+512, "
    "gpu=h100,b200, plan='attn_dp=8,ep=8;attn_tp=8'. Axes: " + ", ".join(api.SWEEP_AXES) + ".",
)
@_gpu(required=False)
@_deployment
@_json
@click.pass_obj
def sweep(
    specs: str | None, target: str, axes: tuple[str, ...], gpu: str | None, plan: str, *, as_json: bool, **knobs: Any
) -> None:
    """Price a deployment over ranges: one row per combination of values, as CSV or JSON.

    A point that cannot be priced says why in its column `error`, and so does one whose plan cannot run.
    """
    if gpu is None and not any(axis.partition("=")[0].strip() == "gpu" for axis in axes):
        raise click.UsageError("name a --gpu, or several with --over gpu=h100,b200")
    model = front.load(target, specs=specs, proven=True)
    screen.warnings(model.warnings)
    with show.progress() as step:
        rows = front.sweep(model, gpu or "", axes, plan, step=step, specs=specs, **knobs)
    if as_json:
        _emit(rows)
    else:
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@click.command()
@click.argument("gpu", metavar="[G|FILE]", required=False)
@_json
def gpus(gpu: str | None, *, as_json: bool) -> None:
    """List the GPUs whose facts ship with the project, or every fact of one with its source."""
    if gpu is None:
        rows = front.gpus()
        if as_json:
            _emit(rows)
        else:
            show.gpus(rows)
        return
    facts = front.gpu(gpu)
    if as_json:
        _emit(facts)
    else:
        show.gpu(facts)
