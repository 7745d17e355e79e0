"""The Inference page in a browser: its tables, its charts, and the formulas behind its numbers."""

import csv
import json

import pytest
from tests.site.conftest import TEMPLATES

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("inspector")]

PAGE = TEMPLATES["inference"]
TIP = "#formula-tip"
ROWS = "#kernels-decode tbody tr:not(.group)"

# Line and place of the mark in focus, and where it stands in the picture.
HERE = """() => {
  const line = document.activeElement.closest("g");
  const lines = [...line.closest("figure").querySelectorAll("g")];
  return [lines.indexOf(line), [...line.querySelectorAll(".mark")].indexOf(document.activeElement)];
}"""
PLACE = "[Number(document.activeElement.dataset.x), Number(document.activeElement.dataset.y)]"


@pytest.fixture(scope="module")
def document(site):
    return json.loads((site / "data" / "inference" / "aurora-lab--Aurora-8B.json").read_text(encoding="utf-8"))


def test_a_tip_shows_formula_parts_symbols_and_command(open_page, document):
    book = document["books"]["decode"]
    key = document["steps"]["decode"]["figures"]["tok_s_user"]
    page = open_page(PAGE)
    page.locator(f".tile button[data-q='{key}']").hover()
    tip = page.locator(TIP)
    text = tip.text_content()
    assert book["quantities"][key]["label"] in text
    assert f"{book['quantities'][key]['exact']} tokens per second" in text
    assert f"{book['command']['before']} {key} {book['command']['after']}" in text
    assert "Parts of these" in text
    before = tip.locator("dl").count()
    tip.locator("summary").click()
    assert tip.locator("dl").count() == before + 1
    assert "undefined" not in tip.text_content()


def test_a_figure_of_two_steps_opens_in_its_own_book(open_page, document):
    page = open_page(PAGE)
    for step, key in (("decode", "weights.bytes"), ("full", "weights.bytes")):
        page.locator(f".half[data-book='{step}'] button[data-q='{key}']").first.click()
        assert document["books"][step]["quantities"][key]["command"] in page.locator(TIP).text_content()
        page.keyboard.press("Escape")


def test_a_tip_by_keyboard(open_page):
    page = open_page(PAGE)
    page.locator(".deployment .cli button").focus()
    page.keyboard.press("Tab")
    assert page.locator(TIP).is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(TIP).is_visible()
    page.locator(f"{ROWS} td button.q").first.focus()
    page.keyboard.press("ArrowDown")
    second = page.locator(ROWS).nth(1).get_attribute("data-v")
    assert page.evaluate("document.activeElement.closest('tr').dataset.v") == second


def test_kernels_can_be_sorted_by_time_and_back(open_page, address):
    page = open_page(PAGE)
    names = f"[...document.querySelectorAll('{ROWS}')].map((row) => row.querySelector('th').dataset.v)"
    walked = page.evaluate(names)
    page.get_by_label("Longest first").check()
    seconds = page.evaluate(f"[...document.querySelectorAll('{ROWS}')].map((row) => Number(row.dataset.v))")
    assert seconds == sorted(seconds, reverse=True)
    assert sorted(page.evaluate(names)) == sorted(walked)
    assert page.url == f"{address}{PAGE}?order=time"
    assert not page.locator("#kernels-decode .group").first.is_visible()
    assert page.locator("#kernels-decode th[aria-sort=descending]").get_attribute("data-key") == "seconds"
    page.reload()
    assert page.evaluate(names) != walked
    page.get_by_label("As they run").check()
    assert page.evaluate(names) == walked
    assert page.url == address + PAGE


def test_the_step_of_the_kernels_is_in_the_address(open_page, address):
    page = open_page(PAGE)
    assert page.locator("#kernels-decode").is_visible()
    page.get_by_label("Prefill", exact=True).check()
    assert not page.locator("#kernels-decode").is_visible()
    assert page.locator("#kernels-prefill").is_visible()
    assert page.url == f"{address}{PAGE}?phase=prefill"


@pytest.mark.parametrize("width", [1280, 1440])
def test_the_columns_of_kernels_stand_under_their_heads(open_page, width):
    page = open_page(PAGE)
    page.set_viewport_size({"width": width, "height": 800})
    edges = page.evaluate("""() => {
      const table = document.getElementById("kernels-decode");
      const shown = (row) => [...row.cells].filter((cell) => cell.offsetWidth);
      const right = (row) => shown(row).map((cell) => Math.trunc(cell.getBoundingClientRect().right));
      return [table.tHead.rows[0], table.tBodies[1].rows[1], table.tFoot.rows[0]].map(right);
    }""")
    assert edges[0] == edges[1] == edges[2]
    assert len(edges[0]) == (13 if width > 1400 else 12)


