"""The Python interface: what the commands do, as functions of a target."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooflight import api
from rooflight.edge.library import load_target, open_catalog
from rooflight.edge.machines import all_gpus, open_gpu, open_prices
from rooflight.spec import bind
from rooflight.values import SpecError
from rooflight.walk import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from rooflight.edge.library import Catalog
    from rooflight.hardware import Fact, Gpu
    from rooflight.spec import Model
    from rooflight.values import Quantity

    Target = str | PathLike[str] | dict[str, Any] | Model


@lru_cache(maxsize=4)
def catalog(folder: str | None = None) -> Catalog:
    """Return the catalog of a specs folder, read once per process."""
    return open_catalog(folder)


def load(target: Target, *, specs: str | None = None, proven: bool = False) -> Model:
    """Return the bound model a target names. Raises SpecError with what is wrong and how to fix it.

    With proven, its graph and geometry are checked too: a spec that does not hold together gives no figures.
    """
    model = _load(target, specs)
    if proven:
        api.check(model)
    return model


def _load(target: Target, specs: str | None) -> Model:
    from rooflight.spec import Model

    if isinstance(target, Model):
        return target
    if isinstance(target, dict):
        return bind(catalog(specs).library, target, "config", "config")
    return load_target(catalog(specs), str(target))


def models(*, specs: str | None = None) -> list[dict[str, Any]]:
    """Return one row per checkpoint whose facts ship with the project."""
    return [api.model_row(model) for model in catalog(specs).models()]


def show(target: Target, *, specs: str | None = None) -> dict[str, Any]:
    """Return a model's parameters, cache, layers, and its checkpoint: bytes, tensors, how far they were checked."""
    from rooflight.edge.validate import checkpoint

    model = load(target, specs=specs)
    return {**api.show(model), "checkpoint": checkpoint(catalog(specs), model)}


def cost(target: Target, phase: str = "prefill", *, specs: str | None = None, **knobs: Any) -> dict[str, Any]:
    """Return what one step computes and moves; knobs: batch, context, prefix, new_tokens, head, attention."""
    return api.cost(load(target, specs=specs), phase, **knobs)


def quantity(target: Target, key: str, *, specs: str | None = None, **knobs: Any) -> Quantity:
    """Return one figure with its value, unit and formula."""
    return api.quantity(load(target, specs=specs), key, **knobs)


def formula(
    target: Target,
    key: str,
    node: str | None = None,
    phase: str | None = None,
    format: str = "text",  # noqa: A002
    *,
    specs: str | None = None,
    **knobs: Any,
) -> str | dict[str, Any]:
    """Return one figure's formula as text, latex or mathml; json gives value, symbols and node table too."""
    model = load(target, specs=specs)
    if format == "json":
        return api.explain(model, key, node=node, phase=phase, **knobs)
    return api.formula(model, key, node=node, phase=phase, form=format, **knobs)


def explain(
    target: Target,
    key: str,
    node: str | None = None,
    phase: str | None = None,
    *,
    specs: str | None = None,
    **knobs: Any,
) -> dict[str, Any]:
    """Return one figure with its formula, its value, and what its symbols stand for."""
    return api.explain(load(target, specs=specs), key, node=node, phase=phase, **knobs)


def explain_gpu(
    target: Target,
    key: str,
    plan: str,
    phase: str | None = None,
    *,
    gpu: str | None = None,
    node: str | None = None,
    terms: api.Terms | None = None,
    specs: str | None = None,
    **knobs: Any,
) -> dict[str, Any]:
    """Return one figure of one GPU of a plan, as explain does, and the plan with reasons why it could not run.

    batch is sequences per attention-DP rank. With a gpu, its times and capacity are figures too, and those of its
    kernels, named behind a slash or by `node`.
    """
    parts = api.parse_key(key)
    node = node or parts.node
    if node is not None and gpu is None:
        raise SpecError(
            "unknown-figure", key, "a figure of the whole model", key, "leave the node out, or name a --gpu"
        )
    if parts.context is not None:
        knobs = {**knobs, "context": parts.context}
    model = load(target, specs=specs)
    chosen = api.parse_plan(plan)
    step = api.step_size(model, phase or parts.phase or "prefill", **knobs)
    deployment = api.deployment(model, chosen, precision=step.precision.name)
    if gpu is None:
        return {**api.explain_gpu(api.Deployed(model, step, chosen), parts.name), "deployment": deployment}
    held = open_gpu(gpu)
    listed = open_prices().get(held.id)
    terms = terms or api.Terms()
    if terms.usd is None and listed is not None:
        terms = terms._replace(usd=listed.value)
    priced = api.PricedStep(api.timed(model, step, chosen, held), terms)
    return {**priced.explain(parts.name, node), "gpu": held.name, "deployment": deployment}


