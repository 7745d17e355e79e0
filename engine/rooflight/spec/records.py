"""A spec as records: what was written in YAML, checked for form but bound to no config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rooflight.dims import DimTable
from rooflight.expr import Tree
from rooflight.ops import Op
from rooflight.spec.precision import Precision
from rooflight.spec.quant import Scheme

# A switch of a node or component: a fixed yes/no, a switch of the enclosing component, or a config key.
Switch = bool | str


class Use(NamedTuple):
    """A component put in a place. `dims` gives its names meaning in the place's own names.

    `cases` are other uses, each under a condition over the config; the first that holds is taken instead.
    """

    component: str
    dims: Mapping[str, Tree]
    switches: Mapping[str, Switch]
    slots: Mapping[str, Use]
    where: str
    cases: tuple[tuple[Tree, Use], ...] = ()


class NodeSpec(NamedTuple):
    """One node of a component: an op, a component, or a slot that the user of the component fills."""

    name: str
    inputs: tuple[str, ...]
    dims: Mapping[str, Tree]
    where: str
    op: str | None = None
    use: Use | None = None
    slot: str | None = None
    switches: Mapping[str, Switch] | None = None
    choices: Mapping[str, str] | None = None
    role: str | None = None
    when: str | None = None  # a switch; off means the node passes its first input through
    copies: Tree = 1  # of a component: how many there are of it
    active: Tree | None = None  # how many of them work on one token; None means all
    cuts: Mapping[str, str] | None = None  # axis name -> the dim in whose pieces it can be cut, where not its own
    part_of: str | None = None  # of a decode variant: the node of the ordinary graph whose weight this one reads


class CacheEntry(NamedTuple):
    """What stays between steps: a node's output, of which readers see all positions held, or the state its op carries.

    dtype   of a state that runtimes keep in a dtype of its own, with the file that says so and its words
    """

    node: str
    kind: str
    growth: str  # key of GROWTH
    dims: Mapping[str, Tree]
    where: str
    dtype: str | None = None
    source: str | None = None
    quote: str | None = None


# Growth law -> the dims it needs.
GROWTH: dict[str, tuple[str, ...]] = {
    "per_token": (),  # one position per token
    "window": ("window",),  # only the last `window` positions
    "constant": (),  # the state that an op carries from step to step, as large for any number of positions
}


class Invariant(NamedTuple):
    """What the author says must hold of one copy: a quantity's name and the length it equals."""

    quantity: str
    tree: Tree
    where: str


class Label(NamedTuple):
    """A name for display, given while a condition over the component's dims holds."""

    text: str
    when: Tree | None


class ComponentSpec(NamedTuple):
    """A DAG with a role."""

    name: str
    doc: str
    role: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    slots: Mapping[str, tuple[str, ...]]  # slot -> roles it takes
    switches: Mapping[str, str]  # switch -> meaning
    cache: tuple[CacheEntry, ...]
    decode_variant: str | None
    labels: tuple[Label, ...]
    graph: Mapping[str, NodeSpec]
    paths: Mapping[str, tuple[str, ...]]
    invariants: tuple[Invariant, ...]
    ops: Mapping[str, Op]
    components: Mapping[str, ComponentSpec]
    where: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a schedule: the block of every layer i for which `when` holds and no earlier line did."""

    block: str
    when: Tree | None
    count: Tree | None  # how many layers that makes, as a formula
    where: str
    listed: str | None = None  # a config key that lists the layers; `when` must hold as well
    count_when: Tree | None = None  # over the config: whether `count` holds for it


class Schedule(NamedTuple):
    """Which block each layer uses: by a list in the config where it has one, else by rules."""

    list_key: str | None
    blocks: Mapping[str, str]  # value in the list -> block
    rules: tuple[Rule, ...]
    where: str


class Tie(NamedTuple):
    """A node that reads another node's weight instead of storing its own."""

    node: str
    to: str
    when: Switch
    where: str


class Stage(NamedTuple):
    """One entry of a model: a component on its own, or a stack of layers with the stream it carries."""

    name: str
    inputs: tuple[str, ...]
    where: str
    use: Use | None = None
    repeat: Tree | None = None
    schedule: Schedule | None = None
    carries: str | None = None
    ties: tuple[Tie, ...] = ()
    part: str = "main"  # main, or draft: heads that guess ahead, stored but deployed only on request
    first: Tree = 0  # the number of the stack's first layer in checkpoint names


class Anchor(NamedTuple):
    """A quote from the source that backs something the spec says: a stream, a node, an order of calls."""

    what: str
    file: str
    quote: str
    where: str


class Buffer(NamedTuple):
    """A stored tensor that is no parameter, as old checkpoints hold them."""

    name: str
    shape: tuple[Tree, ...]
    dtype: str
    where: str


class Formula(NamedTuple):
    """A default that follows from other keys."""

    tree: Tree


class ConfigRules(NamedTuple):
    """How a model spec reads a config. A default is a plain value, or a Formula over other keys."""

    defaults: Mapping[str, object]  # key -> what its absence means
    nulls: Mapping[str, object]  # key -> what its absence or a null means
    expects: Mapping[str, tuple[object, ...]]  # key -> values the spec was written for
    ignores: Mapping[str, str]  # key -> why it does not matter
    alike: tuple[str, ...] = ()  # keys that may list one value per layer, all the same


class ModelSpec(NamedTuple):
    """An architecture: every checkpoint whose config names one of `architectures` is bound by it."""

    name: str
    doc: str
    family: str
    source: str
    architectures: tuple[str, ...]
    model_types: tuple[str, ...]
    config: ConfigRules
    dims: Mapping[str, Tree]
    max_context: Tree
    blocks: Mapping[str, Use]
    stages: tuple[Stage, ...]
    modules: Mapping[str, str]  # node path -> checkpoint module, {i} is the layer
    dtypes: Mapping[str, str]  # node path -> dtype of a weight that the checkpoint keeps in its own
    buffers: tuple[Buffer, ...]
    anchors: tuple[Anchor, ...]
    components: Mapping[str, ComponentSpec]
    drafts: tuple[str, ...]
    where: str


class ConfigKeys(NamedTuple):
    """What holds for every config: other spellings, nested homes, keys that never change an architecture."""

    aliases: Mapping[str, str]
    text_sections: tuple[str, ...]
    unpack: tuple[str, ...]
    ignores: Mapping[str, str]


class Library(NamedTuple):
    """Everything under specs/, read and checked for form."""

    dims: DimTable
    roles: Mapping[str, str]
    config_keys: ConfigKeys
    components: Mapping[str, ComponentSpec]
    drafts: Mapping[str, ComponentSpec]
    models: Mapping[str, ModelSpec]
    schemes: Mapping[str, Scheme]
    precisions: Mapping[str, Precision]
