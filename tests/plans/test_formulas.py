"""The same Program bound to symbols gives one GPU's formulas, with degrees and ceilings in them; formula = number."""

import re
from math import isclose

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.deployed import DENSE, EXPERTS, FAMILIES, LLAMA, PHASES, V3, _program, kernels, model, part, plans_of
from rooflight import api
from rooflight.analysis import evaluate
from rooflight.derive.device import device
from rooflight.edge import front
from rooflight.edge.cli import main
from rooflight.expr import Space, from_json, text
from rooflight.expr import evaluate as value_of
from rooflight.layout import AXES, Plan, degrees
from rooflight.values import SpecError
from rooflight.walk import Family

COLUMNS = (
    "matmul",
    "other",
    "stored_bytes",
    "weight_bytes",
    "activation_bytes",
    "kv_bytes",
    "written_bytes",
    "cache_bytes",
    "copies",
)
_KNOWN = {}


def formulas(name, phase, family):
    """One GPU's part with everything a symbol, degrees included."""
    key = name, phase, family
    if key not in _KNOWN:
        space = Space()
        bound, program = model(name), _program(*key)
        step = api.step_size(bound, phase, context=64)
        binding = {**api.symbols(bound, step, space), **{axis: space.symbol(axis, minimum=1) for axis in AXES}}
        _KNOWN[key] = device(program, evaluate(program, binding), binding)
    return _KNOWN[key]


def same(left, right):
    return left == right or isclose(left, right, rel_tol=1e-9)


