"""What the front door hands out: one model, read whole, as records that a page, a command or a test can print."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from rooflight.values import Quantity


class Symbol(NamedTuple):
    """A name in a formula. `source` says where its value comes from: `config.hidden_size`, an expression over
    other symbols, `schedule`, `storage` or `deployment`.
    """

    name: str
    value: int | float
    meaning: str
    source: str


class CacheCard(NamedTuple):
    """One thing a layer keeps between steps."""

    node: str  # node id
    kind: str  # key, value, latent, state …
    growth: str  # in words: "per token", "last 4,096 tokens" …
    layers: Quantity  # how many layers keep it
    bytes_per_token: Quantity  # added to one sequence by one more token, below any cap, in all layers
    bytes_at_context: Quantity  # one sequence at the card's reference context, in all layers


class ComponentCard(NamedTuple):
    """A component as one layer kind uses it. `facts` are (meaning, symbol, value)."""

    slot: str  # attention, ffn …
    component: str
    role: str
    doc: str
    params: Quantity  # of one copy
    facts: tuple[tuple[str, str, int | float], ...]
    cache: tuple[CacheCard, ...]
    path: str = ""  # from the layer: "attention", "ffn.experts"
    totals: Mapping[str, Mapping[str, Quantity]] = MappingProxyType({})  # as an Inspection's, of this component alone


@dataclass(frozen=True, slots=True)
class LayerKind:
    """The layers of one stack that share a block template."""

    name: str
    layers: str  # "0–31" or "0, 2, 4–9"
    count: Quantity
    params: Quantity  # of one layer
    components: tuple[ComponentCard, ...]
    stack: str = ""  # whose layers these are
    indices: tuple[int, ...] = ()  # the same layers, one by one


class PhaseFigures(NamedTuple):
    """What one node costs in one step, all its copies together."""

    shape: str  # "[B, T, n_heads · d_head]"
    shape_values: str  # "[1, 4096, 4096]"
    matmul_flops: Quantity
    other_flops: Quantity
    weight_bytes: Quantity  # read in the step
    activation_bytes: Quantity
    kv_bytes: Quantity  # read and written


class NodeRow(NamedTuple):
    """One node of the graph. Nodes of one kind of layer stand together; `group` names the kind."""

    id: str
    group: str
    component: str
    role: str
    op: str
    summary: str  # the op in one line
    copies: Quantity
    params: Quantity  # of one copy
    params_all: Quantity  # all copies
    stored_bytes: Quantity  # all copies, as stored
    tensors: tuple[str, ...]  # checkpoint names, layers written {0-31}
    phases: Mapping[str, PhaseFigures]  # "prefill", "decode"


class Checkpoint(NamedTuple):
    """What the files of a checkpoint hold by the spec; the guards hold it against the snapshot, tensor by tensor."""

    bytes: int
    tensors: int
    by_dtype: tuple[tuple[str, int], ...]  # tensors of each dtype, the most first


class Facts(NamedTuple):
    """What a checkpoint is, apart from any figure."""

    id: str  # org/name
    lab: str
    name: str
    architecture: str  # name of the spec
    family: str  # dense, MoE …
    attention: str  # GQA, MHA, MLA …
    dtype: str
    config_state: str  # complete … reconstructed
    source: str  # where the config was found
    released: str | None  # ISO date, None when unknown
    notes: tuple[str, ...]
    formats: tuple[str, ...] = ()  # dtypes the checkpoint stores weights in, most bytes first
    strength: str = "not checked"  # verified, structure checked, total checked, not checked
    checked: tuple[str, ...] = ()  # what agreed with which fact outside the project
    unchecked: tuple[str, ...] = ()  # what nothing was held against
    schemes: tuple[str, ...] = ()  # storage schemes of specs/quant that it uses
    checkpoint: Checkpoint | None = None  # None where it was not examined


class Inspection(NamedTuple):
    """Everything the site shows of one model. Every figure is a Quantity with its formula.

    `headline` keys: params.total, params.active, params.embedding, params.mtp, weights.bytes, layers, max_context,
    cache.bytes_per_token, cache.bytes_per_token_decompressed, cache.constant_bytes, cache.bytes (one sequence at the
    reference context), prefill.flops_per_token, decode.flops (one token at the reference context), and the
    arithmetic intensity of both steps.
    `totals[phase][column]` sums the rows; columns as in PhaseFigures.
    """

    facts: Facts
    symbols: Mapping[str, Symbol]
    headline: Mapping[str, Quantity]
    params_by_role: Mapping[str, Quantity]
    kinds: tuple[LayerKind, ...]
    rows: tuple[NodeRow, ...]
    totals: Mapping[str, Mapping[str, Quantity]]
    deployment: Mapping[str, Mapping[str, int]]  # per phase: batch, context, new_tokens
