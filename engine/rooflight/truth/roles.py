"""Says which tensors are no learned parameters of the main model: scales, buffers, tied copies, draft layers.

Headers hold names, shapes and dtypes, and no roles; they follow from the quantization schemes and from the config. A
scheme answers for a module only where every tensor that it stores is there, in its dtype: a norm called `scale` stays
a norm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from rooflight.spec import Scheme
from rooflight.spec.quant import MODEL_DTYPE, StoreRule, recognizes
from rooflight.truth.rows import Row
from rooflight.values import BITS

_FLOATS = ("F64", "F32", "F16", "BF16")
_WIDTH = re.compile(r"[A-Z]+([0-9]+)", re.ASCII)  # a format's name begins with its bits: I4, F4_E2M1
_LAYER = re.compile(r"(?:^|\.)layers\.(0|[1-9][0-9]{0,8})\.", re.ASCII)
_TOWERS = re.compile(r"(?:^|[._])(?:vision|visual|audio|encoder|vit|image)", re.ASCII)
_DRAFT = re.compile(r"(?:^|\.)mtp(?:\.|$)|(?:^|\.)mtp_", re.ASCII)
_ROTARY = re.compile(r"(?:^|\.)(?:inv_freq|original_inv_freq)$", re.ASCII)
_MASK = re.compile(r"\.(?:bias|masked_bias)$", re.ASCII)
_SCALE = re.compile(r"(?:weight|input|[qkv])_(?:global_)?scale(?:_inv|_2)?$|_zero_point$|[._](?:scales|qzeros|g_idx)$")
_SQUARE_MASK_RANK = 4  # [1, 1, positions, positions]


def assign_roles(rows: Iterable[Row], facts: Mapping[str, Any], schemes: Mapping[str, Scheme]) -> tuple[Row, ...]:
    """Return plain rows (one tensor each) with role, part and packing set."""
    listed = list(rows)
    by_name = {row.name: row for row in listed}
    stored = _stored_by_schemes(by_name, _answering(facts, schemes))
    layers = facts.get("num_hidden_layers")
    tied = _tied_copy(by_name, facts)
    found: list[Row] = []
    for row in listed:
        role, packing = stored.get(row.name, ("", 1))
        if not role and packing == 1:
            role = "tied copy" if row.name == tied else _buffer(row)
        part = "mtp" if role in ("", "scale") and _is_draft(row.name, layers) else ""
        found.append(row._replace(role=role, part=part, packing=packing))
    return tuple(found)


def unclaimed_scales(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the names of tensors that are called like scales although no scheme answered for them."""
    return tuple(row.name for row in rows if not row.role and (_SCALE.search(row.name) or row.dtype == "F8_E8M0"))


def _answering(facts: Mapping[str, Any], schemes: Mapping[str, Scheme]) -> list[Scheme]:
    """The schemes that the config names, and those that no config names, whose tensors must tell."""
    quantization = facts.get("quantization_config", facts.get("compression_config"))
    if not isinstance(quantization, dict):
        return []
    data = cast("dict[str, Any]", quantization)
    named = [scheme for scheme in schemes.values() if scheme.recognized and recognizes(scheme, data)]
    return named + [scheme for scheme in schemes.values() if not scheme.recognized]


def _stored_by_schemes(by_name: Mapping[str, Row], schemes: Sequence[Scheme]) -> dict[str, tuple[str, int]]:
    """Role and packing of every tensor that a scheme stores."""
    found: dict[str, tuple[str, int]] = {}
    for scheme in schemes:
        weight = next(rule for rule in scheme.stores if rule.role == "weight")
        always = [rule for rule in scheme.stores if rule.when is None and not rule.only]
        for name, row in by_name.items():
            if name in found or not name.endswith(weight.suffix) or not _is_of(row, weight):
                continue
            module = name.removesuffix(weight.suffix)
            there = {rule.suffix: by_name.get(_stored_name(module, rule)) for rule in scheme.stores}
            if any(not _is_of(there[rule.suffix], rule) for rule in always):
                continue
            for rule in scheme.stores:
                held = there[rule.suffix]
                if held is not None and held.name not in found and _is_of(held, rule):
                    found[held.name] = _marks(rule, scheme)
    return found


def _marks(rule: StoreRule, scheme: Scheme) -> tuple[str, int]:
    if rule.role in ("order", "shape"):
        return "buffer", 1
    if rule.role != "weight":
        return "scale", 1
    width = _WIDTH.match(scheme.weight)
    bits = BITS.get(rule.dtype, 0)
    return "", max(1, bits // int(width[1])) if width else 1


def _stored_name(module: str, rule: StoreRule) -> str:
    if rule.suffix.startswith("^"):
        return module.rpartition(".")[0] + rule.suffix[1:]
    return module + rule.suffix


def _is_of(row: Row | None, rule: StoreRule) -> bool:
    return row is not None and (row.dtype in _FLOATS if rule.dtype == MODEL_DTYPE else row.dtype == rule.dtype)


def _tied_copy(by_name: Mapping[str, Row], facts: Mapping[str, Any]) -> str | None:
    """The head's weight where the config ties it to an embedding of the same shape that is stored too."""
    if facts.get("tie_word_embeddings") is not True:
        return None
    for name, row in by_name.items():
        if not name.endswith("lm_head.weight"):
            continue
        for other in by_name.values():
            embeds = re.search(r"(?:embed_tokens|word_embeddings|wte|embeddings)\.weight$", other.name)
            if embeds and (other.shape, other.dtype) == (row.shape, row.dtype):
                return name
    return None


def _buffer(row: Row) -> str:
    if _ROTARY.search(row.name):
        return "buffer"
    if row.dtype not in _FLOATS and not row.dtype.startswith("F"):
        return "buffer"  # whole numbers and truths that no scheme packs are positions, counters and masks
    square = len(row.shape) == _SQUARE_MASK_RANK and row.shape[:2] == (1, 1) and row.shape[2] == row.shape[3]
    if _MASK.search(row.name) and square:
        return "buffer"
    return "buffer" if row.name.endswith(".masked_bias") else ""


def _is_draft(name: str, layers: Any) -> bool:
    if _DRAFT.search(name):
        return True
    match = _LAYER.search(name)
    if match is None or type(layers) is not int or _TOWERS.search(name[: match.start()]):
        return False
    return int(match[1]) >= layers
