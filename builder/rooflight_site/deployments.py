"""What the site deploys of every model: the smallest deployment on one kind of GPU, and the sweeps of its charts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rooflight import api
from rooflight.edge import front
from rooflight.spec import Model
from rooflight_site.commands import sweep_command
from rooflight_site.format import tokens

DEFAULT_GPU = "b200"
COMPARED_GPUS = ("h100", "h200", "b200", "gb200-nvl72")
MOST_GPUS = 64
MOST_BATCH = 1024
_CONTEXTS = (4096, 16384, 65536)  # of the comparison of batches, with the published one


class Sweep(NamedTuple):
    """One chart's points: `x` and `series` name its axes, `rows` are as `rooflight sweep` prints them."""

    x: str
    series: str
    names: Mapping[str, str]  # what a reader calls each value of `series`
    command: str
    rows: list[dict[str, Any]]


class Deployed(NamedTuple):
    """One model on GPUs, with everything its page shows."""

    estimate: api.Estimate
    serving: api.Serving
    gpu: Mapping[str, Any]  # its facts with their sources
    sweeps: Mapping[str, Sweep]

    @property
    def gpu_id(self) -> str:
        return self.estimate.gpu.id

    @property
    def plan(self) -> str:
        return api.plan_words(self.estimate.plan)

    @property
    def asked(self) -> tuple[int, int]:
        """Tokens in and out."""
        return self.estimate.ask.input_tokens, self.estimate.ask.output_tokens


def deploy(model: Model) -> Deployed:
    """The default deployment of a model. SpecError where it cannot be priced."""
    gpu, listed = front.machine(DEFAULT_GPU)
    plan = api.smallest(model, gpu, listed=listed).plan
    return deployed(api.Estimate(model, gpu, plan, listed=listed))  # the page names it, so nothing is picked any more


def deployed(estimate: api.Estimate) -> Deployed:
    """A deployment with its charts."""
    model, gpu = estimate.model, estimate.gpu.id
    plan, contexts = api.plan_words(estimate.plan), _contexts(model.max_context)
    gpus = {"gpus": f"1..{MOST_GPUS}", "gpu": ",".join(COMPARED_GPUS)}
    batches = {"batch": f"1..{MOST_BATCH}*4", "context": ",".join(map(str, contexts))}
    names = {name: front.machine(name)[0].name for name in COMPARED_GPUS}
    lengths = {str(context): f"{tokens(context)} tokens" for context in contexts}
    sweeps = {
        "gpus": _sweep(model, api.Request(gpu, ask=estimate.ask), gpus, names),  # so a point equals the tile
        "batch": _sweep(model, api.Request(gpu, plan=plan, ask=_within(estimate.ask, contexts[0])), batches, lengths),
    }
    return Deployed(estimate, api.serving(estimate), api.gpu_facts(estimate.gpu, estimate.listed), sweeps)


def _within(ask: api.Ask, context: int) -> api.Ask:
    """The same requests, shortened to so many tokens where they hold more: a sweep over contexts only lengthens."""
    if ask.input_tokens + ask.output_tokens <= context:
        return ask
    return ask._replace(input_tokens=context - context // 2, output_tokens=context // 2)


def _sweep(model: Model, request: api.Request, values: Mapping[str, str], names: Mapping[str, str]) -> Sweep:
    x, series = values
    axes = tuple(f"{name}={words}" for name, words in values.items())
    rows = api.sweep(model, request, [api.parse_axis(axis) for axis in axes], front.machine)
    asked = request.ask.input_tokens, request.ask.output_tokens
    return Sweep(x, series, names, sweep_command(model.id, request.gpu, request.plan, axes, asked), rows)


def _contexts(published: int) -> tuple[int, ...]:
    """A few contexts up to the published one."""
    shorter = [context for context in _CONTEXTS if context < published]
    if len(shorter) < 2:  # one line compares nothing
        shorter = [published // 4, published // 2]
    return (*shorter, published)
