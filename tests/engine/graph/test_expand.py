"""What a graph holds: the variant of its phase, the drafts a model declares, the order in which inputs come first."""

import pytest

from engine import mini
from engine.model_strategies import shipped
from rooflight import api
from rooflight.graph import PHASES, expand

ABSORBED = """\
extends: norm
doc: What decoding uses instead.
graph:
  again: { op: rms_norm, in: norm, dims: { width: d_model } }
outputs: [again]
"""


def ids(texts, phase):
    return [node.id for node in expand(mini.model(texts), phase).nodes if node.component in ("norm", "absorbed")]


def test_a_decode_variant_stands_in_while_decoding():
    norm = mini.TEXTS["components/norm.yaml"].replace("role: norm\n", "role: norm\ndecode_variant: absorbed\n")
    texts = {**mini.TEXTS, "components/norm.yaml": norm, "components/absorbed.yaml": ABSORBED}
    plain = ["layers.full.normed.norm", "layers.sliding.normed.norm", "final.norm"]
    assert ids(texts, "prefill") == ids(mini.TEXTS, "decode") == plain
    assert ids(texts, "decode") == [node for name in plain for node in (name, f"{name[:-5]}.again")]


def test_a_declared_draft_is_a_component():
    model = mini.TEXTS["models/tiny.yaml"].replace("use: norm, inputs: layers", "use: scaled, inputs: layers")
    texts = {**mini.TEXTS, "models/tiny.yaml": f"drafts: scaled\n{model}"}
    rows = {row["id"]: row for row in api.cost(mini.model(texts), context=8)["nodes"]}
    assert (rows["final.norm"]["op"], rows["final.norm"]["params"]) == ("tiny_gain", 64)
    assert rows["final.norm"]["other_flops"] == 8 * 64


def test_a_draft_does_not_leak_its_ops():
    model = mini.TEXTS["models/tiny.yaml"]
    texts = {**mini.TEXTS, "models/tiny.yaml": f"drafts: scaled\n{model}"}
    assert mini.refusal(texts) is None
    head = mini.TEXTS["components/head.yaml"].replace("op: linear", "op: tiny_gain")
    assert mini.refusal({**texts, "components/head.yaml": head}).startswith(
        "unknown-op at specs/components/head.yaml:4"
    )


def test_a_node_switched_off_passes_its_first_input_on():
    off = (
        mini.TEXTS["components/attention.yaml"]
        .replace(
            "  o: { op: linear, in: merged, dims: { in: n_heads * d_head, out: d_model } }\n",
            "  shifted: { op: silu, in: merged, when: bias }\n"
            "  o: { op: linear, in: shifted, dims: { in: n_heads * d_head, out: d_model } }\n",
        )
        .replace("output: [merged, o]", "output: [merged, shifted, o]")
    )
    texts = {**mini.TEXTS, "components/attention.yaml": off}
    graph = expand(mini.model(texts), "prefill")
    named = {node.id: node for node in graph.nodes}
    assert "layers.full.attention.shifted" not in named
    (source,) = named["layers.full.attention.o"].inputs
    assert graph.nodes[source].id == "layers.full.attention.merged"
    on = expand(mini.model(texts, {**mini.CONFIG, "bias": True}), "prefill")
    # Only the full layers pass the switch on.
    assert [node.id for node in on.nodes if node.id.endswith("shifted")] == ["layers.full.attention.shifted"]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", sorted(shipped()))
def test_inputs_come_first_and_ids_are_unique(name, phase):
    graph = expand(shipped()[name], phase)
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)
    for index, node in enumerate(graph.nodes):
        assert all(source < index for source in node.inputs), node.id


@pytest.mark.parametrize("name", sorted(shipped()))
def test_paths_hold_every_node_of_a_component_once(name):
    for component in shipped()[name].library.components.values():
        listed = [node for nodes in component.paths.values() for node in nodes]
        assert not listed or sorted(listed) == sorted(component.graph), component.name
