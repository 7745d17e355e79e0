"""`rooflight new`: a first spec for a config that no spec covers."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from rooflight.edge import front
from rooflight.edge.cli import main
from rooflight.edge.library import open_catalog

ROOT = Path(__file__).parents[2]
FERN = {
    "architectures": ["FernForCausalLM"], "model_type": "fern", "dtype": "bfloat16", "hidden_act": "relu2",
    "n_embd": 2048, "intermediate_size": 8192, "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128,
    "num_hidden_layers": 24, "vocab_size": 50000, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    "initializer_range": 0.02, "leaf_scale": 1.0, "rms_norm_eps": 1e-6,
}  # fmt: skip
ROUTED = {
    "architectures": ["MossMoeForCausalLM"], "model_type": "moss_moe", "torch_dtype": "bfloat16", "hidden_act": "silu",
    "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 8, "vocab_size": 1000,
    "max_position_embeddings": 4096, "q_lora_rank": 512, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32, "v_head_dim": 64, "n_routed_experts": 16, "n_shared_experts": 1, "num_experts_per_tok": 2,
    "moe_intermediate_size": 128, "intermediate_size": 512, "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "n_group": 4, "topk_group": 2, "norm_topk_prob": True, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
    "lantern_topk": 64,
}  # fmt: skip


@pytest.fixture
def specs(tmp_path):
    """A copy of the project's specs to add to."""
    folder = tmp_path / "specs"
    shutil.copytree(ROOT / "specs", folder)
    return folder


@pytest.fixture
def config(tmp_path):
    def written(data, name="fern-1b"):
        path = tmp_path / name / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(data), "utf-8")
        return path

    return written


def new(specs, *arguments):
    return CliRunner().invoke(main, ["--specs", str(specs), "new", *map(str, arguments)])


def test_a_dense_one(specs, config):
    path = config(FERN)
    done = new(specs, path)
    assert done.exit_code == 0, done.stderr
    made = specs / "models" / "fern.yaml"
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{made} is begun from ")
    assert lines[1] == "keys that this config spells otherwise: hidden_size → n_embd"
    assert lines[2] == "to decide, bind or ignore:"
    assert "  leaf_scale: 1.0" in lines
    text = made.read_text("utf-8")
    assert '\narchitectures: [FernForCausalLM]\nmodel_types: ["fern"]\n' in text
    assert "\ndrafts: []\n" in text
    assert "\n#   leaf_scale: 1.0\n" in text
    assert "\n#   hidden_act: 'relu2', where config.expects says 'silu'\n" in text
    assert "\n  d_model: config.n_embd  # 2048\n" in text
    assert "\n  n_heads: config.num_attention_heads  # 16\n" in text
    assert "initializer_range" not in text
    model = open_catalog(specs).library.models["fern"]  # the strict loader takes it, beside all others
    assert model.drafts == ()
    front.catalog.cache_clear()
    assert front.load(str(path.parent), specs=str(specs)).dims["d_model"] == 2048


def test_a_routed_one_begins_from_a_routed_one(specs, config):
    path = config(ROUTED)
    done = new(specs, path, "--out", specs / "models" / "moss.yaml")
    assert done.exit_code == 0, done.stderr
    model = open_catalog(specs).library.models["moss"]
    assert "n_experts" in model.dims
    assert "#   lantern_topk: 64\n" in (specs / "models" / "moss.yaml").read_text("utf-8")
    front.catalog.cache_clear()
    bound = front.load(str(path), specs=str(specs))
    assert (bound.dims["n_experts"], bound.dims["n_dense"]) == (16, 1)


def test_every_spec_can_be_the_beginning(specs, config):
    """The nearest spec to a config of each architecture under another name is that architecture's own."""
    library = open_catalog(specs).library
    right = 0
    for folder in sorted((specs / "truth").glob("*--*")):
        data = json.loads((folder / "config.json").read_text("utf-8"))
        covering = [spec.name for spec in library.models.values() if data["architectures"][0] in spec.architectures]
        if not covering:
            continue
        out = specs.parent / "begun" / f"{folder.name}.yaml"
        done = new(specs, config(data | {"architectures": ["Other"], "model_type": "other"}, folder.name), "--out", out)
        assert done.exit_code == 0, done.stderr
        assert out.is_file()
        right += f"is begun from {covering[0]}," in done.stdout
    assert right >= 12  # some architectures differ in nothing that a config says


