"""From the engine's records to what pages and data files hold. The sole serializer: nothing else reads `.value`.

A document is plain JSON: `models` maps a model id to its quantities (by key) and symbols (by name); `formulas` holds
each formula once, under an id made from what it says, so that models of one architecture share them.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from rooflight import expr
from rooflight.api import (
    CacheCard,
    Checkpoint,
    ComponentCard,
    Inspection,
    LayerKind,
    NodeRow,
    PhaseFigures,
    Symbol,
    parse_key,
)
from rooflight.values import UNITS, Quantity
from rooflight_site import packing
from rooflight_site.commands import formula_command
from rooflight_site.format import digits, exact, given, shown, tokens

INSPECTION_SCHEMA = "rooflight.inspection/1"
GALLERY_SCHEMA = "rooflight.models/1"

Json = dict[str, Any]

PHASE_COLUMNS = ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")
GALLERY_FIGURES = (
    "params.total",
    "params.active",
    "layers",
    "max_context",
    "params.mtp",
    "cache.bytes_per_token",
    "cache.bytes_per_token_decompressed",
    "cache.constant_bytes",
    "cache.bytes@32768",
    "weights.bytes",
)
GALLERY_SYMBOLS = ("d_model",)
FIRST_PHASE = "prefill"  # what a command means that names no phase
CONTEXT = "T"  # the symbol that a key such as `cache.bytes@32768` sets


class Formulas:
    """The formula dictionary of one document. `add` answers the id under which the formula stands.

    A formula lists all its named parts; when `nested`, those that stand in no other part of it, which list theirs.
    """

    def __init__(self, *, nested: bool = False) -> None:
        self.nested = nested
        self.entries: dict[str, Json] = {}
        self._known: dict[Any, str] = {}
        self._defined: dict[Any, Mapping[str, Any]] = {}
        self._names = expr.Space()  # prints the names of parts the way formulas print them

    def add(self, formula: Any) -> str:
        if formula not in self._known:
            self._known[formula] = self._add(formula)
        return self._known[formula]

    def definitions(self, formula: Any) -> Mapping[str, Any]:
        """The named parts of a formula at any depth."""
        if formula not in self._defined:
            self._defined[formula] = {} if _is_number(formula) else expr.definitions(formula)
        return self._defined[formula]

    def _add(self, formula: Any) -> str:
        if _is_number(formula):
            return self._keep(str(formula), _math(f"<mn>{exact(formula)}</mn>"), [], [])
        defined = self.definitions(formula)
        within = {name for part in defined.values() for name in self.definitions(part)} if self.nested else set()
        parts = [
            {"name": name, "mathml": _math(expr.mathml(self._names.symbol(name))), "formula": self.add(part)}
            for name, part in defined.items()
            if name not in within
        ]
        return self._keep(expr.text(formula), _math(expr.mathml(formula)), parts, list(expr.free_symbols(formula)))

    def _keep(self, text: str, mathml: str, parts: list[Json], symbols: list[str]) -> str:
        # Two architectures may print alike and mean different parts by one name, so the parts belong to the identity.
        identity = "\n".join([text, *(f"{part['name']}={part['formula']}" for part in parts)])
        name = hashlib.sha256(identity.encode()).hexdigest()[:10]
        self.entries[name] = {"text": text, "mathml": mathml, "definitions": parts, "symbols": symbols}
        return name


class Book:
    """Quantities whose formulas share one set of symbols. A key names one figure: saying it twice with another value
    is an error.

    Nothing gets in whose formula, with the symbols a reader will see, gives another number than the figure.
    """

    say = staticmethod(exact)

    def __init__(self, owner: str, symbols: Mapping[str, Any], formulas: Formulas) -> None:
        self.owner = owner
        self.formulas = formulas
        self.quantities: dict[str, Json] = {}
        self._symbols = symbols
        self._memos: dict[int | None, dict[Any, Any]] = {}  # by the context a key sets

    def _keep(self, quantity: Quantity, entry: Json) -> str:
        """The quantity's key, once it stands in the book."""
        if self.quantities.setdefault(quantity.key, entry) != entry:
            raise ValueError(
                f"{self.owner}: {quantity.key} was {self.quantities[quantity.key]['exact']} "
                f"and is now {entry['exact']}: one key, one figure"
            )
        return quantity.key

    def _figure(self, quantity: Quantity) -> Json:
        """What every book says of a quantity."""
        if not isinstance(quantity, Quantity):
            raise TypeError(f"{self.owner}: a page shows only Quantity, which has a formula; got {quantity!r}")
        if quantity.unit not in UNITS:
            raise ValueError(f"{self.owner}: {quantity.key} has the unknown unit {quantity.unit!r}")
        value = _json_number(quantity.value)  # first: it refuses what no page can show
        figure = shown(quantity.value, quantity.unit)
        return {
            "label": quantity.label,
            "value": value,
            "exact": self.say(quantity.value),
            "unit": quantity.unit,
            "text": figure.text,
            "decimal": figure.decimal,
            "formula": self.formulas.add(quantity.formula),
        }

    def _parts(self, quantity: Quantity, context: int | None, known: Collection[str] = ()) -> dict[str, str]:
        """The values of the formula's named parts, exact; without those whose formula is `known`, by its id."""
        bound = self._symbols if context is None else {**self._symbols, CONTEXT: context}
        memo = self._memos.setdefault(context, {})
        again = expr.evaluate(quantity.formula, bound, memo)
        if not _agree(again, quantity.value):
            raise ValueError(
                f"{self.owner}: {quantity.key} is {exact(quantity.value)}, "
                f"and its formula {expr.text(quantity.formula)} gives {exact(again)}"
            )
        return {
            name: self.say(expr.evaluate(part, bound, memo))
            for name, part in self.formulas.definitions(quantity.formula).items()
            if not known or self.formulas.add(part) not in known
        }


