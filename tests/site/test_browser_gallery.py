"""The gallery in a browser: sorting, filtering, choosing columns, strengths, copying."""

import json

import pytest
from tests.site.conftest import SIZES, wait_until_ready
from tests.site.factory import MODELS

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("gallery")]

TIP = "#formula-tip"


def names(page):
    return page.locator("#gallery tbody tr:visible th a").all_text_contents()


def column(page, key):
    index = page.locator("#gallery thead th").evaluate_all(
        "(ths, k) => ths.findIndex((th) => th.dataset.key === k)", key
    )
    cells = page.locator(f"#gallery tbody tr:visible > :nth-child({index + 1})")
    return cells.evaluate_all("(all) => all.map((c) => c.dataset.v ?? c.textContent.trim())")


def order(page):
    return page.locator("#gallery thead th[aria-sort]").evaluate_all("(t) => t.map((x) => [x.dataset.key, x.ariaSort])")


def test_the_first_sort_is_the_servers(open_page):
    page = open_page()
    assert order(page) == [["params", "descending"]]
    sizes = [float(value) for value in column(page, "params")]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("key", "first"), [("params", None), ("kv", "ascending"), ("ctx", "descending"), ("name", "ascending")]
)
def test_the_first_click_sorts_best_first_and_the_next_turns_it(open_page, key, first):
    page = open_page()
    head = page.locator(f"#gallery th[data-key={key}] button")
    head.click()
    first = first or "ascending"  # params is sorted already, so its click turns it
    assert order(page) == [[key, first]]
    values = column(page, key)
    values = [v.casefold() for v in names(page)] if key == "name" else [float(v) for v in values]
    assert values == sorted(values, reverse=first == "descending")
    head.click()
    assert order(page) == [[key, "descending" if first == "ascending" else "ascending"]]


FILTERS = [
    ("by_word", {"q": "cirrus 7b"}, ["Cirrus2.5-7B-Instruct"]),
    ("by_lab", {"lab": "Drift"}, ["drift2"]),
    ("by_attention", {"attn": "MHA"}, ["Nord-7b-hf", "drift2"]),
    ("by_family", {"family": "MoE"}, ["drift2"]),
    ("by_strength", {"strength": "verified"}, ["Aurora-8B"]),
    ("by_size", {"pmin": "7B", "pmax": "10B"}, ["Aurora-8B", "Cirrus2.5-7B-Instruct"]),
    ("by_context", {"cmin": "128K"}, ["Aurora-405B", "Aurora-8B"]),
    ("by_context_below", {"cmax": "4k"}, ["Nord-7b-hf", "drift2"]),
    ("by_nothing_that_is_there", {"q": "zzz"}, []),
]


@pytest.mark.parametrize(("asked", "left"), [f[1:] for f in FILTERS], ids=[f[0] for f in FILTERS])
def test_filters(open_page, asked, left):
    page = open_page()
    for name, value in asked.items():
        field = page.locator(f"[data-filter={name}]")
        field.select_option(value) if name in {"lab", "arch", "family", "attn", "strength"} else field.fill(value)
    assert names(page) == left
    assert page.locator("#count").text_content() == f"{len(left)} of {len(MODELS)} models"
    assert page.locator("#nothing").is_visible() == (left == [])
    state = page.url
    page.reload()
    assert page.url == state
    assert names(page) == left


@pytest.mark.parametrize("size", SIZES)
def test_a_strength_says_what_was_and_what_was_not_checked(open_page, size):
    page = open_page("", size)
    for model, word, lines in (
        ("aurora-lab/Aurora-8B", "verified", ["elements add up to the published total of N", "Not checked"]),
        ("drift-ai/drift2", "not checked", ["Nothing outside this project was held against it.", "Not checked"]),
    ):
        cell = page.locator(f"tr[data-model='{model}'] .says")
        assert cell.text_content().strip() == word
        assert cell.locator(".sign").evaluate("(i) => getComputedStyle(i).maskImage") != "none"
        cell.tap() if size == "phone" else cell.hover()
        tip = page.locator(TIP)
        tip.locator("h2").get_by_text(model.rpartition("/")[2]).wait_for()
        assert [line for line in lines if line not in tip.text_content()] == []
        page.keyboard.press("Escape")


def test_a_strength_opens_by_keyboard(open_page):
    page = open_page()
    page.locator("tr[data-model='aurora-lab/Aurora-8B'] [data-q='weights.bytes']").focus()
    page.keyboard.press("Tab")
    assert "every tensor" in page.locator(TIP).text_content()


def test_strengths_sort_from_the_strongest(open_page):
    page = open_page()
    page.locator("#gallery th[data-key=strength] button").click()
    words = column(page, "strength")
    assert words == ["verified", *["structure checked"] * 4, "not checked"]


