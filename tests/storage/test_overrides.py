"""What stands beside a config: another scheme, and other formats for roles or modules. Every one must hit something."""

import json
from shutil import copytree, ignore_patterns

import pytest
from storage_models import experts, llama, model, stored

from rooflight import api
from rooflight.checks import Subject, examine
from rooflight.edge.library import open_catalog
from rooflight.spec import locate
from rooflight.spec.storage import read_storage
from rooflight.values import SpecError

FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
V4 = llama(quantization_config=FP8)


def findings(config, storage):
    bound = model(config, storage)
    subject = Subject(bound, api.numbers(bound, api.step_size(bound)))
    return [f for f in examine(subject, frozenset({"source"})) if f.blocking]


def dtypes(tensors):
    return {name.removeprefix("model.layers.{0-1}."): facts[0] for name, facts in tensors.items() if "layers" in name}


def test_a_named_scheme_replaces_the_recognised_one():
    tensors = stored(V4, {"scheme": "fp8_block_e8m0"})
    assert tensors["model.layers.{0-1}.self_attn.k_proj.scale"] == ("F8_E8M0", 2, 4)
    assert not any(name.endswith("weight_scale_inv") for name in tensors)


def test_a_named_scheme_needs_no_config():
    assert stored(llama(), {"scheme": "ct_mxfp4"})["model.layers.{0-1}.self_attn.k_proj.weight_packed"] == (
        "U8",
        256,
        256,
    )


def test_a_role():
    found = dtypes(stored(V4, {"overrides": [{"role": "attention", "scheme": "none"}]}))
    assert {found[f"self_attn.{p}_proj.weight"] for p in "qkvo"} == {"BF16"}
    assert {found[f"mlp.{p}_proj.weight"] for p in ("gate", "up", "down")} == {"F8_E4M3"}
    assert findings(V4, {"overrides": [{"role": "attention", "scheme": "none"}]}) == []


@pytest.mark.parametrize("pattern", ["model.layers.1.mlp", "*.1.mlp.*", r"re:model\.layers\.1\.mlp"])
def test_modules(pattern):
    given = {"overrides": [{"modules": pattern, "scheme": "ct_mxfp4"}]}
    tensors = stored(V4, given)
    assert tensors["model.layers.1.mlp.up_proj.weight_packed"] == ("U8", 1408, 256)
    assert tensors["model.layers.0.mlp.up_proj.weight"] == ("F8_E4M3", 1408, 512)
    assert findings(V4, given) == []


def test_the_first_that_fits_decides():
    given = {"overrides": [{"modules": "model.layers.0", "scheme": "none"}, {"role": "ffn", "scheme": "ct_mxfp4"}]}
    tensors = stored(V4, given)
    assert tensors["model.layers.0.mlp.up_proj.weight"] == ("BF16", 1408, 512)
    assert tensors["model.layers.1.mlp.up_proj.weight_packed"] == ("U8", 1408, 256)
    assert tensors["model.layers.1.self_attn.k_proj.weight"] == ("F8_E4M3", 256, 512)


def test_an_override_goes_before_the_ignore_list():
    config = llama(quantization_config=FP8 | {"modules_to_not_convert": ["model.layers.0"]})
    tensors = stored(config, {"overrides": [{"role": "ffn", "scheme": "fp8_block"}]})
    assert tensors["model.layers.{0-1}.mlp.up_proj.weight"] == ("F8_E4M3", 1408, 512)
    assert tensors["model.layers.0.self_attn.k_proj.weight"] == ("BF16", 256, 512)


def test_experts_in_one_format_and_the_rest_in_another():
    """As DeepSeek-V4 stores them: FP4 experts, two values to a signed byte, the rest in FP8 blocks."""
    config = experts(quantization_config=FP8, layer_types=["sliding_attention"])
    given = {"scheme": "fp8_block_e8m0", "overrides": [{"role": "expert", "scheme": "fp4_i8_e8m0"}]}
    tensors = stored(config, given)
    assert tensors["model.layers.0.mlp.experts.gate_up_proj.weight"] == ("I8", 4, 192, 32)
    assert tensors["model.layers.0.mlp.experts.gate_up_proj.scale"] == ("F8_E8M0", 4, 192, 2)
    assert tensors["model.layers.0.self_attn.q_proj.weight"] == ("F8_E4M3", 64, 64)
    assert findings(config, given) == []


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ({"role": "expert", "scheme": "none"}, "expert"),
        ({"role": "attn", "scheme": "none"}, "attn"),
        ({"role": "norm", "scheme": "none"}, "norm"),
        ({"modules": "model.layers.7", "scheme": "none"}, "model.layers.7"),
        ({"modules": "model.layers.*.input_layernorm", "scheme": "ct_mxfp4"}, "model.layers.*.input_layernorm"),
        ({"modules": r"re:layers\.0", "scheme": "none"}, r"re:layers\.0"),
    ],
    ids=["role", "no-role", "no-matrix", "modules", "modules-without-matrices", "regex"],
)
def test_an_override_that_hits_nothing(override, what):
    assert findings(V4, {"overrides": [{"role": "ffn", "scheme": "none"}, override]}) == [
        (
            "override-unused",
            "packing",
            True,
            "storage.yaml:1 overrides[1]",
            "weights that the override decides",
            f"{what} fits none",
            "correct the role or pattern, or remove the override",
        )
    ]


