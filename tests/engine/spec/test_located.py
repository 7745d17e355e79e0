"""Located data: plain data that knows its lines, and laying one over another."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.edge.yaml_text import read_yaml
from rooflight.spec import Section, locate, overlay

quick = settings(deadline=None, max_examples=200)

keys = st.sampled_from(["a", "b", "c"])  # few, so that two mappings share some
leaves = (
    st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text("aé−𐀀 :#'\"\\-0&*!%", max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4))
mappings = st.dictionaries(keys, values, max_size=4)
changes = st.dictionaries(keys, values | st.none(), max_size=4)


def plain(data):
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def merged(base, change):
    """What laying over means, on plain data: slow, and hard to get wrong."""
    result = {}
    for key in [*base, *(key for key in change if key not in base)]:
        if key not in change:
            result[key] = base[key]
        elif change[key] is None and key in base:
            continue
        elif isinstance(change[key], dict) and isinstance(base.get(key), dict):
            result[key] = merged(base[key], change[key])
        else:
            result[key] = change[key]
    return result


def lay(base, change):
    return overlay(locate(base, "base:1"), locate(change, "change:1"))


@quick
@given(mappings.filter(bool))
def test_yaml_gives_the_data_it_holds(data):
    assert plain(read_yaml(json.dumps(data, ensure_ascii=False), "doc.yaml")) == data


@quick
@given(st.lists(st.text("abcde_", min_size=1, max_size=3), min_size=1, max_size=5, unique=True))
def test_every_key_knows_its_line(names):
    section = read_yaml("".join(f"{name}:\n  - {{ inner: 1 }}\n" for name in names), "doc.yaml")
    for index, name in enumerate(names):
        assert section.at(name) == f"doc.yaml:{2 * index + 1}"
        assert section[name].at(0) == section[name][0].at("inner") == f"doc.yaml:{2 * index + 2}"


@quick
@given(mappings, changes)
def test_laying_over(base, change):
    assert plain(lay(base, change)) == merged(base, change)


@quick
@given(mappings)
def test_laying_nothing_over_changes_nothing(base):
    assert plain(lay(base, {})) == base
    assert plain(lay({}, base)) == base
    assert plain(lay(base, base)) == base


@quick
@given(mappings, mappings, mappings)
def test_laying_over_without_removing_is_associative(bottom, middle, top):
    left = overlay(lay(bottom, middle), locate(top, "top:1"))
    right = overlay(locate(bottom, "bottom:1"), overlay(locate(middle, "middle:1"), locate(top, "top:1")))
    if {key for key, value in bottom.items() if isinstance(value, dict)}.isdisjoint(
        key for key, value in middle.items() if not isinstance(value, dict)
    ):  # else the middle hides a mapping that the other order would merge
        assert plain(left) == plain(right)


@quick
@given(mappings, changes)
def test_every_key_keeps_its_place(base, change):
    result = lay(base, change)
    for key in result:
        assert result.at(key) == ("change:1" if key in change else "base:1")


@quick
@given(mappings, changes)
def test_laying_over_leaves_both_alone(base, change):
    below, above = locate(base, "base:1"), locate(change, "change:1")
    overlay(below, above)
    assert (plain(below), plain(above)) == (base, change)
    assert isinstance(below, Section)
