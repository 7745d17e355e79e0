"""Makes plausible inspections of made-up models, so that the site is tested without the library of real ones.

Formulas are the engine's own; only the graph they would come from is replaced by a short list of parts.
"""

from dataclasses import dataclass

from rooflight.api.records import (
    CacheCard,
    Checkpoint,
    ComponentCard,
    Facts,
    Inspection,
    LayerKind,
    NodeRow,
    PhaseFigures,
    Symbol,
)
from rooflight.expr import Space, evaluate, named, total
from rooflight.values import Quantity

MEANINGS = {
    "n_layers": ("decoder layers", "config.num_hidden_layers"),
    "d_model": ("width of the residual stream", "config.hidden_size"),
    "n_heads": ("query heads", "config.num_attention_heads"),
    "n_kv_heads": ("key and value heads", "config.num_key_value_heads"),
    "d_head": ("width of one head", "d_model / n_heads"),
    "d_ffn": ("width of the feed-forward layer", "config.intermediate_size"),
    "n_vocab": ("entries of the vocabulary", "config.vocab_size"),
    "b_weight": ("bytes of one stored weight", "storage"),
    "b_cache": ("bytes of one cached element", "storage"),
    "s_max": ("longest context", "config.max_position_embeddings"),
    "B": ("sequences", "deployment"),
    "T": ("context: what each sequence holds when the step is done", "deployment"),
}

SHAPES = {
    "embed": ("n_vocab", "d_model"),
    "lm_head": ("d_model", "n_vocab"),
    "q_proj": ("d_model", "n_heads d_head"),
    "k_proj": ("d_model", "n_kv_heads d_head"),
    "v_proj": ("d_model", "n_kv_heads d_head"),
    "o_proj": ("n_heads d_head", "d_model"),
    "gate_proj": ("d_model", "d_ffn"),
    "up_proj": ("d_model", "d_ffn"),
    "down_proj": ("d_ffn", "d_model"),
}

# id, group, component, role, op
PARTS = (
    ("embed", "ends", "embedding", "embedding", "gather"),
    ("layers.attn_norm", "layers", "rms_norm", "norm", "norm"),
    ("layers.attention.q_proj", "layers", "gqa_attention", "attention", "linear"),
    ("layers.attention.k_proj", "layers", "gqa_attention", "attention", "linear"),
    ("layers.attention.v_proj", "layers", "gqa_attention", "attention", "linear"),
    ("layers.attention.split", "layers", "gqa_attention", "attention", "split"),
    ("layers.attention.rope", "layers", "gqa_attention", "attention", "rope"),
    ("layers.attention.score", "layers", "gqa_attention", "attention", "score"),
    ("layers.attention.o_proj", "layers", "gqa_attention", "attention", "linear"),
    ("layers.ffn_norm", "layers", "rms_norm", "norm", "norm"),
    ("layers.ffn.gate_proj", "layers", "swiglu", "ffn", "linear"),
    ("layers.ffn.up_proj", "layers", "swiglu", "ffn", "linear"),
    ("layers.ffn.down_proj", "layers", "swiglu", "ffn", "linear"),
    ("lm_head", "ends", "head", "head", "linear"),
)


@dataclass(frozen=True)
class Shape:
    """What tells one made-up model from another."""

    id: str
    lab: str
    name: str
    n_layers: int = 32
    d_model: int = 4096
    n_heads: int = 32
    n_kv_heads: int = 8
    d_ffn: int = 14336
    n_vocab: int = 128256
    s_max: int = 131072
    config_state: str = "complete"
    architecture: str = "llama"
    strength: str = "structure checked"
    family: str = "dense"


MODELS = (
    Shape("aurora-lab/Aurora-8B", "Aurora Lab", "Aurora-8B", strength="verified"),
    Shape(
        "aurora-lab/Aurora-405B", "Aurora Lab", "Aurora-405B", 126, 16384, 128, 8, 53248, config_state="nearly complete"
    ),
    Shape("borealis/Nord-7b-hf", "Borealis", "Nord-7b-hf", 32, 4096, 32, 32, 11008, 32000, 4096),
    Shape(
        "Cirrus/Cirrus2.5-7B-Instruct",
        "Cirrus",
        "Cirrus2.5-7B-Instruct",
        28,
        3584,
        28,
        4,
        18944,
        152064,
        32768,
        architecture="cirrus2",
    ),
    Shape(
        "Cirrus/Cirrus3-0.6B", "Cirrus", "Cirrus3-0.6B", 28, 1024, 16, 8, 3072, 151936, 40960, architecture="cirrus3"
    ),
    Shape(
        "drift-ai/drift2",
        "Drift",
        "drift2",
        12,
        768,
        12,
        12,
        3072,
        50257,
        1024,
        "reconstructed",
        "drift2",
        "not checked",
        "MoE",
    ),
)


def inspections(shapes=MODELS):
    return tuple(map(inspection, shapes))


def inspection(shape):
    return _Maker(shape).make()