class ModelBook(Book):
    """The quantities of one model."""

    def __init__(self, model: Inspection, formulas: Formulas) -> None:
        super().__init__(model.facts.id, {name: symbol.value for name, symbol in model.symbols.items()}, formulas)
        self._longest = model.headline["max_context"].value

    def add(self, quantity: Quantity, phase: str | None = None) -> str:
        """The quantity's key; `phase` where only one phase has the node it is of."""
        entry = self._figure(quantity)
        context = parse_key(quantity.key).context
        return self._keep(
            quantity,
            entry
            | {
                "parts": self._parts(quantity, context),
                "context": None if context is None else tokens(context),
                "symbols": {} if context is None else {CONTEXT: exact(context)},
                "extrapolated": context is not None and context > self._longest,
                "command": formula_command(self.owner, quantity.key, phase),
            },
        )


class StepBook(Book):
    """The quantities of one step of a deployment. What equals a rule of the book is left out of its quantities:
    `decimal` where it is `text`, `command` where it is the book's around the key; parts stand in `values` by formula.
    Seconds and rates read as digits, not as the fractions they are.
    """

    say = staticmethod(digits)

    def __init__(self, owner: str, symbols: Mapping[str, tuple[Any, str]], formulas: Formulas) -> None:
        super().__init__(owner, {name: value for name, (value, _) in symbols.items()}, formulas)
        self._meanings = {name: meaning for name, (_, meaning) in symbols.items()}
        self._values: dict[str, str] = {}

    def add(self, quantity: Quantity, command: str | None = None) -> str:
        """The quantity's key; `command` where it is not the book's around the key."""
        entry = self._figure(quantity)
        parts = self._parts(quantity, None, self._values)
        defined = self.formulas.definitions(quantity.formula)
        self._values |= {self.formulas.add(defined[name]): value for name, value in parts.items()}
        if entry["decimal"] == entry["text"]:
            del entry["decimal"]
        return self._keep(quantity, entry | ({} if command is None else {"command": command}))

    def document(self, command: tuple[str, str]) -> Json:
        """The whole book; `command` is what stands before and behind a key."""
        formulas = {quantity["formula"] for quantity in self.quantities.values()} | set(self._values)
        used = {symbol for name in formulas for symbol in self.formulas.entries[name]["symbols"]}
        symbols = {
            name: {"exact": given(value), "meaning": self._meanings[name]}
            for name, value in self._symbols.items()
            if name in used
        }
        return {
            "command": {"before": command[0], "after": command[1]},
            "quantities": self.quantities,
            "symbols": symbols,
            "values": self._values,
        }


