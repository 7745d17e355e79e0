"""A precision profile re-binds formats: what if the same model were deployed at another precision?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.spec.match import module_set
from rooflight.spec.quant import scheme_numbers
from rooflight.spec.reader import Reader, nearest
from rooflight.spec.storage import Storage, format_from
from rooflight.values import BITS, PACKED_BITS, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rooflight.spec.quant import Scheme

FACTORY = "factory"  # as the checkpoint has it


class Precision(NamedTuple):
    """What a profile rewrites. A part it does not name keeps its factory precision.

    weights      a scheme of specs/quant, a dtype, or factory
    activations  dtype of tensors between kernels, None as the checkpoint's dtype
    operands     what inputs of linear ops are turned into for the matrix product, None as the weight's format says
    cache        dtype of cached tensors, None as the checkpoint's dtype
    states       dtype of recurrent states that have one of their own, None as their component says
    """

    name: str
    doc: str
    weights: str
    activations: str | None
    cache: str | None
    operands: str | None = None
    states: str | None = None


AS_STORED = Precision(FACTORY, "Everything as the checkpoint has it.", FACTORY, None, None)


def read_precision(name: str, section: Any, place: str, schemes: Mapping[str, Scheme]) -> Precision:
    """Check one profile for form. Raises SpecError at the first fault."""
    reader = Reader(section, name, place)
    weights = reader.text("weights", FACTORY)
    known = (FACTORY, *BITS, *schemes)
    if weights not in known:
        raise SpecError(
            "unknown-scheme",
            reader.where("weights"),
            "factory, a dtype or a scheme of specs/quant",
            weights,
            nearest(weights, known),
        )
    profile = Precision(
        name,
        reader.text("doc"),
        weights,
        _dtype(reader, "activations"),
        _dtype(reader, "cache"),
        _dtype(reader, "operands"),
        _dtype(reader, "states"),
    )
    reader.done()
    return profile


def _dtype(reader: Reader, key: str) -> str | None:
    packed = PACKED_BITS if key == "operands" else {}
    return reader.word(key, (*BITS, *packed)) if key in reader.names() else None


def storage_under(profile: Precision, factory: Storage, schemes: Mapping[str, Scheme]) -> Storage:
    """Return how weights are stored under a profile."""
    if profile.weights == FACTORY:
        return factory
    none = module_set((), profile.name)
    if profile.weights in BITS:
        return Storage(profile.weights, None, (), none, ())
    scheme = schemes[profile.weights]
    # What a scheme leaves alone stays in a 16-bit dtype: a checkpoint in FP32 is deployed in BF16.
    dtype = factory.dtype if BITS[factory.dtype] <= 16 else "BF16"  # noqa: PLR2004
    made = format_from(scheme, scheme_numbers(scheme, {}, profile.name))
    return Storage(dtype, made, scheme.roles, none, ())
