"""What can be asked of a priced step: one function per figure, read off numbers or symbols alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rooflight.api.memory import USABLE
from rooflight.api.per_gpu import GPU_FIGURES, Part
from rooflight.api.steps import RESOURCES
from rooflight.expr import div, floor_div, max_, named, prod, total
from rooflight.layout import AXES
from rooflight.pricing import BEHIND, BETWEEN, Line
from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.expr import Value

_HOUR, _MILLION = 3_600, 1_000_000


class Terms(NamedTuple):
    """What of a deployment is neither the model's nor the GPU's.

    tokens   each sequence gains per decode step
    usable   share of memory, of which `reserve_bytes` are kept free
    usd      of a GPU-hour, None where nobody says
    """

    tokens: float = 1.0
    usable: float = USABLE
    reserve_bytes: int = 0
    usd: float | None = None


class View(NamedTuple):
    """One reading of a priced step, with numbers or with symbols. `bounds` are the lines', as numbers say."""

    part: Part
    alone: Part  # one sequence per rank
    stored: Part  # the graph that weights are stored by
    lines: tuple[Line, ...]
    bounds: tuple[str, ...]
    memory: Value
    terms: Mapping[str, Value]


class PricedFigure(NamedTuple):
    """A figure of a step on a GPU."""

    label: str
    unit: str
    of: Callable[[View], Value]


def _step(view: View) -> Value:
    """Seconds, layer by layer, so that a formula names what one layer takes before it counts layers."""
    graph = view.part.deployed.program.graph
    layers: dict[int, list[Value]] = {}
    once: list[Value] = []
    for line in view.lines:
        if line.entry or line.group in (BEHIND, BETWEEN):
            once.append(line.spent.longest)
        else:
            layers.setdefault(line.group, []).append(line.spent.longest)
    for group, found in layers.items():
        stack = graph.groups[group]
        if stack.layers is None:
            once += found
        else:
            word = f"seconds_{stack.name.replace('.', '_')}"
            once.append(view.part.facts.group_copies[group] * named(word, total(found)))
    return total(once)


def _rate(view: View) -> Value:
    """Tokens per second of a replica."""
    deployed, binding = view.part.deployed, view.part.facts.binding
    new = view.terms["tokens"] if deployed.step.phase == "decode" else binding["s_q"]
    return div(prod((binding["B"], new)), named("step", _step(view)))


def _gpus(view: View) -> Value:
    return prod([view.part.facts.binding[axis] for axis in AXES])


def _per_gpu_rate(view: View) -> Value:
    return div(_rate(view), _gpus(view))


def _per_user_rate(view: View) -> Value:
    return div(view.terms["tokens"], named("step", _step(view)))


def _usable(view: View) -> Value:
    return floor_div(view.memory * view.terms["usable"], 1)


def _max_batch(view: View) -> Value:
    room = named("usable_bytes", _usable(view)) - view.terms["reserve"] - _figure("weights.bytes", view.stored)
    each = total((_figure("cache.bytes", view.alone), _figure("activations.peak", view.alone)))
    return max_(0, floor_div(room, each))


def _figure(name: str, part: Part) -> Value:
    return named(name.replace(".", "_"), GPU_FIGURES[name].of(part))


def _usd(view: View) -> Value:
    if view.terms["usd"] is None:
        raise SpecError(
            "missing-fact", "price", "what a GPU-hour costs", "nobody says", "give it with --price, or list it"
        )
    return div(prod((view.terms["usd"], _gpus(view), _MILLION)), _HOUR * _rate(view))


def _room(view: View) -> Value:
    """Bytes of the usable share beside everything the step holds, negative where it does not fit."""
    moving = [_figure(name, view.part) for name in ("cache.bytes", "activations.peak")]
    held = total([_figure("weights.bytes", view.stored), *moving])
    return named("usable_bytes", _usable(view)) - view.terms["reserve"] - held


def _requests(view: View) -> Value:
    return view.part.facts.binding["B"]


def _capacity(view: View) -> Value:
    return view.memory


def _unusable(view: View) -> Value:
    return view.memory - _usable(view)


def _left(view: View) -> Value:
    return max_(0, _room(view))


