"""The engine knows ops and components; families of models live in specs/. Comments and docstrings may give examples."""

import ast
import re

import pytest

FAMILIES = re.compile(
    r"""
    baichuan | chatglm | dbrx | deepseek | ernie[-_ ]?\d | exaone | gemma | gpt[-_ ]?(?:oss|neo|j|[1-9]) | granite
    | grok | hunyuan | internlm | jamba | kimi | (?<![a-z])glm | llama | longcat | (?<![a-z])mimo(?![a-z]) | minimax
    | mi[sx]tral | moonlight | nemotron | olmo | qwen | (?<![a-z])phi[-_ ]?\d | seed[-_ ]?oss | starcoder | step[-_ ]?3
    """,
    re.VERBOSE | re.IGNORECASE,
)


def docstrings(tree):
    """The ids of the string nodes that are documentation: strings standing alone as a statement."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def words(tree):
    """(line, word) for every name and every string that can steer what the code does."""
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(word)) if id(node) not in documentation:
                yield node.lineno, word
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield node.lineno, word
            case ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word) | ast.ClassDef(name=word):
                yield node.lineno, word
            case ast.alias(name=word, asname=alias):
                yield node.lineno, f"{word} {alias}"
            case ast.keyword(arg=str(word)):
                yield node.lineno, word


def names_in(source, where):
    """One line per family name in the source, and one if the file itself is called by one."""
    found = [f"{where}: the file's name says {match[0]!r}" for match in FAMILIES.finditer(where)]
    for line, word in words(ast.parse(source)):
        found += [f"{where}:{line}: {match[0]!r} in {word!r}" for match in FAMILIES.finditer(word)]
    return found


def test_no_model_family_is_named_in_engine_code(engine):
    broken = [
        line
        for path in engine.rglob("*.py")
        for line in names_in(path.read_text(encoding="utf-8"), path.relative_to(engine).as_posix())
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ('if "deepseek" in model_id: kv = 576', "walk/order.py"),
        ("ROUTER = {'Qwen3MoeForCausalLM': 1}", "ops/table.py"),
        ("def llama_rope(): ...", "ops/rope.py"),
        ("class GptOssAttention: ...", "ops/attention.py"),
        ("from rooflight.spec import kimi_linear", "walk/order.py"),
        ("kind = f'glm-{version}'", "walk/order.py"),
        ("kind = 'phi3'", "walk/order.py"),
        ("pass", "ops/mixtral.py"),
    ],
)
def test_a_planted_name_is_seen(source, where):
    assert names_in(source, where)


def test_examples_in_comments_and_docstrings_are_fine():
    source = '"""As in DeepSeek-V3."""\ndef rope():\n    """Qwen splits it."""\n    return 1  # Llama does not\n'
    assert not names_in(source, "ops/rope.py")


@pytest.mark.parametrize("word", ["paradigm", "minimal", "amimous", "phase", "step_time", "gptq", "mamba", "lightning"])
def test_ordinary_words_are_not_names(word):
    assert not FAMILIES.search(word)
