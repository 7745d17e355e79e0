"""One faulty input for every error code: docs/errors.md shows what the engine says to each.

The inputs are changes to a library of six components and one model, small enough to be read here and independent of
the real specs, so that editing a real spec never rewords the documentation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflight import api
from rooflight.edge import library as files
from rooflight.edge.machines import open_gpu
from rooflight.edge.snapshot import commands
from rooflight.edge.snapshot.write import write_file, write_folder
from rooflight.edge.yaml_text import read_yaml
from rooflight.graph import expand
from rooflight.hardware import read_gpu
from rooflight.spec import bind
from rooflight.truth import Row, choose_files, collapse, header_length, read_header, read_tensors
from rooflight.truth import expand as expand_rows
from rooflight.values import SpecError
from rooflight.walk import compile_graph, walk

if TYPE_CHECKING:
    from collections.abc import Callable

SPECS: dict[str, str] = {
    "dims": """\
kinds: { run: set by the step, width: length of a feature axis, count: number of things }
dims:
  B: { kind: run, meaning: sequences }
  s_q: { kind: run, meaning: new positions }
  s_kv: { kind: run, meaning: positions held }
  s_head: { kind: run, meaning: positions that get logits }
  d_model: { kind: width, meaning: width of the trunk }
  d_head: { kind: width, meaning: width of one head }
  d_ffn: { kind: width, meaning: inner width, shard: width }
  d_expert: { kind: width, meaning: inner width of an expert }
  n_heads: { kind: count, meaning: query heads }
  n_kv_heads: { kind: count, meaning: key and value heads }
  n_layers: { kind: count, meaning: layers }
  n_dense: { kind: count, meaning: layers before the first of another kind }
  n_vocab: { kind: count, meaning: token ids }
constraints:
  - { rule: n_heads % n_kv_heads = 0, why: every key head serves as many query heads }
""",
    "roles": """\
attention: mixes positions
ffn: works on one position
norm: normalises the trunk
block: one layer
embedding: turns ids into vectors
head: turns vectors into logits
residual: adds a branch to the trunk
""",
    "config_keys": """\
aliases: { torch_dtype: dtype }
text_sections: [text_config]
""",
    "components/norm": """\
doc: A norm.
role: norm
graph:
  norm: { op: rms_norm, in: x, dims: { width: d_model } }
outputs: [norm]
""",
    "components/attention": """\
doc: Attention.
role: attention
switches: { bias: whether the projections add a bias }
cache:
  entries:
    - { node: k_heads, kind: key }
    - { node: v_heads, kind: value }
graph:
  q_proj: { op: linear, in: x, dims: { in: d_model, out: n_heads * d_head }, bias: bias }
  k_proj: { op: linear, in: x, dims: { in: d_model, out: n_kv_heads * d_head }, bias: bias }
  v_proj: { op: linear, in: x, dims: { in: d_model, out: n_kv_heads * d_head }, bias: bias }
  q_heads: { op: split, in: q_proj, dims: { outer: n_heads, inner: d_head } }
  k_heads: { op: split, in: k_proj, dims: { outer: n_kv_heads, inner: d_head } }
  v_heads: { op: split, in: v_proj, dims: { outer: n_kv_heads, inner: d_head } }
  scores: { op: attention_score, in: [q_heads, k_heads], mask: causal }
  probabilities: { op: attention_softmax, in: scores }
  attended: { op: attention_apply, in: [probabilities, v_heads] }
  merged: { op: merge, in: attended }
  o_proj: { op: linear, in: merged, dims: { in: n_heads * d_head, out: d_model } }
outputs: [o_proj]
invariants: { cache_elements_per_token: 2 * n_kv_heads * d_head }
""",
    "components/ffn": """\
doc: A feed-forward network.
role: ffn
graph:
  up: { op: linear, in: x, dims: { in: d_model, out: d_ffn } }
  activated: { op: silu, in: up }
  down: { op: linear, in: activated, dims: { in: d_ffn, out: d_model } }
outputs: [down]
paths: { up: [up, activated], down: [down] }
""",
    "components/block": """\