def test_an_override_that_another_leaves_nothing():
    found = findings(
        V4, {"overrides": [{"role": "ffn", "scheme": "none"}, {"modules": "*.mlp.*", "scheme": "ct_mxfp4"}]}
    )
    assert [(f.code, f.got) for f in found] == [("override-unused", "*.mlp.* fits none")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"scheme": "fp8_blok"},
            (
                "unknown-scheme at storage.yaml:1 scheme\n  expected  a scheme of specs/quant\n  got       fp8_blok\n"
                "  fix       you may have intended fp8_block"
            ),
        ),
        (
            {"overrides": [{"role": "ffn", "scheme": "mxfp4"}]},
            (
                "unknown-scheme at storage.yaml:1 overrides[0].scheme\n  expected  none, or a scheme of specs/quant\n"
                "  got       mxfp4\n  fix       you may have intended ct_mxfp4"
            ),
        ),
        (
            {"overrides": [{"scheme": "none"}]},
            (
                "node-kind at storage.yaml:1 overrides[0]\n  expected  exactly one of role, modules\n"
                "  got       both or none\n  fix       keep one"
            ),
        ),
        (
            {"overrides": [{"role": "ffn", "modules": "a", "scheme": "none"}]},
            (
                "node-kind at storage.yaml:1 overrides[0]\n  expected  exactly one of role, modules\n"
                "  got       both or none\n  fix       keep one"
            ),
        ),
        (
            {"overrides": [{"modules": "re:(a+)+$", "scheme": "none"}]},
            (
                "bad-pattern at storage.yaml:1 overrides[0].modules\n"
                "  expected  a regex of literals, classes and alternatives without nested repetition\n"
                "  got       '(a+)+$'\n  fix       write the modules as literals or globs"
            ),
        ),
        ({"overrides": [{"role": "ffn"}]}, "missing-key at storage.yaml:1 overrides[0]"),
        ({"skeme": "awq"}, "unknown-key at storage.yaml:1"),
        ({"overrides": [{"role": "ffn", "scheme": "none", "why": "?"}]}, "unknown-key at storage.yaml:1 overrides[0]"),
        ([], "wrong-type at config.json"),
        ("awq", "wrong-type at config.json"),
    ],
    ids=["scheme", "override-scheme", "neither", "both", "regex", "no-scheme", "key", "override-key", "list", "text"],
)
def test_a_faulty_file_is_refused(given, message):
    with pytest.raises(SpecError) as caught:
        model(V4, given)
    assert str(caught.value).startswith(message)


def test_read_alone(schemes):
    """An override with a scheme of its own reads the config's numbers, and what they lack comes by default."""
    config = model(llama(quantization_config=FP8 | {"weight_block_size": [64, 64]})).config
    given = locate({"overrides": [{"role": "ffn", "scheme": "fp8_block_e8m0"}]}, "s.yaml:3")
    storage = read_storage(config, "BF16", schemes, given)
    assert storage.format.numbers == storage.overrides[0].format.numbers == {"block_out": 64, "block_in": 64}
    assert storage.format.name == "fp8_block"
    assert storage.roles == ("attention", "ffn", "expert")
    assert "lm_head" not in storage.ignored


def test_a_file_beside_a_snapshot_is_read(tmp_path):
    """The way it stands in specs/truth: the catalog finds it, and a fault in it is told with its line."""
    specs = tmp_path / "specs"
    copytree(open_catalog().folder, specs, ignore=ignore_patterns("truth"))
    folder = specs / "truth" / "garden--fern"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(V4), encoding="utf-8")
    (folder / "storage.yaml").write_text("overrides:\n  - { role: ffn, scheme: ct_mxfp4 }\n", encoding="utf-8")
    storage = open_catalog(specs).model("garden/fern").storage
    assert [(o.what, o.format.name, o.where) for o in storage.overrides] == [
        ("ffn", "ct_mxfp4", "specs/truth/garden--fern/storage.yaml:2 overrides[0]")
    ]
    assert storage.format.name == "fp8_block"
    (folder / "storage.yaml").write_text("overrides:\n  - { role: ffn, skeme: awq }\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"missing-key at specs/truth/garden--fern/storage.yaml:2 overrides\[0\]"):
        open_catalog(specs).model("garden/fern")
