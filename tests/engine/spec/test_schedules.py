"""Which block each layer uses: by a list in the config where it has one, else by the rules."""

import pytest

from engine import mini
from rooflight import api

FULL, SLIDING = "full", "sliding"


def model(**config):
    return mini.model(config={**mini.CONFIG, **config})


def test_by_rule():
    assert model().layers["layers"] == (FULL, SLIDING, FULL, SLIDING)
    assert model(layers=1).layers["layers"] == (FULL,)


@pytest.mark.parametrize("kinds", [[SLIDING] * 4, [FULL, FULL, SLIDING, SLIDING], [SLIDING, FULL, FULL, FULL]])
def test_by_list(kinds):
    bound = model(kinds=kinds)
    assert bound.layers["layers"] == tuple(kinds)
    shown = {row["kind"]: row["layers"] for row in api.show(bound)["layers"]}
    assert shown == {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def test_a_null_list_is_none():
    assert model(kinds=None).layers == model().layers


def test_kinds_of_layers_in_other_order_cost_the_same():
    orders = [FULL, FULL, SLIDING, SLIDING], [FULL, SLIDING, SLIDING, FULL]
    first, second = (api.cost(model(kinds=kinds)) for kinds in orders)
    assert first["totals"] == second["totals"]


def test_a_window_that_is_not_used_need_not_be_bound():
    config = {key: value for key, value in mini.CONFIG.items() if key != "window"}
    bound = mini.model(config={**config, "kinds": [FULL] * 4})
    assert api.show(bound)["cache"]["constant_bytes"] == 0
    assert "d_window" not in bound.dims