def tensors(target: Target, *, specs: str | None = None, buffers: bool = False) -> list[dict[str, Any]]:
    """Return the tensors a checkpoint holds, layers written as ranges; with buffers, what old files add."""
    model = load(target, specs=specs)
    rows = api.tensor_rows(model, api.reading(model, drafts=True).numbers)
    if buffers:
        rows = (*rows, *api.buffer_rows(model))
    return [
        {"name": r.name, "shape": list(r.shape), "dtype": r.dtype, "count": r.copies, "role": r.role, "part": r.part}
        for r in rows
    ]


def validate(*targets: str, specs: str | None = None, sources: str | None = None) -> dict[str, Any]:
    """Return what guards and diagnostics say of checkpoints, all that a spec covers where none are named."""
    from rooflight.edge.validate import validate as run

    return run(catalog(specs), targets, None if sources is None else Path(sources))


def plans(target: Target, gpus: int, *, specs: str | None = None) -> list[dict[str, Any]]:
    """Return every plan over a number of GPUs, the valid ones first, and why others are not."""
    return [
        {
            "plan": api.plan_words(verdict.plan),
            "valid": not verdict.refusals,
            "refusals": [error.as_json() for error in verdict.refusals],
        }
        for verdict in api.plans(load(target, specs=specs), gpus)
    ]


def estimate(
    target: Target,
    gpu: str,
    plan: str = "",
    *,
    gpus: int | None = None,
    input_tokens: int = 1_024,
    output_tokens: int = 1_024,
    batch: int | None = None,
    context: int | None = None,
    prefill_batch: int = 1,
    usable: float = api.USABLE,
    reserve_bytes: int = 0,
    precision: str = "factory",
    drafts: bool = False,
    speculative: int = 0,
    acceptance: float = 1.0,
    ep_load_factor: float = 1,
    head: str = "last",
    ulysses: bool = False,
    sequence: bool = False,
    argmax: bool = False,
    usd_per_gpu_hour: float | None = None,
    backend: str = "sol",
    specs: str | None = None,
) -> dict[str, Any]:
    """Return whether a deployment fits, how long its steps take, kernel by kernel, and what its tokens cost.

    gpu is an id of gpus() or the path of a GPU file; batch is sequences per attention-DP rank in decode, None for as
    many as fit. A plan that does not fit or cannot run is priced all the same, and marked; fits_on is then the fewest
    GPUs, doubling from one, and a plan that would do, None where no number of them does.
    """
    ask = api.Ask(
        input_tokens,
        output_tokens,
        batch,
        context,
        prefill_batch,
        usable,
        reserve_bytes,
        precision,
        drafts,
        speculative,
        acceptance,
        ep_load_factor,
        head,
        Family(ulysses, sequence, argmax),
        usd_per_gpu_hour,
        backend,
    )
    found = estimated(target, gpu, plan, gpus=gpus, ask=ask, specs=specs)
    enough = api.enough(found)
    fits_on = enough and {name: enough.deployment[name] for name in ("gpus", "plan")}
    return {**found.report(), "fits_on": fits_on}


def estimated(
    target: Target,
    gpu: str,
    plan: str = "",
    *,
    gpus: int | None = None,
    ask: api.Ask | None = None,
    specs: str | None = None,
) -> api.Estimate:
    """Return the same with nothing of it computed yet."""
    model = load(target, specs=specs)
    ask = ask or api.Ask()
    held, listed = machine(gpu)
    return api.chosen(model, held, plan, gpus, ask, listed)


def asked(**knobs: Any) -> api.Ask:
    """Return what is asked, out of the fields of api.Ask and those of Family."""
    family = Family(**{name: knobs.pop(name) for name in Family._fields if name in knobs})
    return api.Ask(**knobs, family=family)


def machine(gpu: str) -> tuple[Gpu, Fact | None]:
    """Return a GPU by id or path, and what an hour of it costs."""
    held = open_gpu(gpu)
    return held, open_prices().get(held.id)


def gpus() -> list[dict[str, Any]]:
    """Return one row per GPU whose facts ship with the project."""
    prices = open_prices()
    return [api.gpu_row(gpu, prices.get(gpu.id)) for gpu in all_gpus()]


def gpu(target: str) -> dict[str, Any]:
    """Return a GPU's facts with their sources."""
    return api.gpu_facts(*machine(target))


def sweep(
    target: Target,
    gpu: str,
    axes: Sequence[str],
    plan: str = "",
    *,
    gpus: int | None = None,
    step: Callable[[], None] | None = None,
    specs: str | None = None,
    **knobs: Any,
) -> list[dict[str, Any]]:
    """Return one row per point of axes such as "batch=1..64": what was asked, and what estimate says in short.

    The other keywords are those of estimate. What cannot be priced, or cannot run, says why in its column `error`.
    """
    request = api.Request(gpu, gpus, plan, asked(**knobs))
    return api.sweep(load(target, specs=specs), request, [api.parse_axis(axis) for axis in axes], machine, step)