@pytest.mark.parametrize(
    ("cols", "shown", "hidden"),
    [
        ("cost", "weights", "kvfix"),
        ("cache", "kvfix", "weights"),
        ("architecture", "layers", "kv"),
        ("all", "kv", None),
    ],
)
def test_sets_of_columns(open_page, address, cols, shown, hidden):
    page = open_page("")
    page.locator(f"input[value={cols}] + span").click()
    assert page.url == address + (f"?cols={cols}" if cols != "cost" else "")
    page.reload()
    assert page.locator(f"#gallery th[data-key={shown}]").is_visible()
    assert hidden is None or not page.locator(f"#gallery th[data-key={hidden}]").is_visible()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=width)
        last = page.locator("#gallery thead th:visible").last
        last.scroll_into_view_if_needed()  # whatever the box does not show can be scrolled to
        box = last.bounding_box()
        assert box["x"] + box["width"] <= width


def test_the_address_holds_the_state_and_only_that(open_page, address):
    page = open_page()
    assert page.url == address
    page.locator("[data-filter=attn]").select_option("GQA")
    page.locator("[data-filter=pmin]").fill("1B")
    page.locator("#gallery th[data-key=kv] button").click()
    page.locator("[data-unit=decimal]").click()
    assert page.url == f"{address}?attn=GQA&pmin=1B&sort=kv&u=decimal"
    shown = names(page)
    page.reload()
    assert names(page) == shown
    assert order(page) == [["kv", "ascending"]]
    assert page.locator("[data-filter=attn]").input_value() == "GQA"
    page.locator("#gallery th[data-key=params] button").click()
    page.locator("form .reset").click()
    page.locator("[data-unit=binary]").click()
    page.wait_for_url(address)
    assert len(names(page)) == len(MODELS)


def test_a_bad_address_is_ignored_and_said(open_page, address):
    page = open_page("?lab=Nobody&pmin=many&sort=beauty&u=furlongs&utm_source=x")
    assert len(names(page)) == len(MODELS)
    assert order(page) == [["params", "descending"]]
    note = page.locator("#url-note")
    assert note.is_visible()
    for part in ("lab=Nobody", "pmin=many", "sort=beauty", "u=furlongs"):
        assert part in note.text_content()
    assert page.url == f"{address}?utm_source=x"


def test_a_bad_range_is_marked_and_filters_nothing(open_page):
    page = open_page()
    page.locator("[data-filter=pmin]").fill("lots")
    assert page.locator("[data-filter=pmin]").get_attribute("aria-invalid") == "true"
    assert len(names(page)) == len(MODELS)
    assert "pmin" not in page.url


def test_slash_goes_to_the_find_box(open_page):
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("ai/drift")  # a second slash is a letter
    assert page.evaluate("document.activeElement.dataset.filter") == "q"
    assert page.locator("[data-filter=q]").input_value() == "ai/drift"
    assert names(page) == ["drift2"]


def test_the_unit_is_remembered_on_other_pages(open_page):
    page = open_page()
    assert column(page, "weights")[1].isdigit()
    weights = page.locator("tr[data-model='aurora-lab/Aurora-8B'] button[data-q='weights.bytes']")
    assert weights.text_content() == "15.0\u202fGiB"
    page.locator("[data-unit=decimal]").click()
    assert weights.text_content() == "16.1\u202fGB"
    page.locator("tr[data-model='aurora-lab/Aurora-8B'] th a").click()
    wait_until_ready(page)
    assert page.locator(".tile button[data-q='weights.bytes']").text_content() == "16.1\u202fGB"


def test_copied_rows_are_the_serializers_values(open_page, site, address):
    rows = json.loads((site / "data" / "models.json").read_text(encoding="utf-8"))
    page = open_page("?attn=MHA")
    page.locator("[data-copy=csv]").click()
    page.get_by_text("Copied").wait_for()
    origin, header, *lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert origin == f"# Rooflight {address}?attn=MHA"
    assert header.startswith(
        "name,lab,attn,params (parameters),active (parameters),ctx (tokens),kv (bytes),kv32k (bytes),weights (bytes)"
    )
    assert [line.split(",")[0] for line in lines] == ["Nord-7b-hf", "drift2"]
    for line in lines:
        cells = dict(zip(header.split(","), line.split(","), strict=True))
        row = next(row for row in rows["rows"] if row["name"] == cells["name"])
        quantities = rows["models"][row["id"]]["quantities"]
        assert int(cells["params (parameters)"]) == quantities["params.total"]["value"]
        assert int(cells["weights (bytes)"]) == quantities["weights.bytes"]["value"]
    page.locator("[data-copy=json]").click()
    page.wait_for_function("document.querySelector('[data-copy=json]').textContent === 'Copied'")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert [row["name"] for row in copied] == ["Nord-7b-hf", "drift2"]
    assert copied[0]["ctx (tokens)"] == 4096
    page.locator("[data-copy=link]").click()
    page.wait_for_function("document.querySelector('[data-copy=link]').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}?attn=MHA"


def test_filters_on_a_phone_open_on_demand(open_page):
    page = open_page("", "phone")
    assert not page.locator("[data-filter=lab]").is_visible()
    page.locator(".more").tap()
    assert page.locator("[data-filter=lab]").is_visible()
    assert page.locator(".more").get_attribute("aria-expanded") == "true"
