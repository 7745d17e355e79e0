"""Kernels of one layer on one GPU: nodes that run as one, what they compute by operand format, what they move."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.expr import Value, div, total
from rooflight.pricing.rates import runs_in, wider
from rooflight.values import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rooflight.derive.device import Device
    from rooflight.hardware import Gpu
    from rooflight.spec import Precision
    from rooflight.walk import Program, Step

_SIXTEEN_BITS = 16


class Work(NamedTuple):
    """What one kernel does in one layer on one GPU, all its copies together.

    members      nodes by index, in walking order; the last names the kernel
    operands     formats of the two operands of its matrix product, () where it has none
    runs_in      the format the GPU multiplies them in
    matmul       FLOPs of matrix products by the format they run in
    """

    members: tuple[int, ...]
    operands: tuple[str, ...]
    runs_in: str
    matmul: tuple[tuple[str, Value], ...]
    other: Value
    weight_bytes: Value
    activation_bytes: Value
    kv_bytes: Value

    @property
    def bytes(self) -> Value:
        """All bytes that cross the kernel's boundary."""
        return total((self.weight_bytes, self.activation_bytes, self.kv_bytes))

    @property
    def matmul_flops(self) -> Value:
        """FLOPs of matrix products."""
        return total([flops for _, flops in self.matmul])


def fused(program: Program) -> tuple[tuple[int, ...], ...]:
    """Return the nodes of every kernel: what stays on the chip runs with what reads it; views are no kernels."""
    steps = program.steps
    owner = list(range(len(steps)))  # the last node of the kernel that a node runs in

    def top(index: int) -> int:
        while owner[index] != index:
            index = owner[index]
        return index

    for index, step in enumerate(steps):
        for source in step.node.inputs:
            if source >= 0 and steps[source].node.op.on_chip:
                owner[top(source)] = index
    found: dict[int, list[int]] = {}
    for index, step in enumerate(steps):
        if not step.node.op.view or step.cached is not None:
            found.setdefault(top(index), []).append(index)
    return tuple(tuple(members) for _, members in sorted(found.items()))


def works(program: Program, held: Device, precision: Precision, dtype: str, gpu: Gpu) -> tuple[Work, ...]:
    """Return the kernels of a step. `dtype` is the checkpoint's own, `precision` what is deployed."""
    sixteen = sixteen_bits(dtype)
    between = precision.activations or dtype

    def work(members: tuple[int, ...]) -> Work:
        def summed(column: Sequence[Value]) -> Value:
            return total([column[index] * held.copies[index] for index in members])

        products: dict[str, list[Value]] = {}
        operands: tuple[str, ...] = ()
        for index in members:
            flops = held.matmul[index] * held.copies[index]
            if type(flops) is int and flops == 0:
                continue
            for formats, part in operand_formats(program.steps[index], precision, between):
                operands = formats
                form = runs_in(gpu, wider(formats), sixteen)
                products.setdefault(form, []).append(flops * part)
        return Work(
            members,
            operands,
            next(iter(products), ""),
            tuple((form, total(found)) for form, found in products.items()),
            summed(held.other),
            summed(held.weight_bytes),
            summed(held.activation_bytes),
            summed(held.kv_bytes),
        )

    return tuple(map(work, fused(program)))


def operand_formats(step: Step, precision: Precision, between: str) -> tuple[tuple[tuple[str, str], Value], ...]:
    """Return the operand formats of a node's matrix product, with the share of its layers that each holds for."""
    stored = step.node.formats.get("weight", ())
    if step.node.op.family != "linear" or not stored:
        return (((between, between), 1),)
    layers = sum(len(one.layers) or 1 for one in stored)
    shares: dict[tuple[str, str], int] = {}
    for one in stored:
        formats = (one.format.weight, precision.operands or one.format.activation)
        shares[formats] = shares.get(formats, 0) + (len(one.layers) or 1)
    return tuple((formats, div(count, layers)) for formats, count in shares.items())


def deployed_precision(precision: Precision, dtype: str, gpu: Gpu) -> Precision:
    """Return a precision as a GPU can run it: tensors between kernels are no narrower than what it multiplies.

    The width of activations decides what kernels read and what collectives send, so those fall back with the rate.
    """
    between = precision.activations or dtype
    if BITS[between] >= _SIXTEEN_BITS:
        return precision
    found = runs_in(gpu, between, sixteen_bits(dtype))
    return precision if BITS[found] == BITS[between] else precision._replace(activations=found)


def sixteen_bits(dtype: str) -> str:
    """Return the format of 16 bits that a checkpoint's products fall back to."""
    return dtype if BITS.get(dtype) == _SIXTEEN_BITS else "BF16"
