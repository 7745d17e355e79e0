"""Prints how long reading, walking and inspecting models takes: python tests/bench/bench_walk.py."""

import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "engine"), str(Path(__file__).parent)]

import numpy as np  # noqa: E402 - the checkout comes first
from clock import best_ms, show  # noqa: E402

from rooflight import api  # noqa: E402
from rooflight.analysis import evaluate  # noqa: E402
from rooflight.edge.library import open_catalog  # noqa: E402
from rooflight.expr import latex, mathml, text  # noqa: E402
from rooflight.graph import expand  # noqa: E402
from rooflight.walk import compile_graph, walk  # noqa: E402

# The whole grid: 1.2 million points, prefill and decode, in 15 CPU-seconds.
POINTS = 10_000
SWEEP_MS = 15_000 * POINTS / 1.2e6
WALK_MS = 0.5  # one walk with ints of the largest model


def ints(model):
    read = api.reading(model, "decode")
    binding = api.numbers(model, read.step)
    return read.program, binding


def of_one_model(model):
    """Everything that a page or a command does, for one model."""
    program, binding = ints(model)
    read = api.reading(model, "decode")
    symbols = api.symbols(model, read.step)
    formulas = [api.read_quantity(read, key).formula for key in ("params.total", "flops", "bytes", "cache.bytes")]
    rng = np.random.default_rng(1)
    contexts = rng.integers(1, 10**6, POINTS).astype(np.float64)
    swept = binding | {"B": rng.integers(1, 512, POINTS).astype(np.float64), "s_kv": contexts}

    def printed(printer):
        return [printer(formula) for formula in formulas]

    return [
        ("expand and compile", best_ms(lambda: compile_graph(expand(model, "decode"))), None),
        ("walk, ints", best_ms(lambda: walk(program, binding)), WALK_MS),
        ("tables of a walk, ints", best_ms(lambda: evaluate(program, binding)), None),
        ("walk, formulas", best_ms(lambda: walk(program, api.symbols(model, read.step))), None),
        ("tables of a walk, formulas", best_ms(lambda: evaluate(program, symbols)), None),
        (f"walk, {POINTS:,} points", best_ms(lambda: walk(program, swept)), SWEEP_MS),
        ("geometry at random dims", best_ms(lambda: api.check(model)), None),
        ("print four headline formulas as text", best_ms(lambda: printed(text)), None),
        ("the same as LaTeX", best_ms(lambda: printed(latex)), None),
        ("the same as MathML", best_ms(lambda: printed(mathml)), None),
        ("cost", best_ms(lambda: api.cost(model, "decode")), None),
        ("show", best_ms(lambda: api.show(model)), None),
        ("inspect, both phases with formulas", best_ms(lambda: api.inspect(model), 3), None),
    ]


def main():
    catalog = open_catalog()
    models = catalog.models()
    largest = max(models, key=lambda model: api.model_row(model)["params_total"])
    longest = max(models, key=lambda model: len(ints(model)[0].run))
    for model in dict.fromkeys((largest.id, longest.id)):
        show(model, of_one_model(catalog.model(model)))
    walks = [(model.id, *ints(model)) for model in models]
    rows = [(name, best_ms(partial(walk, program, binding)), WALK_MS) for name, program, binding in walks]
    show("one walk with ints", rows)
    show("all specs", [("read every spec", best_ms(lambda: open_catalog().library, 3), None)])


if __name__ == "__main__":
    main()