def inspection(model: Inspection, schemes: Mapping[str, Any] = MappingProxyType({})) -> Json:
    """The data file of one model and, unchanged, what its Inspector page is rendered from.

    `schemes` are the library's, by name: a scheme that is not among them has no other name than its own.
    """
    formulas = Formulas()
    book = ModelBook(model, formulas)
    page = {
        "schema": INSPECTION_SCHEMA,
        "id": model.facts.id,
        "facts": _facts(model, schemes),
        "deployment": {phase: dict(values) for phase, values in model.deployment.items()},
        "headline": {name: book.add(figure) for name, figure in model.headline.items()},
        "params_by_role": {role: book.add(figure) for role, figure in model.params_by_role.items()},
        "kinds": [_kind(kind, book) for kind in model.kinds],
        "stacks": _stacks(model.kinds),
        "rows": _rows(model, book),
        "totals": {phase: {name: book.add(f) for name, f in row.items()} for phase, row in model.totals.items()},
    }
    symbols = {name: _symbol(symbol) for name, symbol in model.symbols.items()}
    shown = {model.facts.id: {"quantities": book.quantities, "symbols": symbols}}
    return page | {"models": shown, "formulas": formulas.entries}


def gallery(inspections: Iterable[Json]) -> Json:
    """One row per model, the largest first, with the figures the Gallery shows; made from the models' own files."""
    rows, models, formulas = [], {}, {}
    for page in inspections:
        whole = page["models"][page["id"]]
        keys = {name: page["headline"][name] for name in GALLERY_FIGURES if name in page["headline"]}
        quantities = {key: whole["quantities"][key] for key in keys.values()}
        needed = {quantity["formula"] for quantity in quantities.values()}
        needed |= {part["formula"] for name in needed for part in page["formulas"][name]["definitions"]}
        used = {symbol for name in needed for symbol in page["formulas"][name]["symbols"]} | set(GALLERY_SYMBOLS)
        symbols = {name: symbol for name, symbol in whole["symbols"].items() if name in used}
        rows.append(page["facts"] | {"figures": keys})
        models[page["id"]] = {"quantities": quantities, "symbols": symbols}
        formulas |= {name: entry for name, entry in page["formulas"].items() if name in needed}

    def size_then_name(row: Json) -> tuple[float, str]:
        return -models[row["id"]]["quantities"][row["figures"]["params.total"]]["value"], row["name"].casefold()

    ordered = sorted(rows, key=size_then_name)
    return {"schema": GALLERY_SCHEMA, "rows": ordered, "models": models, "formulas": formulas}


def _facts(model: Inspection, schemes: Mapping[str, Any]) -> Json:
    facts = model.facts
    contexts = sorted({values["context"] for values in model.deployment.values() if "context" in values})
    return {
        "id": facts.id,
        "lab": facts.lab,
        "name": facts.name,
        "architecture": facts.architecture,
        "family": facts.family,
        "attention": facts.attention,
        "dtype": facts.dtype,
        "config_state": facts.config_state,
        "source": facts.source,
        "released": facts.released,
        "notes": list(facts.notes),
        "reference_context": tokens(contexts[-1]) if contexts else None,
        "formats": list(facts.formats),
        "schemes": list(facts.schemes),
        "packing": packing.names(facts.schemes, schemes),
        "strength": facts.strength,
        "checked": list(facts.checked),
        "unchecked": list(facts.unchecked),
        "checkpoint": None if facts.checkpoint is None else _checkpoint(facts.checkpoint),
    }


def _checkpoint(files: Checkpoint) -> Json:
    """What the files hold: counted from the list of tensors, so it has an exact value and no formula."""
    size = shown(files.bytes, "byte")
    return {
        "bytes": files.bytes,
        "exact": exact(files.bytes),
        "text": size.text,
        "decimal": size.decimal,
        "tensors": files.tensors,
        "tensors_exact": exact(files.tensors),
        "by_dtype": [{"dtype": dtype, "tensors": count, "exact": exact(count)} for dtype, count in files.by_dtype],
    }


def _symbol(symbol: Symbol) -> Json:
    return {
        "value": _json_number(symbol.value),
        "exact": exact(symbol.value),
        "meaning": symbol.meaning,
        "source": symbol.source,
    }


def _kind(kind: LayerKind, book: ModelBook) -> Json:
    return {
        "name": kind.name,
        "stack": kind.stack,
        "layers": kind.layers,
        "count": book.add(kind.count),
        "params": book.add(kind.params),
        "components": [_component(component, book) for component in kind.components],
    }


