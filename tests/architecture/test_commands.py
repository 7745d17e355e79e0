"""Every command that the documentation or CI names exists."""

import re

import pytest

TARGET = re.compile(r"^([a-z][a-z-]*):(?!=)", re.MULTILINE)
# In prose a command stands in backticks; in a code block, a workflow or a script it begins a line or a `run:`.
IN_PROSE = re.compile(r"`(?:[A-Z]+=\S+ )*make ([a-z][a-z-]*)[^`]*`")
IN_CODE = re.compile(r"^\s*(?:- )?(?:run: )?(?:\$ )?(?:sudo )?make ([a-z][a-z-]*)", re.MULTILINE)
DOCUMENTED = ("README.md", "CONTRIBUTING.md")
RUN = (".ci/run", ".github/workflows/test.yml", ".github/workflows/pages.yml")


def targets(makefile):
    return set(TARGET.findall(makefile))


def named(text, *, prose):
    """The make targets that a text tells its reader, or a machine, to run."""
    if not prose:
        return set(IN_CODE.findall(text))
    blocks = re.findall(r"```.*?```", text, re.DOTALL)
    return set(IN_PROSE.findall(text)) | {target for block in blocks for target in IN_CODE.findall(block)}


@pytest.fixture
def makefile(root):
    return (root / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*DOCUMENTED, *RUN])
def test_a_named_target_exists(root, makefile, name):
    if not (root / name).exists():
        pytest.skip(f"there is no {name}")
    commands = named((root / name).read_text(encoding="utf-8"), prose=name in DOCUMENTED)
    assert commands
    assert commands <= targets(makefile)


def test_contributing_names_every_target(root, makefile):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert named(text, prose=True) == targets(makefile)


def test_every_target_is_phony_and_explained(makefile):
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
    explained = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert phony == explained == targets(makefile)


@pytest.mark.parametrize(
    ("text", "prose"),
    [("Run `make nowhere`.", True), ("```sh\nmake nowhere\n```", True), ("      - run: make nowhere\n", False)],
)
def test_a_planted_target_is_seen(makefile, text, prose):
    assert named(text, prose=prose) - targets(makefile) == {"nowhere"}
