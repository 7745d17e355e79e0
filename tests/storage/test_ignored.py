"""Lists of modules that a quantizer left alone: literals, globs and regexes, as those who write them mean them."""

import re
import time
from itertools import product
from random import Random

import pytest
from storage_models import llama, stored

from rooflight.spec.match import MAX_PATTERN, MAX_PATTERNS, matcher, module_set
from rooflight.values import SpecError

FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic"}
CT = {
    "quant_method": "compressed-tensors",
    "format": "float-quantized",
    "config_groups": {"group_0": {"weights": {"strategy": "channel"}}},
}
LINEARS = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}


def quantized(config):
    """(layer, linear) of what is stored in FP8."""
    found = set()
    for name, (dtype, *_) in stored(llama(quantization_config=config)).items():
        if dtype == "F8_E4M3":
            layers, linear = name.split(".")[2], name.split(".")[4]
            found |= {(layer, linear) for layer in ([0, 1] if layers == "{0-1}" else [int(layers)])}
    return found


ALL = {(layer, linear) for layer in (0, 1) for linear in LINEARS}


@pytest.mark.parametrize(
    ("listed", "left_alone"),
    [
        pytest.param(["model.layers.1.mlp.down_proj"], {(1, "down_proj")}, id="literal"),
        pytest.param(
            ["model.layers.1.self_attn"], {(1, p) for p in ("q_proj", "k_proj", "v_proj", "o_proj")}, id="children"
        ),
        pytest.param(["model.layers.1"], {(1, p) for p in LINEARS}, id="a-layer"),
        pytest.param(["model"], ALL, id="everything"),
        pytest.param(["o_proj"], {(0, "o_proj"), (1, "o_proj")}, id="end-of-the-path"),
        pytest.param(["mlp"], {(i, p) for i in (0, 1) for p in ("gate_proj", "up_proj", "down_proj")}, id="middle"),
        pytest.param(["model.layers.*.self_attn.k_proj"], {(0, "k_proj"), (1, "k_proj")}, id="glob"),
        pytest.param(
            ["*down_proj", "*.0.mlp.*"],
            {(1, "down_proj")} | {(0, p) for p in ("gate_proj", "up_proj", "down_proj")},
            id="globs",
        ),
        pytest.param(
            [r"re:.*\.[01]\.self_attn\.(q|k)_proj$"], {(i, p) for i in (0, 1) for p in ("q_proj", "k_proj")}, id="regex"
        ),
        pytest.param(["re:model.layers.1.*"], {(1, p) for p in LINEARS}, id="regex-from-the-start"),
        pytest.param(["re:self_attn"], set(), id="a-regex-begins-where-the-name-does"),
        pytest.param(["proj", "model.layers.11", "odel.layers.1", "lm_head", "embed_tokens"], set(), id="misses"),
        pytest.param([], set(), id="empty"),
    ],
)
def test_left_alone(listed, left_alone):
    assert quantized(FP8 | {"modules_to_not_convert": listed}) == ALL - left_alone


def test_several_keys_add_up():
    config = FP8 | {"modules_to_not_convert": ["q_proj"], "ignored_layers": ["k_proj"]}
    assert ALL - quantized(config) == {(i, p) for i in (0, 1) for p in ("q_proj", "k_proj")}


def test_null_is_empty():
    assert quantized(FP8 | {"modules_to_not_convert": None}) == ALL


@pytest.mark.parametrize(
    ("listed", "left_alone"),
    [
        pytest.param(["model.layers.1.mlp"], set(), id="a-parent-alone"),
        pytest.param(["model.layers.1.mlp.up_proj"], {(1, "up_proj")}, id="literal"),
        pytest.param(["self_attn.o_proj"], {(0, "o_proj"), (1, "o_proj")}, id="end"),
        pytest.param(
            ["re:.*mlp.*"], {(i, p) for i in (0, 1) for p in ("gate_proj", "up_proj", "down_proj")}, id="regex"
        ),
    ],
)
def test_compressed_tensors_lists_parents_whose_children_it_quantized(listed, left_alone):
    assert quantized(CT | {"ignore": listed}) == ALL - left_alone