def test_a_shape_opens_to_its_layout(open_page, document):
    page = open_page(PAGE)
    first = document["steps"]["decode"]["kernels"][0]
    cell = page.locator(ROWS).first.locator("td.shape")
    assert cell.locator("summary").text_content() == first["shape_text"]
    assert not cell.locator("code").is_visible()
    assert "dotted" in cell.locator("summary").evaluate("(one) => getComputedStyle(one).textDecoration")
    cell.locator("summary").click()
    assert cell.locator("code").text_content() == first["layout"]
    edges = "(one) => one.getBoundingClientRect().bottom"
    assert cell.evaluate(edges) - cell.locator("code").evaluate(edges) < 8  # no gap below
    assert "different sequences" in page.locator(".only-decode .step").last.text_content()


def test_the_share_of_a_kernel_is_text(open_page, document):
    page = open_page(PAGE)
    shown = [text.strip() for text in page.locator(f"{ROWS} td.share").all_text_contents()]
    assert shown == [kernel["share_text"] for kernel in document["steps"]["decode"]["kernels"]]


def test_no_head_of_a_table_stands_above_the_heading_that_a_link_leads_to(open_page):
    page = open_page(PAGE)
    page.set_viewport_size({"width": 1440, "height": 500})
    page.locator(".within-page a[href='#scaling']").click()
    page.wait_for_function("document.getElementById('scaling').getBoundingClientRect().top < 200")
    bottom = "(one) => one.getBoundingClientRect().bottom"
    assert page.locator("#kernels-decode thead").evaluate(bottom) <= page.locator(".bar").evaluate(bottom)


def test_names_of_kernels_are_whole_on_a_phone(open_page):
    page = open_page(PAGE, "phone")
    cut = "(all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
    assert page.locator(f"{ROWS} th").evaluate_all(cut) == []


def test_copied_kernels_hold_raw_values(open_page, document):
    page = open_page(PAGE)
    page.locator("[data-of=kernels-decode]").click()
    page.get_by_role("button", name="Copied").wait_for()
    _, *lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    header, *rows = csv.reader(lines)
    kernels = document["steps"]["decode"]["kernels"]
    quantities = document["books"]["decode"]["quantities"]
    column = header.index("seconds")
    assert [row[0] for row in rows] == [*(kernel["id"] for kernel in kernels), "total"]
    assert [float(row[column]) for row in rows[:-1]] == [quantities[k["figures"]["seconds"]]["value"] for k in kernels]
    assert {len(row) for row in rows} == {len(header)}
    shares = [float(row[header.index("share")]) for row in rows]
    assert sum(shares[:-1]) == pytest.approx(shares[-1]) == 1


def test_the_marks_of_a_chart_are_read_by_pointer_and_keyboard(open_page):
    page = open_page(PAGE)
    figure = page.locator("#chart-batch")
    marks = figure.locator("g").first.locator(".mark")
    marks.nth(1).hover()
    assert figure.locator(".read").text_content() == marks.nth(1).get_attribute("aria-label")
    marks.first.focus()
    page.keyboard.press("ArrowRight")
    assert figure.locator(".read").text_content() == marks.nth(1).get_attribute("aria-label")
    assert page.evaluate(HERE) == [0, 1]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # the first one: there is nothing before it
    assert page.evaluate(HERE) == [0, 0]


def test_arrows_move_up_and_down_the_picture_and_keep_their_place(open_page):
    page = open_page(PAGE)
    page.locator("#chart-gpus .mark").last.focus()
    page.keyboard.press("ArrowLeft")
    across, before = page.evaluate(PLACE)
    for key, sign in (*3 * (("ArrowUp", -1),), *3 * (("ArrowDown", 1),)):
        here = page.evaluate(HERE)
        page.keyboard.press(key)
        x, y = page.evaluate(PLACE)
        assert x == across
        assert sign * (y - before) >= 0 if page.evaluate(HERE) != here else y == before
        before = y


def test_home_and_end_are_the_ends_of_a_line_and_a_chart_is_one_stop(open_page):
    page = open_page(PAGE)
    figure = page.locator("#chart-batch")
    figure.locator("g").nth(1).locator(".mark").nth(2).focus()
    scrolled = page.evaluate("scrollY")
    last = figure.locator("g").nth(1).locator(".mark").count() - 1
    for key, at in (("End", last), ("Home", 0)):
        page.keyboard.press(key)
        assert page.evaluate(HERE) == [1, at]
    assert page.evaluate("scrollY") == scrolled
    assert figure.locator(".mark[tabindex='0']").count() == 1
    assert page.locator("#chart-gpus .mark[tabindex='0']").count() == 1


