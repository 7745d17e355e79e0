"""A small specs folder (tests/fixtures/specs-mini) to change one thing in, and the small config it covers."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from rooflight import api
from rooflight.edge.library import open_catalog
from rooflight.graph import PHASES
from rooflight.spec import bind
from rooflight.values import SpecError

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDER = FIXTURES / "specs-mini"
TEXTS = {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.yaml")}
CONFIG = json.loads((FIXTURES / "tiny-config.json").read_text())


def library(texts=TEXTS):
    """The library of a specs folder given as texts by path."""
    # Through files, as anyone's specs are read: which folders there are is the engine's business.
    with TemporaryDirectory() as folder:
        specs = Path(folder, "specs")
        for path, text in texts.items():
            (specs / path).parent.mkdir(parents=True, exist_ok=True)
            (specs / path).write_text(text)
        return open_catalog(specs).library


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
