"""What exists is documented, and what is documented exists."""

import re
import tomllib

import click
import docs_code
import docs_keys
import docs_markdown
import error_examples
import markdown
import pytest

import rooflight
from rooflight.api import figure_names
from rooflight.edge import cli
from rooflight.ops import OPS
from rooflight.spec import GROWTH
from rooflight.spec.read_component import INVARIANTS
from rooflight.values.error_codes import CODES

# Which sections of spec-language.md document the keys that a function of the readers asks for.
SECTIONS = {
    "read_component": ("Component files",),
    "extended": ("Component files",),
    "_role": ("Component files",),
    "_read_paths": ("Component files",),
    "_read_invariants": ("Component files",),
    "_read_node": ("Nodes",),
    "_read_op_node": ("Nodes",),
    "_read_copies": ("Nodes",),
    "read_lengths": ("Nodes", "Uses", "Cache", "Model files", "Stages"),
    "read_switches": ("Nodes", "Uses", "Stages"),
    "read_use": ("Uses",),
    "_read_cases": ("Uses",),
    "_read_cache": ("Component files", "Cache"),
    "_read_op": ("Ops of its own",),
    "read_model": ("Model files", "Checkpoint names"),
    "_read_config_rules": ("Reading the config",),
    "_read_stage": ("Stages",),
    "_carries": ("Stages",),
    "_read_schedule": ("Schedules",),
    "_read_tie": ("Ties",),
    "_read_buffer": ("Checkpoint names",),
    "read_dims": ("Tables",),
    "read_config_keys": ("Tables",),
    "_read_anchors": ("Anchors", "Model files"),
    "read_scheme": ("Storage schemes",),
    "_read_number": ("Storage schemes",),
    "_read_store": ("Storage schemes",),
    "read_storage": ("Storage schemes",),
    "_read_overrides": ("Storage schemes",),
    "read_precision": ("Precision profiles",),
    "read_gpu": ("GPU files",),
    "read_prices": ("GPU files",),
    "_topology": ("GPU files",),
    "_slices": ("GPU files",),
    "_fact": ("GPU files",),
    "_stated": ("GPU files",),
}
FORBIDDEN = re.compile(
    r"\b(?:agents?|sessions?|claude|chatgpt|copilot|co-founders?|prompt engineering|issue \d+|state-of-the-art|blazing"
    r"|seamless(?:ly)?|cutting-edge|revolutionary|pypi\.org|npmjs)\b",
    re.IGNORECASE,
)


def read(root, name):
    return (root / "docs" / name).read_text(encoding="utf-8")


@pytest.fixture
def tables(root):
    """section of spec-language.md -> the keys its tables list."""
    parts = re.split(r"^##+ (.+)$", read(root, "spec-language.md"), flags=re.MULTILINE)
    return {
        title: set(re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE))
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def undocumented(tables, asked):
    """One line per key that a reader asks for and no table of its sections lists."""
    return [
        f"{function} reads {key}: list it under {' or '.join(SECTIONS.get(function, ('a section of its own',)))}"
        for function, keys in asked.items()
        for key in sorted(keys)
        if not any(key in tables[section] for section in SECTIONS.get(function, ()))
    ]


def test_every_key_of_the_spec_language_is_documented(tables):
    assert not undocumented(tables, docs_keys.keys_by_function())


def test_no_documented_key_is_imagined(tables):
    read_by_someone = set().union(*docs_keys.keys_by_function().values())
    documented = set().union(*(tables[section] for sections in SECTIONS.values() for section in sections))
    assert documented <= read_by_someone


def test_an_undocumented_key_is_seen(tables):
    assert undocumented(tables, {"_read_tie": {"node", "colour"}}) == ["_read_tie reads colour: list it under Ties"]
    assert undocumented(tables, {"_read_new": {"node"}})


@pytest.mark.parametrize("word", [*GROWTH, *INVARIANTS])
def test_words_of_the_spec_language_are_documented(root, word):
    assert f"`{word}`" in read(root, "spec-language.md")


@pytest.mark.parametrize("law", list(GROWTH))
def test_growth_laws_are_counted(root, law):
    assert f"| `{law}` |" in read(root, "counting.md")


def test_every_mask_is_counted(root):
    masks = {word for op in OPS.values() for word in op.choices.get("mask", ())}
    assert all(f"| `{mask}`" in read(root, "counting.md") for mask in masks)


def every_option():
    for name, command in {"": cli.main, **cli.main.commands}.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield name, max(parameter.opts, key=len)


