"""The data behind an Inference page: every figure is what the command line prints, and every formula gives it."""

import json
import math
import shlex
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.site.deployed import REAL

from rooflight.edge.cli import main
from rooflight.expr import Space
from rooflight.values import Quantity
from rooflight_site.format import digits
from rooflight_site.inference import CHART_COLUMNS, KERNEL_FIGURES
from rooflight_site.payload import Formulas, StepBook
from rooflight_site.words import per_rank, plan

NAMES = tuple(REAL)
# What a tile shows -> where `rooflight estimate --json` prints the same.
TILES = {
    ("decode", "tok_s_gpu"): ("decode", "tok_s_gpu"),
    ("decode", "tok_s_user"): ("decode", "tok_s_user"),
    ("decode", "step_s"): ("decode", "tpot_s"),
    ("prefill", "step_s"): ("prefill", "ttft_s"),
    ("decode", "max_batch"): ("memory", "max_batch_decode"),
    ("full", "max_batch"): ("memory", "max_batch_prefill"),
    ("decode", "requests"): ("decode", "global_batch"),
    ("decode", "usd_per_million"): ("price", "usd_per_million_output"),
    ("full", "usd_per_million"): ("price", "usd_per_million_input"),
    ("decode", "joules"): ("energy", "joule_per_output_token"),
    ("full", "joules"): ("energy", "joule_per_input_token"),
    ("decode", "weights.bytes"): ("memory", "weights_bytes"),
    ("decode", "memory.capacity"): ("memory", "capacity_bytes"),
    ("decode", "memory.usable"): ("memory", "usable_bytes"),
    ("decode", "request.cache"): ("memory", "kv_bytes_per_request"),
    ("decode", "request.activations"): ("memory", "activation_bytes_per_request", "decode"),
    ("full", "request.activations"): ("memory", "activation_bytes_per_request", "prefill"),
    ("decode", "share.memory"): ("decode", "share", "memory"),
    ("prefill", "share.compute"): ("prefill", "share", "compute"),
}


@pytest.fixture(scope="module")
def documents(site):
    folder = site / "data" / "inference"
    return {name: json.loads((folder / f"{name.replace('/', '--')}.json").read_text("utf-8")) for name in NAMES}


@cache
def answer(command, name):
    """What the command line prints, as JSON, for the checkpoint behind a made-up name."""
    words = shlex.split(command)
    assert words[0] == "rooflight"
    words[words.index(name)] = REAL[name][0]
    done = CliRunner().invoke(main, [*words[1:], *([] if "--json" in words else ["--json"])])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def same(shown, printed):
    """Whole numbers are equal; sums of floats may end differently where they were added in another order."""
    if isinstance(printed, int) and not isinstance(printed, bool):
        return shown == printed
    return math.isclose(shown, printed, rel_tol=1e-12, abs_tol=0)


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_is_what_the_estimate_prints(documents, name):
    printed = answer(documents[name]["command"], name)
    assert printed.pop("fits_on") is None  # of what does not fit, where it would
    steps = {
        phase: {key: value for key, value in printed[phase].items() if key != "kernels"}
        for phase in ("decode", "prefill")
    }
    assert documents[name]["summary"] == printed | steps | {"model": name}


@pytest.mark.parametrize("name", NAMES)
def test_tiles_show_what_the_estimate_prints(documents, name):
    document = documents[name]
    printed = answer(document["command"], name)
    for (step, figure), path in TILES.items():
        expected = printed
        for word in path:
            expected = expected[word]
        quantity = document["books"][step]["quantities"][document["steps"][step]["figures"][figure]]
        assert same(quantity["value"], expected), (step, figure)
        assert quantity["exact"] == digits(expected) or isinstance(expected, float)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_the_rows_that_the_estimate_prints(documents, name, phase):
    document = documents[name]
    printed = answer(document["command"], name)[phase]["kernels"]
    shown = document["steps"][phase]["kernels"]
    quantities = document["books"][phase]["quantities"]
    assert [row["id"] for row in shown] == [row["id"] for row in printed]
    for row, expected in zip(shown, printed, strict=True):
        for key in ("op", "members", "shape", "layout", "operands", "runs_in", "group", "axes", "algorithm", "bound"):
            assert row.get(key) == expected.get(key), (row["id"], key)
        for figure in KERNEL_FIGURES:
            value = quantities[row["figures"][figure]]["value"] if figure in row["figures"] else 0
            assert same(value, expected.get(figure, 0)), (row["id"], figure)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("name", NAMES)
def test_the_rows_add_up_to_the_step(documents, name, phase):
    step, quantities = documents[name]["steps"][phase], documents[name]["books"][phase]["quantities"]
    for figure in KERNEL_FIGURES[1:]:
        keys = [row["figures"][figure] for row in step["kernels"] if figure in row["figures"]]
        whole = quantities[step["figures"]["step_s" if figure == "seconds" else figure]]["value"]
        assert math.isclose(math.fsum(quantities[key]["value"] for key in keys), whole, rel_tol=1e-9), figure


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_memory_fill_the_gpu(documents, name):
    for step in ("decode", "full"):
        keys, quantities = documents[name]["steps"][step]["figures"], documents[name]["books"][step]["quantities"]
        parts = ("weights.bytes", "cache.bytes", "activations.peak", "memory.left", "memory.unusable")
        held = sum(quantities[keys[part]]["value"] for part in parts)
        assert held == quantities[keys["memory.capacity"]]["value"]
        assert quantities[keys["memory.over"]]["value"] == 0


