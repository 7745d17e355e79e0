"""One question over ranges: any axes of a deployment, every point priced as `rooflight estimate` prices it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.api.choose import chosen
from rooflight.api.estimate import Ask
from rooflight.spec import nearest
from rooflight.values import SpecError

if TYPE_CHECKING:
    from fractions import Fraction

    from rooflight.hardware import Fact, Gpu
    from rooflight.spec import Model

MAX_POINTS = 20_000
MAX_VALUES = 4_096  # of one axis
_DIGITS = 18
_LONGEST = 10_000  # characters of an axis
_UNITS = {"k": 1 << 10, "m": 1 << 20}


class Request(NamedTuple):
    """One point: a GPU, how many, a plan (empty: one that suits the model), and what is asked."""

    gpu: str
    gpus: int | None = None
    plan: str = ""
    ask: Ask = Ask()


class Axis(NamedTuple):
    """Something to sweep, and what its values are."""

    kind: str  # text, whole, share or factor
    meaning: str


AXES: dict[str, Axis] = {
    "gpu": Axis("text", "ids of GPUs, or files"),
    "gpus": Axis("whole", "GPUs in all"),
    "plan": Axis("text", "plans, separated by semicolons"),
    "precision": Axis("text", "precision profiles"),
    "batch": Axis("whole", "sequences per attention-DP rank in decode"),
    "context": Axis("whole", "tokens each sequence holds in the decode step"),
    "input": Axis("whole", "tokens of a prompt"),
    "output": Axis("whole", "tokens of an answer"),
    "prefill-batch": Axis("whole", "prompts per rank behind TTFT"),
    "speculative": Axis("whole", "tokens guessed ahead per step"),
    "acceptance": Axis("share", "chance that a guess is right"),
    "ep-load-factor": Axis("factor", "rows of the busiest expert GPU, over the average"),
    "usable": Axis("share", "share of memory"),
}
_FIELD = {"input": "input_tokens", "output": "output_tokens"}  # of Ask, where it is named otherwise

COLUMNS: dict[str, tuple[str, ...]] = {
    "max_batch_decode": ("memory", "max_batch_decode"),
    "max_batch_prefill": ("memory", "max_batch_prefill"),
    "fits": ("decode", "fits"),
    "batch_decode": ("decode", "batch"),
    "step_s": ("decode", "step_s"),
    "tok_s_gpu": ("decode", "tok_s_gpu"),
    "tok_s_user": ("decode", "tok_s_user"),
    "ttft_s": ("prefill", "ttft_s"),
    "prefill_tok_s_gpu": ("prefill", "saturated", "tok_s_gpu"),
    "usd_per_million_input": ("price", "usd_per_million_input"),
    "usd_per_million_output": ("price", "usd_per_million_output"),
    "joule_per_output_token": ("energy", "joule_per_output_token"),
    "weights_bytes": ("memory", "weights_bytes"),
    "kv_bytes_per_request": ("memory", "kv_bytes_per_request"),
    "beyond_published_context": ("beyond_published_context",),
}


def parse_axis(text: str) -> tuple[str, tuple[Any, ...]]:
    """Read `batch=1,2,4`, `context=1k..128k` (doubling), `batch=1..64*4` or `input=512..4096+512`.

    SpecError for an unknown axis or values it cannot take. Plans hold commas, so semicolons stand between them.
    """
    name, equals, written = (part.strip() for part in text.partition("="))
    if len(text) > _LONGEST or name not in AXES:
        known = tuple(AXES)
        raise SpecError("bad-axis", "axis", "one of " + ", ".join(known), repr(name)[:80], nearest(name, known))
    if not equals or not written:
        raise SpecError("bad-axis", f"axis {name}", f"{name}= and values: {AXES[name].meaning}", "none", f"{name}=…")
    pieces = [piece.strip() for piece in written.split(";" if name == "plan" else ",")]
    if AXES[name].kind == "text":
        found: list[Any] = [piece for piece in pieces if piece]
    else:
        found = [value for piece in pieces if piece for value in _of(name, piece)]
    if not 1 <= len(found) <= MAX_VALUES:
        raise SpecError("bad-axis", f"axis {name}", f"1 to {MAX_VALUES:,} values", str(len(found)), "give fewer")
    return name, tuple(dict.fromkeys(found))


def _of(name: str, piece: str) -> Iterator[Any]:
    return iter((None,)) if name == "batch" and piece == "max" else _values(name, piece)


def _values(name: str, piece: str) -> Iterator[Any]:
    first, dots, rest = piece.partition("..")
    if not dots:
        yield _plain(_number(name, first))
        return
    sign = next((sign for sign in "*+" if sign in rest), "")
    last, _, by = rest.partition(sign) if sign else (rest, "", "2")
    value, end, step = _number(name, first), _number(name, last), _number(name, by, by=True)
    rises = step > 0 if sign == "+" else step > 1 and value > 0
    if not rises or value > end:
        raise SpecError(
            "bad-axis",
            f"axis {name}",
            "a range that rises: first..last, first..last*factor or first..last+step",
            repr(piece)[:80],
            f"{name}=1..64",
        )
    for _ in range(MAX_VALUES + 1):
        if value > end:
            return
        yield _plain(value)
        value = value + step if sign == "+" else value * step


def _plain(value: Fraction) -> Any:
    return int(value) if value == int(value) else float(value)


def whole_number(written: str) -> int | None:
    """Read 4096, 4k or 1m, k and m being powers of two; None for anything else."""
    text = written.strip().lower()
    unit = _UNITS.get(text[-1:], 1)
    digits = text[:-1] if unit > 1 else text
    return int(digits) * unit if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS else None


def _number(name: str, written: str, *, by: bool = False) -> Fraction:
    """Read a number exactly: ten steps of 0.1 are 1."""
    from fractions import Fraction  # noqa: PLC0415 - who prices one deployment needs none

    kind, text = AXES[name].kind, written.strip().lower()
    if kind == "whole":
        counted = whole_number(text)
        good, value = counted is not None, Fraction(counted or 0)
    else:
        whole, dot, part = text.partition(".")
        good = all(digits.isascii() and digits.isdigit() for digits in ((whole, part) if dot else (whole,)))
        good = good and len(text) <= _DIGITS
        value = Fraction(text) if good else Fraction(0)
    if not good:
        what = "whole numbers, such as 4096 or 4k" if kind == "whole" else "numbers, such as 0.5"
        example = "4k" if kind == "whole" else "0.5"
        raise SpecError("bad-axis", f"axis {name}", what, repr(written)[:80], f"{name}={example}")
    if kind == "share" and not by and value > 1:
        raise SpecError("bad-axis", f"axis {name}", "numbers from 0 to 1", repr(written)[:80], f"{name}=0.9")
    return value


def points(request: Request, axes: Sequence[tuple[str, Sequence[Any]]]) -> list[tuple[dict[str, Any], Request]]:
    """Return every combination of the axes' values, the last axis changing fastest. SpecError for too many."""
    names = [name for name, _ in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError("bad-axis", f"axis {twice}", "every axis once", "twice", "join its values with commas")
    count = 1
    for _, values in axes:
        count *= len(values)
    if count > MAX_POINTS:
        raise SpecError("bad-axis", "axes", f"at most {MAX_POINTS:,} points", f"{count:,}", "sweep fewer values")
    combinations = product(*[values for _, values in axes])
    return [(dict(zip(names, values, strict=True)), _with(request, names, values)) for values in combinations]


def _with(request: Request, names: Sequence[str], values: Sequence[Any]) -> Request:
    for name, value in zip(names, values, strict=True):
        if name in Request._fields:
            request = request._replace(**{name: value})
        else:
            field = _FIELD.get(name, name.replace("-", "_"))
            request = request._replace(ask=request.ask._replace(**{field: value}))
    return request


def sweep(
    model: Model,
    request: Request,
    axes: Sequence[tuple[str, Sequence[Any]]],
    find: Callable[[str], tuple[Gpu, Fact | None]],
    step: Callable[[], None] | None = None,
) -> list[dict[str, Any]]:
    """Return one row per point: its values, its plan, and COLUMNS; what was refused says why instead.

    `find` gives a GPU and the price of its hour by id; `step` is called after every point.
    """
    machines: dict[str, tuple[Gpu, Fact | None]] = {}
    rows: list[dict[str, Any]] = []
    for values, one in points(request, axes):
        if one.gpu not in machines:
            machines[one.gpu] = find(one.gpu)
        shown = {name: "max" if value is None else value for name, value in values.items()}
        rows.append({**shown, **_row(model, one, *machines[one.gpu])})
        if step is not None:
            step()
    return rows


def _row(model: Model, one: Request, gpu: Gpu, listed: Fact | None) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(COLUMNS)
    try:
        summary = chosen(model, gpu, one.plan, one.gpus, one.ask, listed).summary()
    except SpecError as error:
        return {
            "deployed": one.plan,
            **empty,
            "error": f"{error.code}: {error.where}: {error.expected}; got {error.got}",
        }
    refused = "; ".join(f"{reason['code']}: {reason['expected']}" for reason in summary["deployment"]["refusals"])
    words = summary["deployment"]["plan"]
    return {"deployed": words, **{name: _at(summary, path) for name, path in COLUMNS.items()}, "error": refused or None}


def _at(summary: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = summary
    for name in path:
        found = found[name]
    return found
