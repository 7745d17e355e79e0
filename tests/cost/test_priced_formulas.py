"""Formulas of seconds and prices give the numbers, for every figure and every row."""

from math import isclose

import pytest

from plans.deployed import GPT2, LLAMA, MIXTRAL, PHASES, QWEN_MOE, V3, model
from rooflight import api
from rooflight.edge.machines import open_gpu
from rooflight.expr import Expr, evaluate, free_symbols, text
from rooflight.layout import Plan
from rooflight.values import SpecError

CASES = [
    (LLAMA, "h100", Plan()),
    (LLAMA, "h100", Plan(attn_dp=2, attn_tp=8)),
    (LLAMA, "tpu-v6e", Plan(attn_tp=8, cp=3)),
    (QWEN_MOE, "mi300x", Plan(attn_dp=2, attn_tp=4, ep=8)),
    (QWEN_MOE, "trainium2", Plan(attn_dp=4, ep=4)),
    (V3, "h200", Plan(attn_dp=16, ep=16)),
    (V3, "gb200-nvl72", Plan(attn_dp=2, attn_tp=4, ep=4, etp=2)),
]
TERMS = api.Terms(tokens=2.5, usable=0.8, reserve_bytes=1 << 30, usd=3.0)


def step_of(name, gpu, plan, phase, terms=TERMS, **sizes):
    bound = model(name)
    sizes = {"batch": 3, "context": 512, **sizes}
    return api.PricedStep(api.timed(bound, api.step_size(bound, phase, **sizes), plan, open_gpu(gpu)), terms)


def value_of(formula, values, memo):
    return evaluate(formula, values, memo) if isinstance(formula, Expr) else formula


def same(left, right):
    return isclose(float(left), float(right), rel_tol=1e-12)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("name", "gpu", "plan"), CASES, ids=[f"{c[0].split('/')[1]}-{c[1]}" for c in CASES])
def test_a_formula_is_its_number(name, gpu, plan, phase):
    priced = step_of(name, gpu, plan, phase, ep_load_factor=1.25)
    memo = {}
    for figure in (*api.PRICED_FIGURES, *api.GPU_FIGURES):
        found = priced.quantity(figure)
        assert isinstance(found.formula, Expr) or found.value == 0, figure
        assert same(value_of(found.formula, priced.values, memo), found.value), found.key
    assert all(isinstance(priced.quantity(figure).formula, Expr) for figure in ("step_s", "max_batch", "memory.left"))
    seen = set()
    for line in priced.timed.lines:
        for figure in api.ROW_FIGURES:
            found = priced.quantity(figure, line.id)
            assert same(value_of(found.formula, priced.values, memo), found.value), found.key
            seen |= {figure} if found.value else set()
    exchanged = {"communication_s", "sent_bytes"}
    assert seen == set(api.ROW_FIGURES) - (exchanged if plan.stage_gpus == 1 else set()), "every figure is met"