@pytest.mark.parametrize("chart", ["gpus", "batch"])
def test_a_chart_says_its_workload(open_page, document, chart):
    said = open_page(PAGE).locator(f"#chart-{chart} figcaption").text_content()
    asked = document["asked"]
    expected = f"{asked['input']:,} tokens in, {asked['output']:,} out" if chart == "gpus" else "the batch of the axis"
    assert expected in said
    assert "as many as fit" in said


def test_the_tiles_say_that_they_are_at_peak_rates(open_page):
    assert "real systems reach a part" in open_page(PAGE).locator(".tiles + .peak").text_content()


@pytest.mark.parametrize("chart", ["gpus", "batch"])
def test_every_mark_of_a_chart_has_words_and_a_row(open_page, document, chart):
    page = open_page(PAGE)
    figure = page.locator(f"#chart-{chart}")
    words = figure.locator(".mark").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    rows = figure.locator(".points tbody tr").evaluate_all("(all) => all.map((one) => one.innerText)")
    sweep = document["charts"][chart]
    shown = [row for row in sweep["rows"] if row["error"] is None and (row["fits"] or chart == "batch")]
    assert len(words) == len(rows) == len(shown) > 0
    for row in shown:
        assert any(f"{row['tok_s_gpu_text']} per GPU ({row['tok_s_gpu_exact']})" in one for one in words)
    assert figure.locator("figcaption").text_content().strip()
    assert sweep["command"] in figure.locator(".cli code").text_content()


def test_the_page_reads_without_javascript(open_page):
    page = open_page(PAGE, java_script_enabled=False)
    assert page.locator(".tile .big").count() == 6
    assert page.locator(f"{ROWS}:visible").count() > 10
    page.get_by_label("Prefill", exact=True).check()
    assert page.locator("#kernels-prefill tbody tr:visible").count() > 10
    assert not page.get_by_label("Longest first").is_visible()
    assert page.locator("#chart-gpus g line").count() > 5
    page.locator("#chart-gpus summary").click()
    assert page.locator("#points-gpus tbody tr").first.is_visible()
    assert not page.locator("[data-copy], [data-copy-text]").first.is_visible()
    assert page.locator(".quiet-page").is_visible()
    assert page.locator(".small .q").first.evaluate("(one) => getComputedStyle(one).backgroundImage") == "none"


def test_both_pages_of_a_model_are_one_step_apart(open_page, address):
    page = open_page(TEMPLATES["inspector"])
    page.locator(".views a", has_text="Inference").click()
    assert page.url == address + PAGE
    assert page.locator(".views [aria-current=page]").text_content() == "Inference"
    page.locator(".chips a").click()
    assert page.url == f"{address}{TEMPLATES['inspector']}#checked"


def test_an_extrapolated_deployment_says_so_and_its_lines_are_dashed(open_page):
    page = open_page("models/drift-ai/drift2/inference/")
    assert "Extrapolated beyond the context" in page.locator(".warns").text_content()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_text_of_a_chart_keeps_its_size_and_its_place(open_page, size):
    page = open_page(PAGE, size)
    for figure in page.locator(".chart").all():
        edge = figure.bounding_box()
        for label in figure.locator(".ends span, .ys span, .xs span").all():
            box = label.bounding_box()
            assert box["height"] >= 14
            assert box["x"] >= edge["x"] - 1
            assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 12


def test_paper_shows_the_figures_and_not_the_controls(open_page):
    page = open_page(PAGE)
    page.emulate_media(media="print")
    assert page.locator("#kernels-decode").is_visible()
    assert page.locator("#chart-batch svg").first.is_visible()
    assert not page.locator(".deployment .cli button").is_visible()
    assert not page.locator(".on-screen:visible").count()
    assert page.locator(".phases label:visible").all_text_contents() == ["Decode"]
    assert page.locator(".views a:visible").all_text_contents() == ["Inference"]


def test_the_tiles_stand_in_one_row_on_paper(open_page):
    page = open_page(PAGE)
    page.set_viewport_size({"width": 800, "height": 900})
    page.emulate_media(media="print")
    tops = page.locator(".tile dt").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    lines = page.locator(".tile").evaluate_all("(all) => all.map((one) => getComputedStyle(one).borderLeftWidth)")
    assert len(set(tops)) == 1
    assert lines == ["0px", *5 * ["1px"]]


def test_points_of_charts_are_printed(open_page):
    page = open_page(PAGE)
    for event, count in (("beforeprint", 2), ("afterprint", 0)):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert page.locator(".chart details[open]").count() == count


def test_the_first_stop_leads_to_the_content(open_page):
    page = open_page(PAGE)
    page.keyboard.press("Tab")
    skip = page.locator(".md-skip")
    assert skip.text_content().strip() == "Skip to content"
    assert skip.evaluate("(one) => one === document.activeElement")
    page.wait_for_function("getComputedStyle(document.activeElement).opacity === '1'")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