def _stacks(kinds: Sequence[LayerKind]) -> list[Json]:
    """Which kind every layer of a stack is of, in order, as a position among the kinds."""
    found: dict[str, list[tuple[int, int]]] = {}
    for at, kind in enumerate(kinds):
        found.setdefault(kind.stack, []).extend((index, at) for index in kind.indices)
    return [{"name": name, "layers": [at for _, at in sorted(layers)]} for name, layers in found.items()]


def _component(card: ComponentCard, book: ModelBook) -> Json:
    return {
        "slot": card.slot,
        "path": card.path,
        "component": card.component,
        "role": card.role,
        "doc": card.doc,
        "params": book.add(card.params),
        "facts": [{"meaning": meaning, "symbol": name, "exact": exact(value)} for meaning, name, value in card.facts],
        "cache": [_cache(entry, book) for entry in card.cache],
    }


def _cache(card: CacheCard, book: ModelBook) -> Json:
    return {
        "node": card.node,
        "kind": card.kind,
        "growth": card.growth,
        "layers": book.add(card.layers),
        "bytes_per_token": book.add(card.bytes_per_token),
        "bytes_at_context": book.add(card.bytes_at_context),
    }


def _rows(model: Inspection, book: ModelBook) -> list[Json]:
    """The table's rows. A component of several nodes has a row of its own, `opens`, before its first node."""
    cards = {f"{kind.name}.{card.path}": card for kind in model.kinds for card in kind.components if card.path}
    within = {row.id: [path for path in cards if row.id.startswith(f"{path}.")] for row in model.rows}
    named = {kind.name for kind in model.kinds}
    sizes = Counter(path for paths in within.values() for path in paths)
    rows: list[Json] = []
    opened: set[str] = set()
    for row in model.rows:
        parts = [path for path in within[row.id] if sizes[path] > 1]  # cards stand outermost first
        first = [path for path in parts if path not in opened]
        opened.update(first)
        opens = [
            {
                "id": path,
                "name": path.removeprefix(f"{row.group}."),
                "component": cards[path].component,
                "depth": parts.index(path),
                "params": book.add(cards[path].params),
                "totals": {
                    phase: {name: book.add(f) for name, f in row.items()} for phase, row in cards[path].totals.items()
                },
            }
            for path in first
        ]
        inside = parts[-1] if parts else row.group if row.group in named else ""
        name = row.id.removeprefix(f"{inside}.")
        rows.append(_row(row, book) | {"name": name, "depth": len(parts), "opens": opens})
    return rows


def _row(row: NodeRow, book: ModelBook) -> Json:
    only = None if FIRST_PHASE in row.phases else next(iter(row.phases))
    return {
        "id": row.id,
        "group": row.group,
        "component": row.component,
        "role": row.role,
        "op": row.op,
        "summary": row.summary,
        "copies": book.add(row.copies, only),
        "params": book.add(row.params, only),
        "params_all": book.add(row.params_all, only),
        "stored_bytes": book.add(row.stored_bytes, only),
        "tensors": list(row.tensors),
        "phases": {phase: _phase(figures, book) for phase, figures in row.phases.items()},
        "free": not any(figure.value for figure in _costs(row)),
    }


def _costs(row: NodeRow) -> Iterator[Quantity]:
    """What a row holds and costs; a row of zeros is a view, which moves nothing."""
    yield row.params_all
    for figures in row.phases.values():
        yield from (getattr(figures, name) for name in PHASE_COLUMNS)


def _phase(figures: PhaseFigures, book: ModelBook) -> Json:
    columns = {name: book.add(getattr(figures, name)) for name in PHASE_COLUMNS}
    return {"shape": figures.shape, "shape_values": figures.shape_values} | columns


def _agree(again: Any, value: Any) -> bool:
    """Exact numbers must be equal; a double stands for an expectation and may differ in its last digits."""
    if isinstance(value, float):
        return math.isclose(again, value, rel_tol=1e-9)
    return again == value


def _math(markup: str) -> str:
    # Display style keeps fractions and sums at full size though the formula stands in a line of its own box.
    return f'<math displaystyle="true">{markup}</math>'


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction)


def _json_number(value: Any) -> int | float:
    """An int stays exact at any size; anything else becomes the nearest double."""
    if not _is_number(value) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"a page shows a finite number; got {value!r}")
    whole = isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1)
    return int(value) if whole else float(value)
