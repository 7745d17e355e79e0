"""The site in a browser: reading, tips by every input, and what a visitor must never meet."""

import csv
import json

import pytest
from tests.site.conftest import SIZES, TEMPLATES
from tests.site.factory import MODELS

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("inspector")]

PAGE_BUDGET = 250_000  # bytes over the wire with a cold cache
SHIFT_BUDGET = 0.05
INSPECTOR = TEMPLATES["inspector"]
TIP = "#formula-tip"

VITALS = """() => new Promise((done) => {
  let shift = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) shift += e.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => {
    const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    done({ shift, bytes: all.reduce((sum, e) => sum + e.encodedBodySize, 0) });
  }, 600);
})"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_page_is_light_still_and_no_wider_than_its_window(open_page, template, size):
    page = open_page(TEMPLATES[template], size, ahead=False)
    vitals = page.evaluate(VITALS)
    assert vitals["bytes"] <= PAGE_BUDGET
    assert vitals["shift"] <= SHIFT_BUDGET
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_axe_finds_nothing(open_page, template, size, theme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(TEMPLATES[template], size, theme)
    if template == "inference":
        page.locator("button.q").first.click()
        page.locator("#chart-batch summary").click()
    if template == "inspector":
        page.locator("button.q").first.click()  # the tip is part of the page
        page.locator(".formulas summary").click()
    # Rows are alike and so are formulas, and each costs time: a few stand for all.
    rows = (f"{table} tr:nth-child(n + 5)" for table in (".costs tbody", ".points", ".symbols"))
    alike = ", ".join((*rows, ".formula:nth-of-type(n + 4)"))
    page.evaluate("(alike) => document.querySelectorAll(alike).forEach((one) => one.remove())", alike)
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": tags}).response["violations"]
    assert [(v["id"], [n["html"][:160] for n in v["nodes"][:4]]) for v in found] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system(open_page, theme):
    page = open_page("", theme=theme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (theme == "light")


# --- tips -------------------------------------------------------------------------------------------------------------


def test_a_tip_tells_what_the_serializer_wrote(open_page, site):
    data = json.loads((site / "data" / "models" / "aurora-lab--Aurora-8B.json").read_text(encoding="utf-8"))
    model = data["models"]["aurora-lab/Aurora-8B"]
    quantity = model["quantities"]["cache.bytes_per_token"]
    page = open_page(INSPECTOR)
    page.locator(".tile button[data-q='cache.bytes_per_token']").hover()
    tip = page.locator(TIP)
    text = tip.text_content()
    assert quantity["label"] in text
    assert f"= {quantity['exact']} bytes per token" in text
    assert quantity["command"] in text
    assert "2·32·8·128·2" in text
    for name in data["formulas"][quantity["formula"]]["symbols"]:
        assert f"{name}{model['symbols'][name]['exact']}{model['symbols'][name]['meaning']}" in text
        assert model["symbols"][name]["source"] in text
    assert tip.locator("math").count() == 2
    assert tip.locator("math").first.bounding_box()["height"] > 10


def test_a_hovered_tip_stays_while_pointed_at_and_goes_after(open_page):
    page = open_page(INSPECTOR)
    page.locator(".tile .big button").first.hover()
    tip = page.locator(TIP)
    tip.hover()
    page.wait_for_timeout(400)
    assert tip.is_visible()
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")


def test_a_tip_by_keyboard(open_page):
    page = open_page(INSPECTOR)
    button = page.locator(".tile .big button").first
    page.locator(".chips a").focus()
    page.keyboard.press("Tab")
    tip = page.locator(TIP)
    assert tip.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert button.evaluate("(b) => b === document.activeElement")
    page.keyboard.press("Enter")
    assert tip.evaluate("(t) => t === document.activeElement")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "rooflight formula aurora-lab/Aurora-8B params.total"
    page.keyboard.press("Escape")
    assert button.evaluate("(b) => b === document.activeElement")
    assert not tip.is_visible()


def test_a_tip_by_tap_is_a_sheet_that_closes(open_page):
    page = open_page(INSPECTOR, "phone")
    page.locator(".tile .big button").first.tap()
    box = page.locator(TIP).bounding_box()
    assert (box["x"], round(box["width"]), round(box["y"] + box["height"])) == (0, 390, 844)
    page.locator(f"{TIP} .close").tap()
    assert not page.locator(TIP).is_visible()
    page.locator(".tile .big button").first.tap()
    page.locator("h1").tap()
    assert not page.locator(TIP).is_visible()


@pytest.mark.parametrize("height", [500, 900])
def test_a_tip_never_covers_its_number_or_leaves_the_window(open_page, height):
    page = open_page(INSPECTOR)
    page.set_viewport_size({"width": 1440, "height": height})
    for button in page.locator(
        ".tile .big button, #costs tfoot td:visible button, #costs tbody tr:nth-child(3) td:visible button"
    ).all():
        button.scroll_into_view_if_needed()
        button.click()
        number, tip = button.bounding_box(), page.locator(TIP).bounding_box()
        assert tip["y"] >= number["y"] + number["height"] or tip["y"] + tip["height"] <= number["y"]
        assert tip["x"] >= 0
        assert tip["x"] + tip["width"] <= page.evaluate("document.body.getBoundingClientRect().right")
        assert tip["y"] >= 0
        assert tip["y"] + tip["height"] <= height
        page.keyboard.press("Escape")


@pytest.mark.parametrize("template", ["gallery", "inspector", "inference"])
def test_every_number_of_a_page_opens(open_page, template):
    page = open_page(TEMPLATES[template])
    failed = page.evaluate("""async () => {
      const tip = document.getElementById("formula-tip");
      const failed = [];
      for (const button of document.querySelectorAll("button.q")) {
        button.click();
        await new Promise((done) => setTimeout(done));
        const result = tip.matches(":popover-open") && tip.querySelector(".result") && tip.textContent;
        if (!result || result.includes("undefined")) failed.push(button.dataset.q);
        button.click();
      }
      return failed;
    }""")
    assert failed == []


def test_formulas_that_cannot_be_had_are_said_to_be_missing(chromium, address):
    page = chromium.new_page()
    page.route("**/data/models/*.json", lambda route: route.abort())
    page.goto(address + INSPECTOR)
    page.locator(".tile .big button").first.click()
    tip = page.locator(TIP)
    tip.wait_for()
    assert tip.text_content().startswith("The formulas could not be loaded")
    page.unroute("**/data/models/*.json")
    page.keyboard.press("Escape")
    page.locator(".tile .big button").first.click()
    tip.locator(".result").wait_for()
    page.close()


# --- inspector --------------------------------------------------------------------------------------------------------


def test_the_phase_switch_is_in_the_address(open_page, address):
    page = open_page(INSPECTOR)
    row = page.locator("tr[id='node-layers.ffn.up_proj']")
    assert row.locator("td.only-prefill").first.is_visible()
    page.get_by_label("Decode").check()
    assert row.locator("td.only-decode").first.is_visible()
    assert not row.locator("td.only-prefill").first.is_visible()
    assert page.url == f"{address}{INSPECTOR}?phase=decode"
    page.reload()
    assert row.locator("td.only-decode").first.is_visible()


def test_a_bad_phase_is_ignored_and_said(open_page, address):
    page = open_page(f"{INSPECTOR}?phase=training")
    assert "phase=training" in page.locator("#url-note").text_content()
    assert page.locator("input[value=prefill]").is_checked()
    assert page.url == address + INSPECTOR


def test_arrow_keys_walk_the_numbers(open_page):
    page = open_page(INSPECTOR)
    page.locator("tr[id='node-layers.ffn.up_proj'] td button").first.focus()
    here = "document.activeElement.dataset.q"
    assert page.evaluate(here) == "copies/layers.ffn.up_proj"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(here) == "params_each/layers.ffn.up_proj"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(here) == "params_each/layers.ffn.down_proj"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(here) == "copies/layers.ffn.up_proj"


def test_views_are_shown_on_demand(open_page):
    page = open_page(INSPECTOR)
    view = page.locator("tr[id='node-layers.attention.split']")
    assert not view.is_visible()
    page.get_by_label("Show views").check()
    assert view.is_visible()
    assert page.url.endswith("?views=1")
    page.reload()
    assert view.is_visible()


def test_a_component_opens_with_what_its_rows_add_up_to(open_page):
    page = open_page(INSPECTOR)
    head = page.locator("tr.opens").filter(has_text="gqa_attention")
    assert head.locator("[data-q='params/layers.attention']").text_content() == "1.34\u202fB"
    assert page.locator("tr[id='node-layers.attention.q_proj'] .node").text_content() == "q_proj"


def test_the_card_says_what_was_checked(open_page):
    page = open_page(INSPECTOR)
    card = page.locator(".checks")
    for text in ("verified", "complete config", "291", "F8_E4M3", "fp8_block", "published total", "Not checked"):
        assert text in card.text_content() or text in page.locator(".tiles").text_content(), text


def test_copied_costs_are_of_the_phase_on_show(open_page):
    page = open_page(f"{INSPECTOR}?phase=decode")
    page.locator("[data-copy=csv]").click()
    page.get_by_text("Copied").wait_for()
    _, *lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    header, *rows = csv.reader(lines)
    assert "decode_matmul_flops (FLOPs)" in header
    assert "prefill" not in " ".join(header)
    assert rows[-1][0] == "total"
    assert {len(row) for row in rows} == {len(header)}


# --- tables wider than their box -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_a_wide_table_of_prose_keeps_its_words_whole_and_shows_where_it_goes_on(open_page, size):
    page = open_page(TEMPLATES["tables"], size)
    box = page.locator(".md-typeset__scrollwrap.more-after")
    box.wait_for()
    assert page.locator("td code").evaluate_all("(all) => all.map((one) => one.getClientRects().length)") == [1, 1, 1]
    assert page.locator("td").nth(1).bounding_box()["width"] > 180  # a sentence is no column of single words
    shade = box.evaluate("""(box) => {
      const style = getComputedStyle(box, "::after");
      return [style.position, style.backgroundImage.includes("gradient"), parseFloat(style.width)];
    }""")
    assert shade == ["sticky", True, 28]
    assert box.get_attribute("tabindex") == "0"  # it can be scrolled by keyboard
    box.evaluate("(box) => box.scrollTo(box.scrollWidth, 0)")
    page.locator(".md-typeset__scrollwrap.more-before:not(.more-after)").wait_for()


def test_a_table_that_fits_has_no_shade_and_is_no_stop(open_page):
    page = open_page(TEMPLATES["docs"])
    box = page.locator(".md-typeset__scrollwrap.fits")
    box.wait_for()
    assert box.get_attribute("tabindex") is None
    assert page.locator(".more-after, .more-before").count() == 0


@pytest.mark.parametrize("width", [1280, 1440])
@pytest.mark.parametrize("template", ["gallery", "inspector", "inference"])
def test_the_tables_fit_a_laptop(open_page, template, width):
    page = open_page(TEMPLATES[template])
    page.set_viewport_size({"width": width, "height": 800})
    page.locator(".scroll.fits").first.wait_for()
    assert page.locator(".scroll.more-after").count() == 0


def test_a_table_that_does_not_fit_a_phone_is_shaded_up_to_its_last_column(open_page):
    page = open_page(TEMPLATES["inspector"], "phone")
    box = page.locator(".scroll.more-after").filter(has=page.locator("#costs"))
    box.wait_for()
    box.evaluate("(box) => box.scrollTo(box.scrollWidth, 0)")
    page.locator(".scroll:not(.more-after) #costs").wait_for()


# --- without JavaScript, with less motion, on paper -------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_reads_without_javascript(open_page, theme):
    page = open_page("", theme=theme, java_script_enabled=False)
    assert page.locator("#gallery tbody tr:visible").count() == len(MODELS)
    assert page.locator("tr[data-model='aurora-lab/Aurora-8B']").inner_text().startswith("Aurora-8B")
    assert "8.03" in page.locator("tr[data-model='aurora-lab/Aurora-8B']").inner_text()
    assert not page.locator("#filters").is_visible()
    assert not page.locator("[data-copy]").first.is_visible()
    page.locator("tr[data-model='aurora-lab/Aurora-8B'] th a").click()
    assert page.locator(".tile").count() == 6
    page.get_by_label("Decode").check()
    assert page.locator("tr[id='node-layers.ffn.up_proj'] td.only-decode").first.is_visible()
    page.locator(".formulas summary").click()
    assert page.locator(".formula math").first.is_visible()


def test_motion_stops_when_asked(open_page):
    page = open_page("", reduced_motion="reduce")
    moving = page.evaluate("""() => [...document.querySelectorAll("*")].filter((e) => {
      const s = getComputedStyle(e);
      return parseFloat(s.transitionDuration) > 0 || parseFloat(s.animationDuration) > 0;
    }).length""")
    assert moving == 0


def test_paper_shows_the_table_and_not_the_controls(open_page):
    page = open_page(INSPECTOR)
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible()
    assert not page.locator("[data-copy]").first.is_visible()
    assert page.locator("#costs").is_visible()


def test_the_site_search_answers(open_page):
    page = open_page()
    page.locator(".md-search__input").click()
    page.keyboard.type("Cirrus3")
    page.locator(".md-search-result__link").first.wait_for()
    page.locator(".md-search-result__link").first.click()
    page.wait_for_url("**/models/Cirrus/Cirrus3-0.6B/**")


def test_a_wrong_address_gets_the_sites_own_page(chromium, address):
    page = chromium.new_page()
    answer = page.goto(f"{address}nowhere/at/all")
    assert answer.status == 404
    assert page.locator("h1").text_content() == "No such page"
    page.close()
