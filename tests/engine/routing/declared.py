"""What an op's record declares for inputs of given sizes, as numbers: output shape, work, stored shapes."""

from types import SimpleNamespace
from typing import NamedTuple

from rooflight.ops import OPS
from rooflight.walk.code import FUNCTIONS, Code
from rooflight.walk.shapes import Operand, Shapes


class Declared(NamedTuple):
    shape: tuple
    matmul: int
    other: int
    stored: dict


def declared(name, *inputs, dims=None, **switches):
    """The record's answer. AssertionError where it finds two lengths that should be one and are not."""
    op = OPS[name]
    code = Code()
    shapes = Shapes(code)
    node = SimpleNamespace(id="node", op=op, dims=dims or {}, where="here")
    operands = [
        Operand(operand, axes, tuple(code.constant(length) for length in shape), "giver")
        for operand, axes, shape in zip(op.map.operands, op.map.inputs, inputs, strict=True)
    ]
    found = shapes.match(node, operands)
    off = {switch: code.constant(int(switches.get(switch, False))) for switch in op.switches}
    local = {**found.lengths, "rows": code.product(found.leading), **off}
    output = shapes.of(op.map.output, found)
    matmul, other = code.lower(op.matmul, local), code.lower(op.other, local)
    stored = {weight.name: shapes.of(weight.axes, found) for weight in op.weights}
    values = []
    for kind, *rest in code.entries:
        values.append(rest[0] if kind == "constant" else FUNCTIONS[kind](*[values[slot] for slot in rest]))
    for check in shapes.checks:
        assert values[check.want] == values[check.have], check
    return Declared(
        tuple(values[slot] for slot in output),
        values[matmul],
        values[other],
        {name: tuple(values[slot] for slot in axes) for name, axes in stored.items()},
    )


def product_by_loops(x, w):
    """x times w transposed, and how many multiply-adds that took, one loop per index."""
    rows, inner = len(x), len(x[0])
    result, count = [[0.0] * len(w) for _ in range(rows)], 0
    for row in range(rows):
        for out in range(len(w)):
            for at in range(inner):
                result[row][out] += x[row][at] * w[out][at]
                count += 1
    return result, count