doc: A layer.
role: block
slots: { norm: norm, attention: attention, ffn: ffn }
graph:
  attention_norm: { slot: norm, in: x }
  attention: { slot: attention, in: attention_norm }
  attention_sum: { op: add, in: [x, attention], role: residual }
  ffn_norm: { slot: norm, in: attention_sum }
  ffn: { slot: ffn, in: ffn_norm }
  ffn_sum: { op: add, in: [attention_sum, ffn], role: residual }
outputs: [ffn_sum]
""",
    "components/embedding": """\
doc: A table.
role: embedding
inputs: [ids]
graph:
  table: { op: embedding, in: ids, dims: { entries: n_vocab, width: d_model } }
outputs: [table]
""",
    "components/head": """\
doc: A head.
role: head
graph:
  proj: { op: linear, in: x, dims: { in: d_model, out: n_vocab } }
outputs: [proj]
""",
    "models/tiny": """\
doc: A small decoder.
family: dense
source: none
architectures: [TinyForCausalLM]
config:
  defaults: { tie_word_embeddings: false }
dims:
  d_model: config.hidden_size
  d_head: config.head_dim
  d_ffn: config.intermediate_size
  n_heads: config.num_attention_heads
  n_kv_heads: config.num_key_value_heads
  n_layers: config.num_hidden_layers
  n_vocab: config.vocab_size
max_context: config.max_position_embeddings
blocks:
  layer:
    use: block
    slots:
      norm: { use: norm }
      attention: { use: attention }
      ffn: { use: ffn }
model:
  - { name: embed, use: embedding, inputs: tokens }
  - { name: layers, repeat: n_layers, block: layer, inputs: embed, streams: { hidden: { carries: true } } }
  - { name: head, use: head, inputs: layers, tie: { node: proj, to: embed.table, when: config.tie_word_embeddings } }
checkpoint:
  modules: { embed.table: embed, layers: "layers.{i}", head.proj: head }
""",
}

CONFIG: dict[str, Any] = {
    "architectures": ["TinyForCausalLM"],
    "dtype": "bfloat16",
    "hidden_size": 128,
    "head_dim": 16,
    "intermediate_size": 384,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
}

_STACK = "block: layer, inputs: embed, streams"
_RULES = "schedule: { rules: [%s] }, inputs: embed, streams"


def _read(specs: dict[str, str]) -> Any:
    # Through files, as anyone's specs are read: what a library is made of is then the engine's business alone.
    with tempfile.TemporaryDirectory() as folder:
        for name, text in specs.items():
            path = Path(folder, "specs", f"{name}.yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return files.open_catalog(f"{folder}/specs").library


def model(specs: dict[str, str] | None = None, **config: Any) -> Any:
    """The small model of a changed library and a changed config, checked as `rooflight check` does."""
    facts = {key: value for key, value in {**CONFIG, **config}.items() if value != "absent"}
    bound = bind(_read(SPECS | (specs or {})), facts, "config.json", "tiny")
    api.check(bound)
    return bound


def spec(name: str, old: str, new: str, **config: Any) -> Callable[[], object]:
    """A fault made by replacing `old` by `new` in one file."""
    if old not in SPECS[name]:
        raise ValueError(f"{name} does not hold {old!r}")
    return lambda: model({name: SPECS[name].replace(old, new, 1)}, **config)


def added(name: str, text: str, old: str = "", new: str = "", **config: Any) -> Callable[[], object]:
    """A fault made by one more file, and a change of the model that uses it."""
    return lambda: model({name: text, "models/tiny": SPECS["models/tiny"].replace(old, new, 1)}, **config)


def config(**changed: Any) -> Callable[[], object]:
    """A fault made in the config; the value "absent" removes a key."""
    return lambda: model(**changed)


def text(content: str) -> Callable[[], object]:
    """A fault in a file's text."""
    return lambda: read_yaml(content, "specs/dims.yaml")


def _file(name: str, content: str) -> Callable[[], object]:
    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_text(content, encoding="utf-8")
            try:
                files.read_json(path)
            except SpecError as error:
                error.where = error.where.replace(f"{folder}/", "")
                raise

    return run