class _Maker:
    def __init__(self, shape):
        self.shape = shape
        self.space = Space()
        self.values = {
            name: getattr(shape, name)
            for name in ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ffn", "n_vocab", "s_max")
        }
        self.values |= {"d_head": shape.d_model // shape.n_heads, "b_weight": 2, "b_cache": 2}
        context = min(4096, shape.s_max)
        self.values |= {"B": 1, "T": context}
        self.deployment = {
            "prefill": {"batch": 1, "context": context, "new_tokens": context},
            "decode": {"batch": 1, "context": context, "new_tokens": 1},
        }

    def s(self, *names):
        product = 1
        for name in " ".join(names).split():
            product = product * self.space.symbol(name)
        return product

    def quantity(self, key, label, unit, formula):
        _, at, context = key.partition("@")
        bound = self.values | ({"T": int(context)} if at else {})
        return Quantity(key, label, evaluate(formula, bound), unit, formula)

    def params(self, node):
        name = node.rpartition(".")[2]
        if name in SHAPES:
            return self.s(*SHAPES[name])
        return self.s("d_model") if name.endswith("norm") else 0

    def copies(self, node):
        return self.s("n_layers") if node.startswith("layers.") else 1

    def figures(self, node, phase):
        every = self.copies(node)
        name = node.rpartition(".")[2]
        tokens = self.s("B", "T") if phase == "prefill" else self.s("B")
        matmul = 2 * tokens * self.params(node) if name in SHAPES and name != "embed" else 0
        matmul = 4 * tokens * self.s("T", "n_heads", "d_head") if name == "score" else matmul
        other = 5 * tokens * self.s("d_model") if name.endswith("norm") else 0
        moved = 0 if name == "split" else 2 * tokens * self.s("d_model", "b_weight")
        kv = 2 * self.s("B", "T", "n_kv_heads", "d_head", "b_cache") if name == "score" else 0

        def figure(column, label, unit, formula):
            return self.quantity(f"{phase}.{column}/{node}", f"{label} of {node}", unit, formula * every)

        return PhaseFigures(
            "[B, T, d_model]",
            f"[1, {self.deployment[phase]['new_tokens']}, {self.shape.d_model}]",
            figure("matmul_flops", "matmul FLOPs", "FLOP", matmul),
            figure("other_flops", "other FLOPs", "FLOP", other),
            figure("weight_bytes", "weight bytes read", "byte", self.params(node) * self.s("b_weight")),
            figure("activation_bytes", "activation bytes", "byte", moved),
            figure("kv_bytes", "cache bytes", "byte", kv),
        )

    def rows(self):
        for node, group, component, role, op in PARTS:
            params, copies = self.params(node), self.copies(node)
            summary = f"{op} {' → '.join(SHAPES[node.rpartition('.')[2]])}" if op == "linear" else op
            yield NodeRow(
                node,
                group,
                component,
                role,
                op,
                summary,
                self.quantity(f"copies/{node}", f"copies of {node}", "copy", copies),
                self.quantity(f"params_each/{node}", f"parameters of one {node}", "parameter", params),
                self.quantity(f"params/{node}", f"parameters of {node}", "parameter", params * copies),
                self.quantity(
                    f"stored_bytes/{node}", f"stored bytes of {node}", "byte", params * copies * self.s("b_weight")
                ),
                (f"model.{node}.weight",),
                {phase: self.figures(node, phase) for phase in self.deployment},
            )

    def summed(self, rows, get):
        return total(named(f"{row.id.replace('.', '_')}", get(row).formula) for row in rows)

    def part_totals(self, path, rows):
        """What the rows of one component add up to."""
        inside = [row for row in rows if row.id.startswith(f"{path}.")]

        def summed(key, unit, get):
            return self.quantity(key, f"{key}, all parts", unit, total(get(row).formula for row in inside))

        stored = {
            "params_all": summed(f"params/{path}", "parameter", lambda row: row.params_all),
            "stored_bytes": summed(f"stored_bytes/{path}", "byte", lambda row: row.stored_bytes),
        }
        columns = rows[0].phases["prefill"]._fields[2:]
        return {"stored": stored} | {
            phase: {
                column: summed(
                    f"{phase}.{column}/{path}",
                    "FLOP" if column.endswith("flops") else "byte",
                    lambda row, p=phase, c=column: getattr(row.phases[p], c),
                )
                for column in columns
            }
            for phase in self.deployment
        }

    def checkpoint(self):
        size = evaluate(2 * self.s("n_layers d_model d_model"), self.values)
        return Checkpoint(size, 3 + 9 * self.shape.n_layers, (("BF16", 3 + 9 * self.shape.n_layers),))

    def make(self):
        shape, quantity, s = self.shape, self.quantity, self.s
        rows = tuple(self.rows())
        everything = self.summed(rows, lambda row: row.params_all)
        kv = 2 * s("n_layers", "n_kv_heads", "d_head", "b_cache")
        roles = dict.fromkeys(row.role for row in rows)
        layer = [row for row in rows if row.id.startswith("layers.")]
        totals = {
            phase: {
                column: quantity(
                    f"{phase}.{column}",
                    f"{column.replace('_', ' ')} of one {phase} step",
                    "FLOP" if column.endswith("flops") else "byte",
                    self.summed(rows, lambda row, p=phase, c=column: getattr(row.phases[p], c)),
                )
                for column in ("matmul_flops", "other_flops", "weight_bytes", "activation_bytes", "kv_bytes")
            }
            for phase in self.deployment
        }
        cache = tuple(
            CacheCard(
                f"layers.attention.{kind}_proj",
                word,
                "per token",
                quantity(f"cache.layers/{kind}", f"layers that keep the {word}", "layer", s("n_layers")),
                quantity(f"cache.bytes_per_token/{kind}", f"{word} bytes per token", "byte/token", kv / 2),
                quantity(f"cache.bytes/{kind}", f"{word} bytes of one sequence", "byte", kv / 2 * s("T")),
            )
            for kind, word in (("k", "keys"), ("v", "values"))
        )

        def card(slot, component, role, doc, names, cache=()):
            return ComponentCard(
                slot,
                component,
                role,
                doc,
                quantity(
                    f"params_of/{component}",
                    f"parameters of {component}",
                    "parameter",
                    total(row.params.formula for row in layer if row.component == component),
                ),
                tuple((MEANINGS[name][0], name, self.values[name]) for name in names),
                cache,
                slot,
                self.part_totals(f"layers.{slot}", rows),
            )

        kind = LayerKind(
            "layers",
            f"0–{shape.n_layers - 1}",
            quantity("layers/layers", "decoder layers", "layer", s("n_layers")),
            quantity(
                "params.layer/layers",
                "parameters of one decoder layer",
                "parameter",
                total(row.params.formula for row in layer),
            ),
            (
                card(
                    "attention",
                    "gqa_attention",
                    "attention",
                    "Grouped-query attention with rotary positions.",
                    ("n_heads", "n_kv_heads", "d_head", "d_model"),
                    cache,
                ),
                card(
                    "ffn",
                    "swiglu",
                    "ffn",
                    "Gated feed-forward layer: silu(gate) × up, then down.",
                    ("d_model", "d_ffn"),
                ),
                card(
                    "norms", "rms_norm", "norm", "RMS normalisation before attention and before the ffn.", ("d_model",)
                ),
            ),
            "layers",
            tuple(range(shape.n_layers)),
        )
        headline = {
            "params.total": quantity("params.total", "parameters", "parameter", everything),
            "params.active": quantity("params.active", "active parameters", "parameter", everything),
            "params.embedding": quantity(
                "params.embedding", "parameters of the embedding", "parameter", s("n_vocab d_model")
            ),
            "params.mtp": quantity("params.mtp", "draft parameters", "parameter", 0),
            "weights.bytes": quantity("weights.bytes", "bytes of the weights", "byte", everything * s("b_weight")),
            "layers": quantity("layers", "decoder layers", "layer", s("n_layers")),
            "max_context": quantity("max_context", "longest context", "token", s("s_max")),
            "cache.bytes_per_token": quantity("cache.bytes_per_token", "cache bytes per token", "byte/token", kv),
            "cache.constant_bytes": quantity("cache.constant_bytes", "cache bytes that do not grow", "byte", 0),
            "cache.bytes@32768": quantity("cache.bytes@32768", "cache bytes at 32K", "byte", kv * s("T")),
            "cache.bytes": quantity("cache.bytes", "cache bytes of one sequence", "byte", kv * s("T")),
            "prefill.flops_per_token": quantity(
                "prefill.flops_per_token",
                "prefill FLOPs per token",
                "FLOP",
                totals["prefill"]["matmul_flops"].formula / s("T"),
            ),
            "decode.flops": quantity(
                "decode.flops", "FLOPs of one decoded token", "FLOP", totals["decode"]["matmul_flops"].formula
            ),
        }
        return Inspection(
            Facts(
                shape.id,
                shape.lab,
                shape.name,
                shape.architecture,
                shape.family,
                "MHA" if shape.n_heads == shape.n_kv_heads else "GQA",
                "BF16",
                shape.config_state,
                "tests",
                None,
                ("A `note` on where facts come from.",),
                ("F8_E4M3", "BF16") if shape.strength == "verified" else ("BF16",),
                shape.strength,
                () if shape.strength == "not checked" else ("elements add up to the published total of `N`",),
                ("that the graph computes what the source computes",),
                ("fp8_block",) if shape.strength == "verified" else (),
                None if shape.strength == "not checked" else self.checkpoint(),
            ),
            {name: Symbol(name, value, *MEANINGS[name]) for name, value in self.values.items()},
            headline,
            {
                role: quantity(
                    f"params/{role}",
                    f"parameters of {role}",
                    "parameter",
                    total(row.params_all.formula for row in rows if row.role == role),
                )
                for role in roles
            },
            (kind,),
            rows,
            totals | {"stored": {"params_all": headline["params.total"], "stored_bytes": headline["weights.bytes"]}},
            self.deployment,
        )