@pytest.mark.parametrize("chart", ["gpus", "batch"])
@pytest.mark.parametrize("name", NAMES)
def test_charts_are_what_the_sweep_prints(documents, name, chart):
    sweep = documents[name]["charts"][chart]
    columns = (sweep["x"], sweep["series"], *CHART_COLUMNS)
    printed = answer(sweep["command"], name)
    assert [[row[key] for key in columns] for row in sweep["rows"]] == [
        [row[key] for key in columns] for row in printed
    ]
    assert set(sweep["names"]) == {str(row[sweep["series"]]) for row in printed}


def test_a_point_of_the_chart_over_gpus_is_the_headline(documents):
    document = documents["drift-ai/drift2"]  # its plan is the site's own choice
    tile = document["books"]["decode"]["quantities"][document["steps"]["decode"]["figures"]["tok_s_gpu"]]
    gpus, gpu = document["summary"]["deployment"]["gpus"], document["asked"]["gpu"]
    (point,) = [row for row in document["charts"]["gpus"]["rows"] if (row["gpus"], row["gpu"]) == (gpus, gpu)]
    assert same(point["tok_s_gpu"], tile["value"])
    assert point["tok_s_gpu_text"] == tile["text"]
    assert point["held_text"].endswith("on the GPU")


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_what_its_formula_command_gives(documents, name):
    """Every ninth figure of each step, and all those of the step itself."""
    asked = 0
    for step, book in documents[name]["books"].items():
        chosen = {*documents[name]["steps"][step]["figures"].values(), *list(book["quantities"])[::9]}
        for key in sorted(chosen):
            quantity = book["quantities"][key]
            command = quantity.get("command", f"{book['command']['before']} {key} {book['command']['after']}")
            if " formula " not in command:
                assert command == documents[name]["command"]
                continue
            asked += 1
            printed = answer(command, name)
            assert same(quantity["value"], printed["value"]), command
            # Factors stand in the order in which a formula was first written, so equal ones may print apart.
            assert set(printed["symbols"]) == set(documents[name]["formulas"][quantity["formula"]]["symbols"])
    assert asked > 30


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_finds_the_value_of_every_part_and_symbol(documents, name):
    """What a tip needs: a value for each named part at any depth, and for each symbol in it."""
    formulas = documents[name]["formulas"]

    def parts(formula):
        for part in formulas[formula]["definitions"]:
            yield part["formula"]
            yield from parts(part["formula"])

    for book in documents[name]["books"].values():
        for quantity in book["quantities"].values():
            for formula in {quantity["formula"], *parts(quantity["formula"])}:
                assert set(formulas[formula]["symbols"]) <= set(book["symbols"])
                assert formula == quantity["formula"] or formula in book["values"]


def test_a_figure_that_its_formula_does_not_give_is_refused():
    space = Space()
    book = StepBook("org/name decode", {"B": (8, "sequences")}, Formulas(nested=True))
    assert book.add(Quantity("k", "label", 16, "sequence", 2 * space.symbol("B"))) == "k"
    with pytest.raises(ValueError, match=r"org/name decode: other is 17, and its formula 2·B gives 16"):
        book.add(Quantity("other", "label", 17, "sequence", 2 * space.symbol("B")))
    with pytest.raises(ValueError, match="one key, one figure"):
        book.add(Quantity("k", "label", 8, "sequence", space.symbol("B")))
    with pytest.raises(TypeError, match="a page shows only Quantity"):
        book.add(16)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_is_deployed_and_by_whom_it_is_priced(documents, site, name):
    page = (site / "models" / name / "inference" / "index.html").read_text("utf-8")
    document = documents[name]
    for line in document["summary"]["assumptions"]:
        assert line.partition("`")[0].replace("'", "&#39;") in page
    assert document["command"].replace("'", "&#39;") in page
    assert plan(document["asked"]["plan"]) in page
    assert ("Extrapolated beyond" in page) == document["summary"]["beyond_published_context"]
    assert "copied, not opened" in page


def test_both_pages_of_a_model_link_each_other_and_others_stand_alone(site):
    inspector = (site / "models" / NAMES[0] / "index.html").read_text("utf-8")
    inference = (site / "models" / NAMES[0] / "inference" / "index.html").read_text("utf-8")
    assert '<a href="inference/">Inference</a>' in inspector
    assert '<a href="../">Inspector</a>' in inference
    alone = (site / "models" / "borealis" / "Nord-7b-hf" / "index.html").read_text("utf-8")
    assert 'class="views"' not in alone
    assert f"data/inference/{NAMES[0].replace('/', '--')}.json" not in alone
    listed = (Path(site) / "data" / "index.html").read_text("utf-8")
    assert f'href="inference/{NAMES[0].replace("/", "--")}.json"' in listed
    assert 'href="schema/inference-1.json"' in listed
    assert f"models/{NAMES[0]}/inference/" in (site / "search" / "search_index.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("attn_dp=1", "the whole model on one GPU"),
        ("attn_dp=8,ep=8", "attention DP 8, expert parallel 8"),
        ("attn_tp=4,cp=2,etp=2,pp=2", "attention TP 4, context parallel 2, expert TP 2, pipeline stages 2"),
    ],
)
def test_a_plan_in_words(words, said):
    assert plan(words) == said


@pytest.mark.parametrize(
    ("gpus", "ranks", "said"),
    [(1, 1, "on the GPU"), (8, 8, "per GPU"), (8, 1, "on 8 GPUs together"), (16, 4, "per rank of 4 GPUs")],
)
def test_where_the_sequences_of_a_rank_stand(gpus, ranks, said):
    assert per_rank({"gpus": gpus, "ranks": ranks}) == said