def _no_file() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "specs").mkdir()
        _ = files.open_catalog(folder + "/specs").library


def _no_specs() -> None:
    here, files.__file__ = files.__file__, "/opt/rooflight/python/rooflight/edge/library.py"
    try:
        files.specs_folder()
    finally:
        files.__file__ = here


def _in_folder(make: Callable[[Path], object]) -> Callable[[], object]:
    """A fault of the file system, in a folder whose own name does not show."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                make(Path(folder))
            except SpecError as error:
                error.where = error.where.replace(f"{folder}/", "")
                raise

    return run


def _file_in_the_way(folder: Path) -> None:
    (folder / "trial").touch()
    write_file(folder / "trial" / "models" / "fern.yaml", "")


def _written_twice(folder: Path) -> None:
    for _ in range(2):
        write_file(folder / "fern.yaml", "")


def _taken_twice(folder: Path) -> None:
    for _ in range(2):
        write_folder(folder / "garden--fern-1b", {"config.json": "{}"}, replace=False)


def _command(target: str) -> None:
    context = click.Context(commands.new)
    context.invoke(commands.new, target=target, revision=None, out=None)


def _two_schemes() -> None:
    scheme = "doc: One.\nsource: none\nrecognized_by: { quant_method: fp8 }\nroles: [ffn]\n" + _STORED
    bound = model({"quant/one": scheme, "quant/two": scheme}, quantization_config={"quant_method": "fp8"})
    assert bound.storage.refused is not None
    raise bound.storage.refused  # figures are those of plain weights; no such checkpoint is published


def _priced(plan: str) -> object:
    """A small model on a GPU whose file says little."""
    gpu = read_gpu(read_yaml(_SPARE, "some_gpu.yaml"), "some_gpu.yaml")
    return api.Estimate(model(), gpu, api.parse_plan(plan)).ttft_seconds


def plan(text: str, **config: Any) -> Callable[[], object]:
    """What keeps the small model from running under a plan."""

    def run() -> None:
        blocks = "doc: Blocks.\nsource: none\nrecognized_by: { quant_method: fp8 }\nroles: [ffn]\n"
        scale = '{ suffix: .scale, dtype: F32, shape: ["ceil_div(out, block_out)", in], role: scale }'
        blocks += "numbers: { block_out: 128 }\n" + _STORED.replace("}]", f"}}, {scale}]")
        for refusal in api.refusals(model({"quant/blocks": blocks}, **config), api.parse_plan(text)):
            raise refusal

    return run


def _deep(levels: int) -> object:
    return {"a": _deep(levels - 1)} if levels else 1


def _many() -> object:
    """Components that each use the one before ten times: more nodes than any file says."""
    chained = {"components/c0": SPECS["components/norm"]}
    for level in range(1, 5):
        nodes = "".join(f"  n{i}: {{ use: c{level - 1}, in: {f'n{i - 1}' if i else 'x'} }}\n" for i in range(12))
        chained[f"components/c{level}"] = f"doc: Twelve.\nrole: norm\ngraph:\n{nodes}outputs: [n11]\n"
    return model(chained | {"models/tiny": SPECS["models/tiny"].replace("norm: { use: norm }", "norm: { use: c4 }")})


def _counted() -> object:
    kinds = SPECS["models/tiny"].replace("blocks:\n", "blocks:\n  first: { use: ffn }\n")
    rules = _RULES % "{ block: first, when: i < 1, count: 2 }, { block: layer }"
    return model({"models/tiny": kinds.replace(_STACK, rules)})


def _wide() -> object:
    # The head reads the embedding: the fault is not the head's to find.
    text = SPECS["models/tiny"].replace("inputs: layers", "inputs: embed").replace("block: layer,", "block: wide,")
    return model(
        {"components/wide": _WIDE, "models/tiny": text.replace("blocks:\n", "blocks:\n  wide: { use: wide }\n")}
    )


def header(content: str, data_bytes: int = 8) -> Callable[[], object]:
    """A fault in a safetensors header."""
    return lambda: read_header(content.encode(), data_bytes, "model.safetensors", "hub-headers")


def _stored(name: str, count: int = 1) -> Row:
    return Row(name, "BF16", (2, 2), count, "hub-headers")


def _chosen(*names: str, index: tuple[str, ...] | None = None) -> Callable[[], object]:
    return lambda: choose_files(names, "some/folder", index)


_STORED = "weight: F8_E4M3\nactivation: F8_E4M3\ntensors: [{ suffix: .weight, dtype: F8_E4M3, shape: [out, in] }]\n"
_SPARE = """\
name: Some GPU
memory: { value: 141000000000, unit: B, source: data sheet }
memory_bandwidth: { value: 4.8e12, unit: B/s, source: data sheet }
matmul: { BF16: { value: 9.9e14, unit: FLOP/s, source: data sheet } }
"""
_GPU = "name: Some GPU\nmemory: { value: 141000000000, unit: B }\n"
_DRAFT = SPECS["components/ffn"].replace("A feed-forward network.", "An idea.")
_TWO = """\
doc: Two values.
role: ffn
graph:
  up: { op: linear, in: x, dims: { in: d_model, out: d_ffn } }
  down: { op: linear, in: up, dims: { in: d_ffn, out: d_model } }
