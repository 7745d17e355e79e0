"""A small specs folder (tests/fixtures/specs-mini) to change one thing in, and the small config it covers."""

import json
from pathlib import Path

from rooflight import api
from rooflight.edge.yaml_text import read_yaml
from rooflight.graph import PHASES
from rooflight.spec import Sources, bind, read_library
from rooflight.values import SpecError

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDER = FIXTURES / "specs-mini"
TEXTS = {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.yaml")}
CONFIG = json.loads((FIXTURES / "tiny-config.json").read_text())


def library(texts=TEXTS):
    """The library of a specs folder given as texts by path."""

    def read(path):
        return read_yaml(texts[path], f"specs/{path}")

    def read_all(folder):
        return {Path(path).stem: read(path) for path in sorted(texts) if path.startswith(folder)}

    return read_library(
        Sources(
            dims=read("dims.yaml"),
            roles=read("roles.yaml"),
            config_keys=read("config_keys.yaml"),
            components=read_all("components/"),
            drafts=read_all("drafts/"),
            models=read_all("models/"),
        )
    )


def model(texts=TEXTS, config=CONFIG):
    """The small model, bound."""
    return bind(library(texts), config, "config.json", "tiny")


def read_whole(texts=TEXTS, config=CONFIG):
    """Do with the small model all that a page or a command does. SpecError where it does not hold together."""
    bound = model(texts, config)
    api.check(bound)
    for phase in PHASES:
        api.cost(bound, phase)
    api.show(bound)
    api.inspect(bound)
    api.buffer_rows(bound)


def refusal(texts=TEXTS, config=CONFIG):
    """The message that the small model, changed, is refused with; None where nothing refuses it."""
    try:
        read_whole(texts, config)
    except SpecError as error:
        return str(error)
    return None
