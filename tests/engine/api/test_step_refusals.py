"""Steps, figures and formats that no one can ask for: the whole message."""

import pytest

from engine import mini
from rooflight import api
from rooflight.values import SpecError

NUMBER = "a whole number from {least} to 1,000,000,000"
FIGURES = "one of " + ", ".join(api.figure_names())
NODE_FIGURES = "one of " + ", ".join(api.figure_names(node=True))
KNOWN_WORDS = "remove it, or use one of the expected words"


def message(code, where, expected, got, fix):
    return f"{code} at {where}\n  expected  {expected}\n  got       {got}\n  fix       {fix}"


@pytest.fixture(scope="module")
def tiny():
    return mini.model()


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        (dict(batch=0), ("batch", NUMBER.format(least=1), "0", "correct batch")),
        (dict(batch=-3), ("batch", NUMBER.format(least=1), "-3", "correct batch")),
        (dict(batch=True), ("batch", NUMBER.format(least=1), "True", "correct batch")),
        (dict(batch=1.5), ("batch", NUMBER.format(least=1), "1.5", "correct batch")),
        (dict(batch="8"), ("batch", NUMBER.format(least=1), "'8'", "correct batch")),
        (dict(batch=10**9 + 1), ("batch", NUMBER.format(least=1), "1000000001", "correct batch")),
        (dict(context=0), ("context", NUMBER.format(least=1), "0", "correct context")),
        (dict(context=float("nan")), ("context", NUMBER.format(least=1), "nan", "correct context")),
        (dict(prefix=-1), ("prefix", NUMBER.format(least=0), "-1", "correct prefix")),
        (dict(context=8, prefix=8), ("prefix", "less than the context of 8", "8", "leave new positions")),
        (dict(new_tokens=2), ("new_tokens", "1 in prefill", "2", "set context and prefix instead")),
        (
            dict(phase="decode", prefix=1),
            ("prefix", "0 in decode", "1", "decode's context is all cached but the new tokens"),
        ),
        (
            dict(phase="decode", context=4, new_tokens=5),
            ("new_tokens", "at most the context of 4", "5", "raise context"),
        ),
        (dict(head="first"), ("head", "last or all", "'first'", "correct head")),
        (dict(attention="half"), ("attention", "exact or square", "'half'", "correct attention")),
    ],
    ids=lambda value: " ".join(f"{key}={got}" for key, got in value.items()) if isinstance(value, dict) else "",
)
def test_bad_step(tiny, knobs, expected):
    with pytest.raises(SpecError) as caught:
        api.cost(tiny, **{"phase": "prefill", **knobs})
    assert str(caught.value) == message("bad-step", *expected)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (
            dict(key="params.totl"),
            ("unknown-figure", "params.totl", FIGURES, "params.totl", "you may have intended params.total"),
        ),
        (dict(key=""), ("unknown-figure", "", FIGURES, "", KNOWN_WORDS)),
        (
            dict(key="cache.bytes@1e5"),
            (
                "unknown-figure",
                "cache.bytes@1e5",
                "a whole number of tokens after @",
                "1e5",
                "write e.g. cache.bytes@32768",
            ),
        ),
        (
            dict(key="params.by_role.nrom"),
            (
                "unknown-figure",
                "params.by_role.nrom",
                "a role of the model: embedding, norm, attention, residual, head",
                "nrom",
                "you may have intended norm",
            ),
        ),
        (
            dict(key="params/head.porj"),
            (
                "unknown-node",
                "head.porj",
                "a node id of `rooflight cost`",
                "head.porj",
                "you may have intended head.proj",
            ),
        ),
        (
            dict(key="flops/head.proj"),
            ("unknown-figure", "flops/head.proj", NODE_FIGURES, "flops", "you may have intended other_flops"),
        ),
        (
            dict(key="params.total", form="pdf"),
            ("unknown-format", "format", "text or latex or mathml or json", "'pdf'", KNOWN_WORDS),
        ),
        (
            dict(key="params.total", phase="training"),
            ("unknown-phase", "phase", "prefill or decode", "'training'", "name one of the two"),
        ),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_unknown_figure(tiny, ask, expected):
    with pytest.raises(SpecError) as caught:
        api.formula(tiny, **ask)
    assert str(caught.value) == message(*expected)