def _over(view: View) -> Value:
    return max_(0, 0 - _room(view))


def _of_one(name: str) -> Callable[[View], Value]:
    def figure(view: View) -> Value:
        return GPU_FIGURES[name].of(view.alone)

    return figure


def _bound_by(resource: str) -> Callable[[View], Value]:
    def share(view: View) -> Value:
        mine = [at for at, bound in enumerate(view.bounds) if bound == resource]
        spent = total([times(view, at) * view.lines[at].spent.longest for at in mine])
        return div(named(f"{resource}_bound", spent), named("step", _step(view)))

    return share


def _joules(view: View) -> Value:
    if view.terms["tdp"] is None:
        raise SpecError("missing-fact", "gpu", "tdp in W, the power it is designed for", "no such figure", "add tdp")
    return div(view.terms["tdp"], named("tok_s_gpu", _per_gpu_rate(view)))


PRICED_FIGURES: dict[str, PricedFigure] = {
    "step_s": PricedFigure("Seconds of one step", "second", _step),
    "tok_s_gpu": PricedFigure("Tokens per second of one GPU", "token/s", _per_gpu_rate),
    "tok_s_user": PricedFigure("Tokens per second of one sequence", "token/s", _per_user_rate),
    "usd_per_million": PricedFigure("Price of a million tokens of this step", "USD", _usd),
    "joules": PricedFigure("Energy of one token", "joule", _joules),
    "max_batch": PricedFigure("Sequences per attention-DP rank that fit", "sequence", _max_batch),
    "requests": PricedFigure("Sequences in all", "sequence", _requests),
    "memory.capacity": PricedFigure("Memory of one GPU", "byte", _capacity),
    "memory.usable": PricedFigure("Memory of one GPU that may be used", "byte", _usable),
    "memory.unusable": PricedFigure("Memory of one GPU that is left alone", "byte", _unusable),
    "memory.left": PricedFigure("Usable memory that is left", "byte", _left),
    "memory.over": PricedFigure("Memory that is missing", "byte", _over),
    "request.cache": PricedFigure("Cache of one request per rank", "byte", _of_one("cache.bytes")),
    "request.activations": PricedFigure("Activations of one request per rank", "byte", _of_one("activations.peak")),
    **{
        f"share.{resource}": PricedFigure(f"Share of the step that {resource} bounds", "share", _bound_by(resource))
        for resource in RESOURCES
    },
}


def times(view: View, at: int) -> Value:
    """How often a line runs in the step."""
    line = view.lines[at]
    return 1 if line.entry or line.group in (BEHIND, BETWEEN) else view.part.facts.group_copies[line.group]


def copies(view: View, at: int) -> Value:
    """How many copies of it a layer holds, such as experts."""
    work = view.lines[at].work
    return 1 if work is None else view.part.held.copies[work.members[-1]]


def _work(name: str) -> Callable[[Line], Value]:
    return lambda line: 0 if line.work is None else getattr(line.work, name)


# Of one kernel or collective, in all layers; `count` is of its copies, everything else of what all of them do.
ROW_FIGURES: dict[str, tuple[str, str, Callable[[Line], Value]]] = {
    "seconds": ("Seconds", "second", lambda line: line.spent.longest),
    "compute_s": ("Seconds of computing", "second", lambda line: line.spent.compute),
    "memory_s": ("Seconds of reading and writing", "second", lambda line: line.spent.memory),
    "communication_s": ("Seconds of exchanging", "second", lambda line: line.spent.communication),
    "matmul_flops": ("Matrix FLOPs of one GPU", "FLOP", _work("matmul_flops")),
    "other_flops": ("Other FLOPs of one GPU", "FLOP", _work("other")),
    "weight_bytes": ("Weight bytes one GPU reads", "byte", _work("weight_bytes")),
    "activation_bytes": ("Activation bytes one GPU moves", "byte", _work("activation_bytes")),
    "kv_bytes": ("Cache bytes one GPU moves", "byte", _work("kv_bytes")),
    "sent_bytes": ("Bytes one GPU sends", "byte", lambda line: 0 if line.move is None else line.move.sent),
}