outputs: [up, down]
"""
_WIDE = """\
doc: A layer that leaves another width than it took.
role: block
graph:
  up: { op: linear, in: x, dims: { in: d_model, out: d_ffn } }
outputs: [up]
"""
_OP = """\
doc: A network with an op of its own.
role: ffn
ops:
  shift: { summary: adds a constant, axes: "%s", other: %s }
graph:
  shifted: { op: shift, in: x }
outputs: [shifted]
"""
_FFN = ("ffn: { use: ffn }", "ffn: { use: %s }")

EXAMPLES: dict[str, Callable[[], object]] = {
    "yaml-syntax": text("dims: [a, b\n"),
    "yaml-empty": text("# nothing yet\n"),
    "yaml-too-large": text("doc: " + "x" * (1 << 20)),
    "yaml-tag": text("doc: !!python/object:os.system ls\n"),
    "yaml-alias": text("a: &shared { kind: width }\nb: *shared\n"),
    "yaml-key": text("128: a head\n"),
    "yaml-trap": text("bias: on\n"),
    "duplicate-key": text("d_head: 64\nd_model: 512\nd_head: 128\n"),
    "missing-file": _no_file,
    "no-specs": _no_specs,
    "missing-key": spec("components/ffn", "role: ffn\n", ""),
    "unknown-key": spec("components/ffn", "outputs:", "output: [down]\noutputs:"),
    "wrong-type": spec("components/ffn", "doc: A feed-forward network.", "doc: [A, list]"),
    "unknown-word": spec("components/attention", "mask: causal", "mask: casual"),
    "bad-expression": spec("components/ffn", "out: d_ffn", "out: d_ffn ** 2"),
    "bad-axes": added("components/own", _OP % ("x[... width -> [... width]", "rows"), *(_FFN[0], _FFN[1] % "own")),
    "name-taken": added("drafts/ffn", _DRAFT),
    "undeclared-dim": spec("components/ffn", "out: d_ffn", "out: d_inner"),
    "undeclared-name": added(
        "components/own", _OP % ("x[... w] -> [... w]", "rows * width"), *(_FFN[0], _FFN[1] % "own")
    ),
    "undeclared-draft": added("drafts/idea", _DRAFT, _FFN[0], _FFN[1] % "idea"),
    "unbound-dim": spec("components/ffn", "out: d_ffn", "out: d_expert"),
    "run-dim": spec("models/tiny", "dims:\n", "dims:\n  s_kv: config.max_position_embeddings\n"),
    "unknown-dim": spec("components/ffn", "{ in: d_model, out: d_ffn }", "{ in: d_model, out: d_ffn, inner: d_ffn }"),
    "missing-dim": spec("components/ffn", "{ in: d_model, out: d_ffn }", "{ in: d_model }"),
    "unknown-node": spec("components/ffn", "in: activated", "in: activate"),
    "unknown-op": spec("components/ffn", "op: silu", "op: silo"),
    "unknown-component": spec("models/tiny", "{ use: ffn }", "{ use: fnn }"),
    "unknown-block": spec("models/tiny", "block: layer,", "block: layers,"),
    "unknown-role": spec("components/block", "role: residual", "role: residue"),
    "unknown-slot": spec("models/tiny", "ffn: { use: ffn }", "fnn: { use: ffn }"),
    "unknown-switch": spec("components/attention", "bias: bias }", "bias: biased }"),
    "unknown-scheme": added("precision/eight", "doc: Everything in FP8.\nweights: BF61\n"),
    "ambiguous-scheme": _two_schemes,
    "case-order": spec("models/tiny", "{ use: ffn }", "{ cases: [{ use: ffn, when: config.num_hidden_layers = 1 }] }"),
    "node-kind": spec("components/ffn", "op: silu, in: up", "in: up"),
    "empty-graph": spec(
        "models/tiny", SPECS["models/tiny"].partition("model:\n")[2].partition("checkpoint")[0], "  []\n"
    ),
    "cyclic-graph": spec("components/ffn", "op: linear, in: x", "op: linear, in: down"),
    "cyclic-extends": spec("components/ffn", "doc:", "extends: ffn\ndoc:"),
    "nested-too-deep": spec("components/ffn", "op: silu, in: up", "use: ffn, in: x"),
    "graph-too-large": _many,
    "wrong-inputs": spec("components/block", "in: [x, attention]", "in: attention"),
    "several-outputs": added("components/two", _TWO, _FFN[0], _FFN[1] % "two"),
    "empty-slot": spec("models/tiny", "      ffn: { use: ffn }\n", ""),
    "wrong-role": spec("models/tiny", "ffn: { use: ffn }", "ffn: { use: norm }"),
    "carried-stream": spec("models/tiny", "carries: true", "carries: false"),
    "paths-cover": spec("components/ffn", "up: [up, activated]", "up: [up]"),
    "tie-shape": spec(
        "models/tiny", "node: proj, to: embed.table", "node: proj, to: layers.ffn_norm.norm", tie_word_embeddings=True
    ),
    "unnamed-tensor": spec("models/tiny", ", head.proj: head", ""),
    "rank-mismatch": spec("components/attention", "in: [q_heads, k_heads]", "in: [q_heads, k_proj]"),
    "axes-undetermined": added(
        "components/own", _OP % ("x[... (a b)] -> [... a b]", "rows"), *(_FFN[0], _FFN[1] % "own")
    ),
    "axis-mismatch": spec(
        "components/attention", "{ in: n_heads * d_head, out: d_model }", "{ in: d_model, out: d_model }"
    ),
    "stream-shape": _wide,
    "broken-invariant": spec("components/attention", "token: 2 *", "token: 3 *"),
    "no-mask": spec("components/attention", "op: attention_softmax, in: scores", "op: attention_softmax, in: q_heads"),
    "cache-state": spec("components/attention", "{ node: k_heads,", "{ node: k_heads, growth: constant,"),
    "cache-axis": spec("components/attention", "node: k_heads", "node: scores"),
    "empty-schedule": spec("models/tiny", _STACK, "schedule: {}, inputs: embed, streams"),
    "schedule-gap": spec("models/tiny", _STACK, _RULES % "{ block: layer, when: i > 0 }"),
    "schedule-count": _counted,
    "schedule-length": spec(
        "models/tiny",
        _STACK,
        "schedule: { list: config.layer_types, blocks: { full: layer } }, inputs: embed, streams",
        layer_types=["full"] * 3,
    ),
    "schedule-value": spec(
        "models/tiny",
        _STACK,
        "schedule: { list: config.layer_types, blocks: { full: layer } }, inputs: embed, streams",
        layer_types=["full", "full", "linear", "full"],
    ),
    "config-not-json": _file("config.json", '{"hidden_size": 4096, "num_hid'),
    "config-not-object": lambda: bind(_read(SPECS), [1, 2], "config.json"),
    "config-too-large": config(extra=_deep(20)),
    "config-no-architecture": config(architectures="absent"),
    "config-missing-key": config(head_dim="absent"),
    "config-wrong-type": config(hidden_size="4096"),
    "config-out-of-range": config(hidden_size=-128),
    "config-unknown-dtype": config(dtype="bf16"),
    "broken-constraint": config(num_key_value_heads=3),
    "no-spec": config(architectures=["TinyMoeForCausalLM"]),
    "no-config": lambda: files.load_target(files.open_catalog(), "./no-such-folder"),
    "unknown-model": lambda: files.load_target(files.open_catalog(), "meta-llama/Meta-Llama-3-9B"),
    "tensor-name": header('{"norm weight": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}'),
    "tensor-twice": lambda: collapse([_stored("norm.weight"), _stored("norm.weight")], "model.safetensors"),
    "too-many-tensors": lambda: expand_rows([_stored("layers.{0-9999999}.weight", 10**7)], "tensors.json"),
    "bad-pattern": lambda: expand_rows([_stored("layers.{0-3}.weight", 3)], "tensors.json"),
    "bad-snapshot": lambda: read_tensors({"tensors": []}, "specs/truth/some--model/tensors.json"),
    "header-size": lambda: header_length(b"PK\x03\x04\x14\x00\x00\x00", 1000, "model.safetensors"),
    "header-json": header('{"norm.weight": '),
    "header-entry": header('{"norm.weight": {"dtype": "bfloat16", "shape": [2, 2], "data_offsets": [0, 8]}}'),
    "header-offsets": header('{"norm.weight": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 4]}}'),
    "no-checkpoint": lambda: _command("fern 1b"),
    "snapshot-exists": _in_folder(_taken_twice),
    "cannot-write": _in_folder(_file_in_the_way),
    "spec-exists": _in_folder(_written_twice),
    "index-mismatch": _chosen("a.safetensors", index=("a.safetensors", "b.safetensors")),
    "no-safetensors": _chosen("pytorch_model.bin"),
    "several-checkpoints": _chosen("adapter.safetensors", "merged.safetensors"),
    "bad-plan": lambda: api.parse_plan("attn_dp=8,eq=8"),
    "plan-heads": plan("attn_tp=3"),
    "plan-experts": plan("attn_dp=8,ep=8"),
    "plan-layout": plan("attn_dp=2,attn_tp=2,ep=8"),
    "plan-width": plan("attn_tp=8", intermediate_size=100),
    "plan-blocks": plan("attn_tp=8", quantization_config={"quant_method": "fp8"}),
    "plan-stages": plan("pp=5"),
    "unknown-gpu": lambda: open_gpu("h1000"),
    "missing-fact": lambda: _priced("attn_dp=2"),
    "bad-axis": lambda: api.parse_axis("batches=1..8"),
    "unsourced": lambda: read_gpu(read_yaml(_GPU, "some_gpu.yaml"), "some_gpu.yaml"),
    "bad-step": lambda: api.cost(model(), "prefill", context=1024, prefix=1024),
    "unknown-phase": lambda: api.cost(model(), "training"),
    "unknown-figure": lambda: api.formula(model(), "params.totals"),
    "unknown-format": lambda: api.formula(model(), "params.total", form="tex"),
    "unbound-symbol": lambda: walk(compile_graph(expand(model(), "prefill")), {"B": 1}),
}

# Codes whose fault no small input makes, and why.
WITHOUT: dict[str, str] = dict.fromkeys(
    ("no-hub-library", "hub-unreachable", "hub-refused", "hub-not-found", "hub-busy", "hub-answer"),
    "It takes a network to see.",
) | {"no-access": "It takes a file that the system keeps from its user."}


def refusal(code: str) -> SpecError:
    """What the engine says to the example of a code. AssertionError if it says anything else."""
    try:
        EXAMPLES[code]()
    except SpecError as error:
        if error.code != code:
            raise AssertionError(f"the example of {code} gives\n{error}") from error
        return error
    raise AssertionError(f"the example of {code} is not refused")