def test_what_is_not_in_the_config_is_said(specs, config):
    bare = {key: FERN[key] for key in ("architectures", "model_type", "num_attention_heads", "vocab_size", "dtype")}
    assert new(specs, config(bare)).exit_code == 0
    text = (specs / "models" / "fern.yaml").read_text("utf-8")
    assert "  d_model: config.hidden_size  # the config has no such key hidden_size\n" in text


def test_from_the_hub(hub, specs, monkeypatch):
    hub.add("org/fern", {"config.json": FERN})
    from rooflight.edge.snapshot import hub as module

    monkeypatch.setattr(module.Hub.__init__, "__defaults__", (hub.url, *module.Hub.__init__.__defaults__[1:]))
    done = new(specs, "org/fern")
    assert done.exit_code == 0, done.stderr
    assert (specs / "models" / "fern.yaml").is_file()


def test_what_is_there_is_not_written_over(specs, config):
    made = specs / "models" / "fern.yaml"
    made.write_text((specs / "models" / "gpt2.yaml").read_text("utf-8").replace("GPT2", "X").replace("[gpt2]", "[x]"))
    before = made.read_text("utf-8")
    done = new(specs, config(FERN))
    assert done.exit_code == 1
    assert done.stderr == (
        f"""\
spec-exists at {made}
  expected  no such file yet
  got       one that is there
  fix       pass another name with --out
"""
    )
    assert made.read_text("utf-8") == before


def test_an_architecture_that_is_covered(specs):
    done = new(specs, "openai-community/gpt2")
    assert done.exit_code == 1
    assert done.stderr.startswith("spec-exists at ")
    assert "\n  got       gpt2 covers it\n" in done.stderr


@pytest.mark.parametrize(
    ("data", "code"),
    [({}, "config-no-architecture"), ([], "config-not-object"), ({"architectures": ["A"]}, "config-no-architecture")],
)
def test_configs_that_are_none(specs, config, data, code):
    assert new(specs, config(data)).stderr.startswith(f"{code} at ")


@pytest.mark.parametrize("word", ["a: b", 'x"]\nevil: [', "é", "on", "1", "A" * 3000])
def test_class_names_cannot_break_out(specs, config, word):
    path = config(FERN | {"architectures": [word], "model_type": word})
    done = new(specs, path, "--out", specs / "models" / "n.yaml")
    assert done.exit_code == 0, done.stderr
    made = open_catalog(specs).library.models["n"]
    assert (made.architectures, made.model_types) == ((word,), (word,))


def test_values_cannot_break_out(specs, config):
    done = new(specs, config(FERN | {"leaf_scale": "x\nevil: 1", "evil\nkey": 1, "deep": {"a": ["\n"]}}))
    assert done.exit_code == 0, done.stderr
    assert "\nevil" not in (specs / "models" / "fern.yaml").read_text("utf-8")
    open_catalog(specs).library.models["fern"]


@pytest.mark.parametrize("target", ["missing.json", "some/missing.json", "./none"])
def test_a_config_that_is_not_there(specs, target):
    done = new(specs, target)
    assert done.exit_code == 1
    assert done.stderr == (
        f"""\
no-checkpoint at {target}
  expected  ORG/NAME as on the hub, or the path of a config.json, or of a folder that holds one
  got       neither
  fix       check the path, or the spelling of ORG/NAME
"""
    )


def test_specs_without_models_have_no_nearest(specs, config):
    shutil.rmtree(specs / "models")
    done = new(specs, config(FERN))
    assert done.exit_code == 1
    assert done.stderr.startswith("missing-file at specs/models\n")


def test_an_empty_name_for_the_spec_is_refused(specs, config):
    done = new(specs, config(FERN), "--out", "")
    assert done.exit_code == 2
    assert "it is empty" in done.stderr
