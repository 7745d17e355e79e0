"""Prints how long formulas take to build, print, send, evaluate and compile: python tests/bench/bench_expr.py."""

import json
import subprocess
import sys
import time
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "engine"
sys.path.insert(0, str(ENGINE))

from rooflight import expr  # noqa: E402 - the checkout comes first

BLOCKS = 13  # of 8 nodes with 5 formulas each
REPEATS = 7


def build(space, dims):
    """About 500 formulas like those of a decoder: shares of heads and experts, products of dims, bytes, seconds."""
    symbol = {name: space.symbol(name) for name in dims}
    tp, dp, rate, width = symbol["tp"], symbol["dp"], symbol["flops_per_s"], symbol["bytes_per_s"]
    rows = expr.ceil_div(symbol["B"], dp) * symbol["T"]
    roots = {}
    for block in range(BLOCKS):
        heads = expr.max_(1, expr.ceil_div(symbol["n_heads"] * (block + 1), tp))
        for node in range(8):
            wide = symbol["d_model"] + node * symbol["d_rope"]
            params = wide * heads * (symbol["d_nope"] + symbol["d_rope"])
            flops = 2 * rows * params
            read = params * 2 + rows * wide * 2
            sent = expr.div(rows * wide * (tp - 1), tp)
            seconds = expr.max_(expr.max_(flops / rate, read / width), sent / width)
            key = f"{block}.{node}"
            roots |= {f"{key}.params": params, f"{key}.flops": flops, f"{key}.read": read, f"{key}.sent": sent}
            roots[f"{key}.seconds"] = expr.named(f"t_{block}_{node}", seconds)
    roots["step"] = expr.total([value for name, value in roots.items() if name.endswith("seconds")])
    return roots


def best_ms(act):
    """CPU milliseconds of the fastest of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        act()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def import_ms(module):
    """Milliseconds that importing adds to an interpreter's start."""
    runs = {"pass": [], f"import {module}": []}
    for _ in range(REPEATS):
        for code, times in runs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ENGINE)})
            times.append(time.perf_counter() - start)
    plain, loaded = (min(times) for times in runs.values())
    return (loaded - plain) * 1e3


def main():
    dims = ["B", "T", "tp", "dp", "d_model", "d_nope", "d_rope", "n_heads", "flops_per_s", "bytes_per_s"]
    values = dict(zip(dims, [64, 1, 8, 2, 7168, 128, 64, 128, 10**15, 4 * 10**12], strict=True))
    roots = build(expr.Space(), dims)
    table = expr.to_json(roots)
    sent = json.dumps(table, separators=(",", ":"))
    compiled = expr.compile_python(roots)
    lengths = [f"n_heads * (d_nope + d_rope) + {i}" for i in range(1000)]
    trees = [expr.parse_length(length) for length in lengths]

    def print_all(printer):
        memo = {}
        return sum(len(printer(value, memo)) for value in roots.values())

    def evaluate_all(binding):
        memo = {}
        return [expr.evaluate(value, binding, memo) for value in roots.values()]

    floats = {name: float(value) for name, value in values.items()}
    rows = [
        ("formulas", len(roots), ""),
        ("nodes", len(table["nodes"]), ""),
        ("JSON", len(sent) / 1e3, "kB"),
        ("import rooflight.expr", import_ms("rooflight.expr"), "ms"),
        ("build", best_ms(lambda: build(expr.Space(), dims)), "ms"),
        ("text", best_ms(lambda: print_all(expr.text)), "ms"),
        ("LaTeX", best_ms(lambda: print_all(expr.latex)), "ms"),
        ("MathML", best_ms(lambda: print_all(expr.mathml)), "ms"),
        ("to_json", best_ms(lambda: expr.to_json(roots)), "ms"),
        ("from_json", best_ms(lambda: expr.from_json(table, expr.Space())), "ms"),
        ("evaluate, ints", best_ms(lambda: evaluate_all(values)), "ms"),
        ("evaluate, floats", best_ms(lambda: evaluate_all(floats)), "ms"),
        ("compile_python", best_ms(lambda: expr.compile_python(roots)), "ms"),
        ("compiled, ints", best_ms(lambda: compiled(**values)), "ms"),
        ("compiled, floats", best_ms(lambda: compiled(**floats)), "ms"),
        ("parse 1000 lengths", best_ms(lambda: [expr.parse_length(length) for length in lengths]), "ms"),
        (
            "evaluate 1000 trees",
            best_ms(lambda: [expr.evaluate_tree(tree, values.__getitem__) for tree in trees]),
            "ms",
        ),
    ]
    for label, number, unit in rows:
        print(f"{label:24} {number:10.2f} {unit}")


if __name__ == "__main__":
    main()
