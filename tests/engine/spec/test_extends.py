"""A component that extends another is the component written out."""

import json

from engine import mini
from rooflight import api
from rooflight.edge.yaml_text import read_yaml
from rooflight.spec.library import extended


def plain(data):
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def written_out(texts):
    """The same specs without `extends`, as JSON, which is YAML."""
    located = {
        path.removeprefix("components/").removesuffix(".yaml"): read_yaml(text, path)
        for path, text in texts.items()
        if path.startswith("components/")
    }
    flat = {name: json.dumps(plain(extended(name, section, located))) for name, section in located.items()}
    assert not any('"extends"' in text for text in flat.values())
    return {**texts, **{f"components/{name}.yaml": text for name, text in flat.items()}}


def test_extending_is_writing_out():
    flat = written_out(mini.TEXTS)
    assert flat != mini.TEXTS
    mine, other = mini.model(mini.TEXTS), mini.model(flat)
    assert api.show(mine) == api.show(other)
    for phase in ("prefill", "decode"):
        assert api.cost(mine, phase) == api.cost(other, phase)
        assert api.print_graph(mine, phase) == api.print_graph(other, phase)


def test_null_removes_what_was_extended():
    bare = "extends: attention\ndoc: Attention that keeps nothing.\ncache: null\ninvariants: null\n"
    texts = {**mini.TEXTS, "components/sliding.yaml": bare}
    entries = api.show(mini.model(texts))["cache"]["entries"]
    assert [entry["node"] for entry in entries] == ["layers.full.attention.k_heads", "layers.full.attention.v_heads"]


def test_a_chain_of_extensions():
    texts = {
        **mini.TEXTS,
        "components/further.yaml": "extends: sliding\ndoc: One step further.\n",
        "models/tiny.yaml": mini.TEXTS["models/tiny.yaml"].replace("use: sliding }", "use: further }"),
    }
    assert api.cost(mini.model(texts))["totals"] == api.cost(mini.model())["totals"]
