"""The serializer: only quantities get in, one key is one figure, and what comes out fits the published schema."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from tests.site.factory import MODELS, inspection

from rooflight.expr import Space, named
from rooflight.values import Quantity
from rooflight_site import payload
from rooflight_site.payload import Formulas, ModelBook

SCHEMAS = Path(__file__).parents[2] / "site_src" / "schema"


def book():
    return ModelBook(inspection(replace(MODELS[0], id="org/name")), Formulas())


def gallery(shapes):
    return payload.gallery(payload.inspection(inspection(shape)) for shape in shapes)


@pytest.mark.parametrize("bare", [5, 5.0, "5", None, Fraction(1, 2), Space().symbol("x")])
def test_a_bare_number_is_refused(bare):
    with pytest.raises(TypeError, match="a page shows only Quantity, which has a formula"):
        book().add(bare)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "7"])
def test_a_quantity_without_a_finite_number_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        book().add(Quantity("k", "label", value, "byte", 1))


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="org/name: k has the unknown unit 'furlong'"):
        book().add(Quantity("k", "label", 1, "furlong", 1))


def test_one_key_is_one_figure():
    shelf = book()
    shelf.add(Quantity("k", "label", 1, "byte", 1))
    shelf.add(Quantity("k", "label", 1, "byte", 1))
    with pytest.raises(ValueError, match="org/name: k was 1 and is now 2: one key, one figure"):
        shelf.add(Quantity("k", "label", 2, "byte", 2))


def test_a_figure_that_its_formula_does_not_give_is_refused():
    x = Space().symbol("d_model")
    with pytest.raises(ValueError, match=r"org/name: k is 5, and its formula 2·d_model gives 8,192"):
        book().add(Quantity("k", "label", 5, "byte", 2 * x))


def test_an_expectation_may_differ_in_its_last_digits_only():
    space = Space()
    part = space.symbol("d_head") / space.symbol("d_model")
    shelf = book()
    shelf.add(Quantity("fine", "label", (1 / 32) * (1 + 1e-12), "1", part))
    with pytest.raises(ValueError, match=r"org/name: off is ≈ 0\.03"):
        shelf.add(Quantity("off", "label", (1 / 32) * (1 + 1e-6), "1", part))


def test_a_key_that_sets_the_context_is_checked_and_shown_at_it():
    shelf = book()
    t = Space().symbol("T")
    shelf.add(Quantity("cache.bytes@32768", "label", 65536, "byte", 2 * t))
    shelf.add(Quantity("cache.bytes@1048576", "label", 2097152, "byte", 2 * t))
    near, far = shelf.quantities.values()
    assert (near["context"], near["symbols"], near["extrapolated"]) == ("32K", {"T": "32,768"}, False)
    assert (far["context"], far["extrapolated"]) == ("1,024K", True)


def test_named_parts_come_with_their_values():
    space = Space()
    shelf = book()
    width, layers = space.symbol("d_model"), space.symbol("n_layers")
    shelf.add(Quantity("k", "label", 32 * 3 * 4096, "parameter", layers * named("each", 3 * width)))
    assert shelf.quantities["k"]["parts"] == {"each": "12,288"}
    assert [part["name"] for part in shelf.formulas.entries[shelf.quantities["k"]["formula"]]["definitions"]] == [
        "each"
    ]


def test_values_stay_exact():
    shelf = book()
    shelf.add(Quantity("k", "label", 2**70 + 1, "FLOP", 2**70 + 1))
    assert json.loads(json.dumps(shelf.quantities))["k"]["value"] == 2**70 + 1


def test_formulas_that_print_alike_and_mean_different_parts_stay_apart():
    space = Space()
    x = space.symbol("x")
    formulas = Formulas()
    one, two = formulas.add(named("part", x * 2) + 1), formulas.add(named("part", x * 3) + 1)
    assert formulas.entries[one]["text"] == formulas.entries[two]["text"]
    assert one != two


def test_models_of_one_architecture_share_their_formulas():
    document = gallery(MODELS[:2])
    one, two = (document["models"][shape.id]["quantities"]["params.total"] for shape in MODELS[:2])
    assert one["formula"] == two["formula"]
    assert one["value"] != two["value"]


def test_the_gallery_puts_the_largest_first():
    document = gallery(MODELS)
    sizes = [document["models"][row["id"]]["quantities"]["params.total"]["value"] for row in document["rows"]]
    assert sizes == sorted(sizes, reverse=True)


def test_every_symbol_of_a_gallery_formula_comes_with_its_value():
    document = gallery(MODELS)
    for model in document["models"].values():
        for quantity in model["quantities"].values():
            assert set(document["formulas"][quantity["formula"]]["symbols"]) <= set(model["symbols"])


def test_a_missing_release_date_stays_unknown():
    model = inspection(MODELS[0])
    dated = model._replace(facts=model.facts._replace(released="2024-07-23"))
    assert payload.inspection(model)["facts"]["released"] is None
    assert payload.inspection(dated)["facts"]["released"] == "2024-07-23"


@pytest.mark.parametrize("name", ["models-1", "inspection-1", "inference-1"])
def test_a_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text()))


def test_published_files_fit_their_schemas(site):
    data = site / "data"
    files = {
        "models-1": [data / "models.json"],
        "inspection-1": sorted((data / "models").iterdir()),
        "inference-1": sorted((data / "inference").iterdir()),
    }
    for name, published in files.items():
        validator = jsonschema.Draft202012Validator(json.loads((site / "data" / "schema" / f"{name}.json").read_text()))
        assert published
        for file in published:
            validator.validate(json.loads(file.read_text()))
