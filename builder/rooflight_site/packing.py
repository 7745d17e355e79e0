"""What people call a storage scheme: FP8, MXFP4, INT4. Told from what the scheme stores, never from its name."""

from collections.abc import Iterable, Mapping
from typing import Any

_WEIGHTS = {"F8_E4M3": "FP8", "F4_E2M1": "FP4", "I8": "INT8", "I4": "INT4"}
# Two formats of FP4 weights have names of their own, by the bytes of a scale and how many weights share it. A scale of
# one byte that is no float of eight bits is a power of two.
_SCALED_FP4 = {("U8", 32): "MXFP4", ("F8_E8M0", 32): "MXFP4", ("F8_E4M3", 16): "NVFP4"}


def names(schemes: Iterable[str], known: Mapping[str, Any]) -> list[str]:
    """A name for each scheme, those of one name once; a scheme that is not known keeps its own."""
    return list(dict.fromkeys(name(known[scheme]) if scheme in known else scheme for scheme in schemes))


def name(scheme: Any) -> str:
    """The name of one scheme of specs/quant; its own where the config says how many bits a weight has."""
    if "bits" in scheme.numbers or scheme.weight not in _WEIGHTS:
        return str(scheme.name)
    group = scheme.numbers.get("group")
    shared = None if group is None else group.default
    scales = [rule.dtype for rule in scheme.stores if rule.role == "scale"]
    if scheme.weight == "F4_E2M1" and scales:
        return _SCALED_FP4.get((scales[0], shared), _WEIGHTS[scheme.weight])
    return _WEIGHTS[scheme.weight]
