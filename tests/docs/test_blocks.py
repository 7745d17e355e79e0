"""What pages show happens: Python sessions print what they say, YAML is legal, files that pages write are read."""

import json
import re

import docs_blocks
import pytest

from rooflight.edge.yaml_text import read_yaml
from rooflight.values import SpecError

LANGUAGES = {"console", "json", "pycon", "python", "sh", "text", "yaml"}


def run(text, name):
    """Everything a page's sessions print otherwise than shown."""
    complaints = []
    with docs_blocks.workshop() as shop:
        for block in docs_blocks.blocks(text):
            if block.title:
                shop.write(block)
            elif block.language == "console":
                shop.recorded(block)
            elif block.language == "python":
                shop.execute(block, name)
            elif block.language == "pycon":
                complaints += shop.doctest(block, name)
    return complaints


def test_sessions_print_what_they_show(document):
    assert not run(document.read_text(encoding="utf-8"), str(document))


def test_a_wrong_session_is_seen():
    assert run("```pycon\n>>> 1 + 1\n3\n```\n", "page.md")
    assert run("```pycon\n>>> nothing\n```\n", "page.md")


def test_names_live_on_to_the_next_block():
    assert not run("```python\nx = 2\n```\n\n```pycon\n>>> y = x + 1\n```\n\n```pycon\n>>> y\n3\n```\n", "page.md")


def test_every_block_says_what_it_is(document):
    found = {block.language for block in docs_blocks.blocks(document.read_text(encoding="utf-8"))}
    assert found <= LANGUAGES


def test_data_blocks_are_legal(document):
    for block in docs_blocks.blocks(document.read_text(encoding="utf-8")):
        text = "\n".join((*block.lines, ""))
        if block.language == "yaml":
            read_yaml(text, document.name)
        elif block.language == "json":
            json.loads(text)


def examples(text):
    """The examples that tables of keys give in their last column, as YAML texts."""
    return re.findall(r"^\| `\w+` \| [^`].* \| `(\w+: [^`]+)` \|$", text, re.MULTILINE)


def test_examples_of_keys_are_legal(root):
    found = examples((root / "docs" / "spec-language.md").read_text(encoding="utf-8"))
    assert "name: H200 SXM" in found
    for text in found:
        read_yaml(text + "\n", "spec-language.md")


def test_a_faulty_example_would_be_refused():
    (found,) = examples("| `date` | of a fact: when | `date: 2025-01-01` |\n")
    with pytest.raises(SpecError, match="yaml-trap"):
        read_yaml(found, "page.md")


def test_a_faulty_yaml_block_would_be_refused():
    with pytest.raises(SpecError, match="yaml-trap"):
        read_yaml("bias: on\n", "page.md")


def test_a_recorded_page_runs_its_programs():
    program = "from pathlib import Path\nPath('spec.json').write_text('{}')"
    page = f"```python\n{program}\n```\n\n```console\n$ rooflight show spec.json\nold\n```\n"
    assert "config-no-architecture at spec.json" in docs_blocks.recorded(page)


def test_a_page_does_not_depend_on_fetched_sources():
    with docs_blocks.workshop() as shop:
        shown = shop.run("rooflight show openai-community/gpt2")
    assert any("the source text was not at hand" in line for line in shown)


def test_only_known_programs_run():
    with docs_blocks.workshop() as shop, pytest.raises(ValueError, match="not rm"):
        shop.run("rm -rf x")


def test_exit_codes_and_pipes():
    with docs_blocks.workshop() as shop:
        shop.run("rooflight show nowhere/nothing")
        assert shop.run("echo $?") == ["1"]
        shop.run("rooflight show")
        assert shop.run("echo $?") == ["2"]
        listed = shop.run("rooflight models")
        assert shop.run("echo $?") == ["0"]
        assert shop.run("rooflight models | head -n 2") == listed[:2]
        assert shop.run("rooflight models | tail -n 2") == listed[-2:]
        assert shop.run("rooflight models | grep gpt2") == [line for line in listed if "gpt2" in line]
