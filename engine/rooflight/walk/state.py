"""What an op that carries a state moves of it in a step: all of it, however many positions the step has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rooflight.walk.code import Code, Slot


def state_moved(code: Code, phase: str, elements: Slot) -> Slot:
    """Return the slot of elements read and written: written once a step; read too, where there was one before."""
    if phase == "decode":
        return code.product([code.constant(2), elements])
    read = code.call("resumes", code.symbol("s_q"), code.symbol("s_kv"))
    return code.product([code.sum([code.constant(1), read]), elements])