@pytest.mark.parametrize("name", [*DENSE, *EXPERTS])
@pytest.mark.parametrize("phase", PHASES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_formula_is_number(name, phase, data):
    plan, family = data.draw(plans_of(name)), data.draw(st.sampled_from(FAMILIES))
    batch, context = data.draw(st.integers(1, 5)), data.draw(st.sampled_from((64, 96)))
    numbers = part(name, plan, phase, family, batch, context)
    symbolic = formulas(name, phase, family)
    step = api.step_size(numbers.model, phase, batch=batch * plan.attn_dp, context=context)
    values, memo = {**api.symbol_values(numbers.model, step), **degrees(plan)}, {}
    for column in COLUMNS:
        for row, formula, number in zip(
            numbers.program.steps, getattr(symbolic, column), getattr(numbers.device, column), strict=True
        ):
            assert same(value_of(formula, values, memo), number), (column, row.node.id)
    for mine, theirs in zip(symbolic.shape, numbers.device.shape, strict=True):
        assert tuple(value_of(length, values, memo) for length in mine) == theirs
    for mine, theirs in zip(
        (*symbolic.collectives, symbolic.ends), (*numbers.device.collectives, numbers.device.ends), strict=True
    ):
        for formula, number in zip(mine, theirs, strict=True):
            assert (formula.kind, formula.group) == (number.kind, number.group)
            assert same(value_of(formula.sent, values, memo), number.sent), (formula.kind, formula.node)


def written(name, phase, column, node, family=None):
    found = formulas(name, phase, family or Family())
    at = next(i for i, s in enumerate(_program(name, phase, family or Family()).steps) if s.node.id == node)
    return text(getattr(found, column)[at])


def test_a_formula_divides_by_the_degrees_that_cut_it():
    heads = written(LLAMA, "prefill", "matmul", "layers.attention.q_proj")
    assert re.search(r"⌈n_heads/\(?tp_r·tp_e·tp_t\)?⌉", heads), heads
    assert re.search(r"⌈B/\(?dp_r·dp_e·dp_t\)?⌉", heads), heads
    width = written(LLAMA, "prefill", "stored_bytes", "layers.ffn.down_proj")
    assert re.search(r"⌈d_ffn/\(?tp_r·tp_e·tp_t\)?⌉", width), width


def test_a_latent_divides_by_no_head():
    assert "tp" not in written(V3, "decode", "cache_bytes", "layers.moe.attention.kv_a_layernorm")


def test_experts_divide_by_the_degrees_they_are_spread_over():
    copies = written(V3, "decode", "copies", "layers.moe.ffn.experts.down_proj")
    assert re.search(r"⌈n_experts/\(?dp_e·tp_e·cp_e\)?⌉", copies), copies
    assert "n_experts" not in written(V3, "decode", "stored_bytes", "layers.moe.ffn.experts.down_proj")


def test_a_degree_of_one_leaves_no_term():
    """Bound to 1, a degree vanishes from the formula, and with it whatever only moved between GPUs."""
    space = Space()
    bound, program = model(LLAMA), _program(LLAMA, "prefill", Family())
    step = api.step_size(bound, "prefill", context=64)
    binding = {**api.symbols(bound, step, space), **degrees(Plan())}
    one = device(program, evaluate(program, binding), binding)
    assert all(c.sent == 0 for found in (*one.collectives, one.ends) for c in found)
    assert text(one.stored_bytes[1]) == "d_model·b_w"
    at = next(i for i, s in enumerate(program.steps) if s.node.id.endswith("q_proj"))
    assert text(one.matmul[at]) == text(evaluate(program, binding).matmul.values[at])


def test_a_model_without_experts_divides_by_dp_and_tp():
    space = Space()
    bound, program = model(LLAMA), _program(LLAMA, "decode", Family())
    step = api.step_size(bound, "decode", context=64)
    coarse = {**degrees(Plan()), "dp_r": space.symbol("dp", minimum=1), "tp_r": space.symbol("tp", minimum=1)}
    binding = {**api.symbols(bound, step, space), **coarse}
    one = device(program, evaluate(program, binding), binding)
    at = {s.node.id: i for i, s in enumerate(program.steps)}
    assert text(one.stored_bytes[at["layers.attention.q_proj"]]) == "⌈n_heads/tp⌉·d_head·d_model·b_w"
    assert text(one.cache_bytes[at["layers.attention.k_rope"]]) == "⌈B/dp⌉·T·⌈n_kv_heads/tp⌉·d_head·b_kv"
    (reduced,) = one.collectives[at["layers.attention_residual"]]
    assert text(reduced.sent) == "2·⌈B/dp⌉·d_model·b_a·(tp - 1)/tp"


SHOWN = {
    LLAMA: ("attn_tp=4", "cp=2,attn_tp=2", "attn_dp=2"),
    V3: ("attn_dp=8,ep=8", "attn_tp=4,attn_dp=2,ep=4,etp=2", "attn_tp=8,cp=2,ep=2,etp=8"),
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("name", "words"), [(name, words) for name, plans in SHOWN.items() for words in plans])
@pytest.mark.parametrize("key", list(api.GPU_FIGURES))
def test_a_gpus_figure_is_what_its_formula_gives(name, words, phase, key):
    """What `formula --plan` prints evaluates, at the values it prints, to the number it prints, as estimate does."""
    deployed = api.Deployed(model(name), api.step_size(model(name), phase, context=512), api.parse_plan(words))
    shown = api.explain_gpu(deployed, key)
    formula = from_json(shown["graph"], Space())[shown["key"]]
    assert same(value_of(formula, {symbol: one["value"] for symbol, one in shown["symbols"].items()}), shown["value"])
    rows = kernels(deployed)
    column = {"matmul_flops": "matmul_flops", "kv_bytes": "kv_bytes", "sent_bytes": "sent_bytes"}.get(key)
    if column is not None:
        assert same(sum(row.get(column, 0) for row in rows), shown["value"])


def test_a_degree_goes_by_its_plain_name_where_that_is_clear():
    deployed = api.Deployed(model(LLAMA), api.step_size(model(LLAMA), "prefill"), api.parse_plan("attn_tp=4"))
    shown = api.explain_gpu(deployed, "cache.bytes")
    assert shown["where"] == {"cache_bytes_layers": "2·B·T·⌈n_kv_heads/tp⌉·d_head·b_kv"}
    assert shown["symbols"]["tp"] == {"value": 4, "meaning": "GPUs with other heads"}


def test_stages_have_no_formula():
    deployed = api.Deployed(model(LLAMA), api.step_size(model(LLAMA), "prefill"), api.parse_plan("pp=2"))
    with pytest.raises(SpecError, match="stages differ"):
        api.explain_gpu(deployed, "kv_bytes")


@pytest.mark.parametrize("precision", ["factory", "int4", "nvfp4"])
@pytest.mark.parametrize("words", ["attn_dp=1", "attn_tp=8,ep=8"])
def test_weights_are_the_checkpoints_in_either_phase(precision, words):
    """Absorbed latent attention reads parts of a weight, with scales of their own: what is stored is the weight."""
    plan = api.parse_plan(words)
    held = api.memory(model(V3), plan, 1 << 40, input_tokens=8, output_tokens=8, precision=precision)
    for phase in PHASES:
        deployed = api.Deployed(model(V3), api.step_size(model(V3), phase, precision=precision), plan)
        assert api.explain_gpu(deployed, "weights.bytes")["value"] == held["weights_bytes"]


def test_a_plan_that_cannot_run_says_so_beside_its_formula():
    shown = front.explain_gpu(LLAMA, "kv_bytes", "attn_tp=3")
    assert [reason["code"] for reason in shown["deployment"]["refusals"]] == ["plan-heads", "plan-width"]
    result = CliRunner().invoke(main, ["formula", LLAMA, "kv_bytes", "--plan", "attn_tp=3"])
    assert "cannot run a divisor of n_heads = 32; got 3" in result.output


@pytest.mark.parametrize(
    ("name", "value"), [("usable", float("nan")), ("usable", 2), ("output_tokens", -1), ("reserve_bytes", -1)]
)
def test_memory_of_impossible_sizes_is_refused(name, value):
    sizes = {"input_tokens": 8, "output_tokens": 8} | {name: value}
    with pytest.raises(SpecError) as caught:
        api.memory(model(LLAMA), Plan(), 1 << 40, **sizes)
    assert (caught.value.code, caught.value.where) == ("bad-step", name)