def test_what_is_left_alone_is_stored_plain():
    tensors = stored(llama(quantization_config=FP8 | {"modules_to_not_convert": ["model.layers.1.mlp.down_proj"]}))
    assert {name: facts for name, facts in tensors.items() if "down_proj" in name} == {
        "model.layers.0.mlp.down_proj.weight": ("F8_E4M3", 512, 1408),
        "model.layers.0.mlp.down_proj.weight_scale": ("F32",),
        "model.layers.1.mlp.down_proj.weight": ("BF16", 512, 1408),
    }


def test_thousands_of_literals_are_quick():
    """Lists of every expert of a large model run to tens of thousands of names."""
    names = [
        f"model.layers.{i}.mlp.experts.{e}.{p}_proj"
        for i in range(60)
        for e in range(100)
        for p in ("gate", "up", "down")
    ]
    start = time.process_time()
    listed = module_set(names, "here")
    for name in names:
        assert name in listed
        assert name.replace("mlp", "mlq") not in listed
    assert time.process_time() - start < 2


HOSTILE = (
    "(a+)+$",
    "(a*)*b",
    "(.*a){20}",
    "(x+x+)+y",
    "(a|a)*$",
    "((a))*",
    r"(?=a)b",
    r"(?P<n>a)(?P=n)",
    r"\1",
    "a{1000}",
    "(a",
)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_regex_is_refused(pattern):
    with pytest.raises(SpecError) as caught:
        quantized(FP8 | {"modules_to_not_convert": [f"re:{pattern}"]})
    assert str(caught.value) == (
        "bad-pattern at config.json quantization_config\n"
        "  expected  a regex of literals, classes and alternatives without nested repetition\n"
        f"  got       {pattern!r}\n"
        "  fix       write the modules as literals or globs"
    )


PIECES = ("a", "b", ".", r"\.", "[ab]", "[^a]", r"\w", r"\d", "(a|b)", "(?:ab|)", "(a*|b+)")


def test_what_is_matched_is_what_python_matches():
    """Every pattern of up to three pieces, against every name of up to four letters."""
    names = ["".join(letters) for n in range(5) for letters in product("ab.1", repeat=n)]
    pieces = [p + r for p in PIECES for r in ("", "*", "+", "?") if not (r and p.startswith("("))]
    random = Random(1)
    for _ in range(400):
        pattern = "".join(random.choices(pieces, k=random.randint(0, 3))) + random.choice(("", "$"))
        ours, theirs = matcher(f"re:{pattern}", "here"), re.compile(pattern, re.ASCII)
        assert [n for n in names if ours(n)] == [n for n in names if theirs.match(n)], pattern


@pytest.mark.parametrize(
    "pattern", ["re:" + ".*" * 120 + "$", "re:" + "[a-z]*" * 40 + "0", "*" * 200, "*a" * 120 + "b"]
)
def test_the_worst_that_is_allowed_is_quick(pattern):
    test = matcher(pattern, "here")
    start = time.process_time()
    for name in ("a" * 60, "model.layers.0.self_attn.q_proj", "a." * 30):
        test(name)
    assert time.process_time() - start < 1


def test_a_class_that_is_none_is_refused_too():
    with pytest.raises(SpecError) as caught:
        matcher("re:[z-a]", "here")
    assert str(caught.value) == (
        "bad-pattern at here\n"
        "  expected  a regular expression\n"
        "  got       '[z-a]': bad character range z-a at position 1\n"
        "  fix       correct it"
    )


def test_long_patterns_are_refused():
    assert matcher("*" + "a" * (MAX_PATTERN - 1), "here")
    with pytest.raises(SpecError) as caught:
        matcher("*" + "a" * MAX_PATTERN, "here")
    assert str(caught.value) == (
        "bad-pattern at here\n  expected  a pattern of at most 256 characters\n  got       257\n  fix       shorten it"
    )


@pytest.mark.parametrize(
    "value", ["lm_head", {"lm_head": 1}, ["x"] * (MAX_PATTERNS + 1)], ids=["text", "object", "too-many"]
)
def test_a_list_that_is_none(value):
    with pytest.raises(SpecError) as caught:
        quantized(FP8 | {"modules_to_not_convert": value})
    # A longer list is refused with any config, before anyone looks for modules in it.
    assert caught.value.code in ("config-wrong-type", "config-too-large")


@pytest.mark.parametrize("name", ["model.layers.0.self_attn.q_proj", "q_proj", "model"])
def test_a_literal_names_itself_and_what_stands_in_it(name):
    assert matcher(name, "here")(name)
    assert matcher(name, "here")(f"{name}.child")
    assert not matcher(name, "here")(f"{name}s")