@pytest.mark.parametrize(
    ("name", "gpu", "plan"),
    [
        (GPT2, "tpu-v7x", Plan(attn_dp=2, attn_tp=12)),
        (MIXTRAL, "trainium2", Plan(attn_dp=6, attn_tp=4, ep=8)),
        (MIXTRAL, "trainium2", Plan(attn_dp=12, attn_tp=6, ep=2)),
        (LLAMA, "h100", Plan(attn_dp=5, attn_tp=3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("batch", [1, 8, 4096])
def test_groups_that_lie_differently_have_a_formula_too(name, gpu, plan, batch):
    """The group that has it worst decides, by an algorithm that another group may not even have."""
    priced = step_of(name, gpu, plan, "decode", batch=batch)
    place = priced.timed.machine.place
    assert any(len(place.spans(line.move.group)) > 1 for line in priced.timed.lines if line.move is not None)
    found = priced.quantity("step_s")
    assert same(value_of(found.formula, priced.values, {}), found.value)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", [LLAMA, QWEN_MOE])
def test_figures_of_rows_are_those_of_the_report(name, phase):
    priced = step_of(name, "h100", Plan(attn_dp=2, attn_tp=2, **({} if name == LLAMA else {"ep": 4})), phase)
    rows = {row["id"]: row for row in priced.timed.rows()}
    assert set(rows) == {line.id for line in priced.timed.lines}
    for node, row in rows.items():
        for figure in api.ROW_FIGURES:
            assert same(priced.quantity(figure, node).value, row.get(figure, 0)), (node, figure)
    assert same(priced.quantity("step_s").value, max(priced.timed.seconds))


def test_figures_follow_from_each_other():
    priced = step_of(QWEN_MOE, "h100", Plan(attn_dp=2, attn_tp=2, ep=4), "decode")
    found = {name: float(priced.quantity(name).value) for name in api.PRICED_FIGURES}
    assert same(found["tok_s_user"], 2.5 / found["step_s"])
    assert same(found["tok_s_gpu"], 3 * 2 * 2.5 / found["step_s"] / 4)
    assert same(found["usd_per_million"], 3.0 / 3600 / found["tok_s_gpu"] * 1e6)


def test_a_prefill_step_counts_its_prompts():
    priced = step_of(LLAMA, "h100", Plan(attn_tp=2), "prefill", context=512)
    seconds = float(priced.quantity("step_s").value)
    assert same(priced.quantity("tok_s_gpu").value, 3 * 512 / seconds / 2)


@pytest.mark.parametrize("name", [LLAMA, QWEN_MOE, V3])
@pytest.mark.parametrize("phase", PHASES)
def test_the_batch_that_fits_is_that_of_memory(name, phase):
    plan = Plan(attn_dp=2, attn_tp=4, ep=1 if name == LLAMA else 8)
    gpu = open_gpu("mi355x")
    priced = step_of(name, "mi355x", plan, phase, context=2_048 if phase == "decode" else 1_024)
    held = api.memory(
        model(name),
        plan,
        gpu.memory_bytes,
        input_tokens=1_024,
        output_tokens=1_024,
        usable=TERMS.usable,
        reserve_bytes=TERMS.reserve_bytes,
    )
    assert priced.quantity("max_batch").value == held[f"max_batch_{phase}"] > 0


def test_a_formula_names_what_it_is_made_of():
    """Rates are symbols, so that another GPU's figures can be put in: halving all rates doubles the step."""
    priced = step_of(LLAMA, "h100", Plan(attn_tp=8), "decode")
    formula = priced.quantity("step_s").formula
    rates = {"bw", "bw_up", "lat_up", "r_BF16", "r_vector"}
    assert rates <= set(free_symbols(formula)) <= set(priced.values)
    assert set(priced.meanings) >= rates
    slower = {
        **priced.values,
        **{key: priced.values[key] * (2 if key == "lat_up" else 0.5) for key in rates},
    }
    assert same(evaluate(formula, slower), 2 * evaluate(formula, priced.values))
    assert "max(compute_norm_norm, memory_norm_norm)" in text(formula), "the resource that takes longest"


def refusal(make):
    with pytest.raises(SpecError) as caught:
        make()
    return str(caught.value)


def test_what_cannot_be_asked():
    priced = step_of(LLAMA, "h100", Plan(), "decode", terms=api.Terms())
    known = ", ".join((*api.PRICED_FIGURES, *api.GPU_FIGURES))
    assert refusal(lambda: priced.quantity("step")) == (
        f"unknown-figure at step\n  expected  one of {known}\n"
        "  got       step\n  fix       you may have intended step_s"
    )
    known = ", ".join(("count", *api.ROW_FIGURES))
    assert refusal(lambda: priced.quantity("second", "norm.norm")) == (
        "unknown-figure at decode.second/norm.norm\n"
        f"  expected  one of {known}\n"
        "  got       second\n"
        "  fix       you may have intended seconds"
    )
    assert refusal(lambda: priced.quantity("seconds", "norm.nor")) == (
        "unknown-node at norm.nor\n"
        "  expected  a kernel of `rooflight estimate`\n"
        "  got       norm.nor\n"
        "  fix       you may have intended norm.norm"
    )
    assert refusal(lambda: priced.quantity("usd_per_million")) == (
        "missing-fact at price\n"
        "  expected  what a GPU-hour costs\n"
        "  got       nobody says\n"
        "  fix       give it with --price, or list it"
    )
    assert refusal(lambda: step_of(LLAMA, "h100", Plan(pp=2), "decode").quantity("step_s")) == (
        "bad-plan at plan pp\n  expected  pp=1 for a formula\n  got       2\n  fix       leave pp out: stages differ"
    )