@pytest.mark.parametrize(("command", "option"), list(every_option()))
def test_every_option_is_documented(root, command, option):
    parts = re.split(r"^## (.+)$", read(root, "cli.md"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert option in sections[f"rooflight {command}" if command else "Options of every command"]


def test_every_knob_of_a_step_is_explained(root):
    knobs = {option for command, option in every_option() if command == "cost"} - {"--phase", "--json"}
    assert not [option for option in knobs if f"`{option}" not in read(root, "counting.md")]


def test_every_option_of_a_deployment_is_explained(root):
    options = {option for command, option in every_option() if command in ("plans", "estimate", "sweep")}
    asked = options - {"--json", "--precision", "--drafts"}
    said = read(root, "parallelism.md") + read(root, "time.md")
    assert not [option for option in asked if option not in said]


def test_every_target_of_make_is_listed(root):
    targets = re.findall(r"^([a-z]+):.*## ", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    listed = re.findall(r"^\| `make (\w+)` \|", (root / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(targets)


@pytest.mark.parametrize("name", rooflight.__all__)
def test_every_public_name_is_documented(root, name):
    assert re.search(rf"`{name}[(`]|rooflight\.{name}\b", read(root, "python-api.md"))


def test_every_figure_has_its_place_in_the_glossary(root):
    text = read(root, "glossary.md")
    ids = set(re.findall(r'id="([^"]+)"', markdown.markdown(text, extensions=("toc", "tables"))))
    whole = [name for name in figure_names() if "<" not in name]
    nodes = [name for name in figure_names(node=True) if name in ("copies", "elements")]
    assert not [name for name in (*whole, *nodes) if docs_markdown.anchor(name) not in ids]
    assert "params.by_role.<role>" in text


def test_anchors_are_those_of_the_site():
    for heading in ("params.total", "How it works", "`cache.bytes` and more", "d_ffn", "a - b"):
        html = markdown.markdown(f"# {heading}", extensions=("toc",))
        assert f'id="{docs_markdown.anchor(heading)}"' in html


def test_every_error_code_is_listed_and_used():
    assert set(docs_code.used_codes()) == set(CODES)


def test_every_error_code_has_an_example():
    assert set(docs_code.used_codes()) <= {*error_examples.EXAMPLES, *error_examples.WITHOUT} <= set(CODES)
    assert not error_examples.EXAMPLES.keys() & error_examples.WITHOUT.keys()


def test_a_planted_code_is_found(tmp_path):
    (tmp_path / "a.py").write_text('raise SpecError("planted", w, e, g, f)\n', encoding="utf-8")
    (tmp_path / "b.py").write_text('Check(want, have, "carried", w, s, f)\n', encoding="utf-8")
    (tmp_path / "c.py").write_text("SpecError(check.code, w, e, g, f)\n", encoding="utf-8")
    assert docs_code.used_codes(tmp_path) == {"planted": ["a.py"], "carried": ["b.py"]}


def test_a_computed_code_is_refused(tmp_path):
    (tmp_path / "a.py").write_text('raise SpecError("un" + "known", w, e, g, f)\n', encoding="utf-8")
    with pytest.raises(ValueError, match="an error code is written out"):
        docs_code.used_codes(tmp_path)


def test_an_example_that_is_accepted_is_seen(monkeypatch):
    monkeypatch.setitem(error_examples.EXAMPLES, "no-spec", error_examples.model)
    with pytest.raises(AssertionError, match="not refused"):
        error_examples.refusal("no-spec")


def test_the_rooms_are_those_of_the_contract(root):
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = next(c["layers"] for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == "rooms")
    listed = re.findall(r"^\| `(\w+)` \|", read(root, "architecture.md").partition("## Rooms")[2], re.MULTILINE)
    assert listed == rooms[::-1]
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert " ".join(f"`{room}`" for room in rooms[::-1]) in readme
    drawn = (root / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("engine/rooflight/  ")[2]
    assert re.findall(r"^  (\w+)/", drawn, re.MULTILINE)[: len(rooms)] == rooms[::-1]


def test_documents_speak_of_the_project_only(document):
    assert not FORBIDDEN.findall(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("word", ["An agent wrote this", "in this session", "see issue 3", "seamlessly"])
def test_a_forbidden_word_is_seen(word):
    assert FORBIDDEN.search(word)


def test_no_address_outside_is_named(document):
    """But where the facts of a GPU were read: a source that says no address cannot be looked up."""
    assert "://" not in document.read_text(encoding="utf-8") or document.name == "gpus.md"
