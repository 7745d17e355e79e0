"""Plans as words, which of them a model can run under, and what the refused ones are told."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.material import snapshot
from plans.deployed import DENSE, EXPERTS, GPT2, GPT_OSS, LLAMA, MIXTRAL, QWEN_MOE, TIED, V2_LITE, V3, laid, model, part
from readings import llama_like
from rooflight import api
from rooflight.api.memory import deployment
from rooflight.api.plans import MAX_GPUS, nearest_plan, parse_plan, plan_words, plans, refusals
from rooflight.edge.front import load
from rooflight.layout import AXES, Plan, degrees
from rooflight.values import SpecError

degree = st.integers(1, MAX_GPUS)
any_plan = st.tuples(*(degree for _ in Plan._fields)).map(Plan._make)


def small_plans(degrees, count):
    """Plans whose first degrees are of a few."""
    return st.tuples(*(st.sampled_from(degrees) for _ in range(count))).map(lambda first: Plan(*first))


# ---------------------------------------------------------------------------------------------------- words


@given(any_plan)
def test_words_and_back(plan):
    assert parse_plan(plan_words(plan)) == plan


@given(any_plan, st.randoms())
def test_order_and_blanks_do_not_matter(plan, random):
    parts = [f" {name} =  {value} " for name, value in plan._asdict().items()]
    random.shuffle(parts)
    assert parse_plan(",".join(parts)) == plan


def read(text):
    try:
        return parse_plan(text), None
    except SpecError as error:
        return None, error


@given(st.text(max_size=300) | st.from_regex(r"\A(attn_dp|attn_tp|ep|\w+)=[-+0-9_.eE٣]*(,\w*=?\d*)*\Z"))
def test_any_text_is_a_plan_or_refused(text):
    plan, error = read(text)
    if error is None:
        assert all(type(value) is int and 1 <= value <= MAX_GPUS for value in plan)
    else:
        assert error.code == "bad-plan"
        assert len(str(error)) < 2_000
        assert error.got.isprintable()


REFUSED = {
    "an unknown word": (
        "tp=8",
        """
        bad-plan at plan
          expected  one of attn_dp, attn_tp, cp, ep, etp, pp, replicas
          got       tp
          fix       you may have intended attn_tp""",
    ),
    "a word that resembles none": (
        "gpus=8",
        """
        bad-plan at plan
          expected  one of attn_dp, attn_tp, cp, ep, etp, pp, replicas
          got       gpus
          fix       remove it, or use one of the expected words""",
    ),
    "no number": (
        "attn_tp",
        """
        bad-plan at plan attn_tp
          expected  a whole number from 1 to 4096
          got       ''
          fix       attn_tp=1""",
    ),
    "zero": (
        "attn_tp=0",
        """
        bad-plan at plan attn_tp
          expected  a whole number from 1 to 4096
          got       '0'
          fix       attn_tp=1""",
    ),
    "less than nothing": (
        "ep=-8",
        """
        bad-plan at plan ep
          expected  a whole number from 1 to 4096
          got       '-8'
          fix       ep=1""",
    ),
    "a fraction": (
        "ep=1.5",
        """
        bad-plan at plan ep
          expected  a whole number from 1 to 4096
          got       '1.5'
          fix       ep=1""",
    ),
    "digits of another script": (
        "ep=٣",
        """
        bad-plan at plan ep
          expected  a whole number from 1 to 4096
          got       '٣'
          fix       ep=1""",
    ),
    "too many": (
        "attn_dp=4097",
        """
        bad-plan at plan attn_dp
          expected  a whole number from 1 to 4096
          got       '4097'
          fix       attn_dp=1""",
    ),
    "too many behind zeros": (
        "attn_dp=000001234567",
        """
        bad-plan at plan attn_dp
          expected  a whole number from 1 to 4096
          got       '000001234567'
          fix       attn_dp=1""",
    ),
    "twice": (
        "ep=2,ep=2",
        """
        bad-plan at plan
          expected  every degree once
          got       ep twice
          fix       keep one of the two""",
    ),
    "a colour for the terminal": (
        "\x1b[31mep=2",
        """
        bad-plan at plan
          expected  one of attn_dp, attn_tp, cp, ep, etp, pp, replicas
          got       '\\x1b[31mep'
          fix       remove it, or use one of the expected words""",
    ),
    "more digits than a number may have": (
        "ep=" + "1" * 5_000,
        """
        bad-plan at plan
          expected  at most 256 characters
          got       5003
          fix       name each degree once""",
    ),
}


def told(message):
    lines = message.strip("\n").splitlines()
    return "\n".join(line.removeprefix(" " * 8) for line in lines)


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_whole_messages(text, message):
    with pytest.raises(SpecError) as caught:
        parse_plan(text)
    assert str(caught.value) == told(message)


@pytest.mark.parametrize("gpus", [0, -1, MAX_GPUS + 1])
def test_gpus_out_of_bounds(gpus):
    with pytest.raises(SpecError) as caught:
        plans(model(LLAMA), gpus)
    assert str(caught.value) == told(f"""
        bad-plan at gpus
          expected  a whole number from 1 to 4096
          got       {gpus}
          fix       choose fewer""")


# -------------------------------------------------------------------------------------------------- degrees


@given(small_plans((1, 2, 3, 4, 6, 8, 12), 5))
def test_degrees_of_a_plan_that_can_be_laid(plan):
    """The mesh has as many GPUs as the stage, attention sees dp, tp and cp, experts ep and etp of the same GPUs."""
    if not laid(plan):
        return
    found = degrees(plan)
    assert tuple(sorted(found)) == tuple(sorted(AXES))

    def size(*names):
        total = 1
        for name in names:
            total *= found[name]
        return total

    assert size("dp_r", "dp_e", "dp_t") == plan.attn_dp
    assert size("tp_r", "tp_e", "tp_t") == plan.attn_tp
    assert size("cp_r", "cp_e") == plan.cp
    assert size("dp_e", "tp_e", "cp_e") == plan.ep
    assert size("dp_t", "tp_t") == plan.etp
    assert plan.stage_gpus % (plan.ep * plan.etp) == 0


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.data())
def test_powers_of_two_can_always_be_laid(dp, tp, cp, data):
    """Unless parts of experts would have to go over context, which cuts no expert."""
    ep = data.draw(st.integers(0, dp + tp + cp))
    etp = data.draw(st.integers(0, min(dp + tp, dp + tp + cp - ep)))
    assert laid(Plan(2**dp, 2**tp, 2**cp, 2**ep, 2**etp))


# ------------------------------------------------------------------------------------------- valid, or why not


@pytest.mark.parametrize("name", [*DENSE, *EXPERTS])
@pytest.mark.parametrize("gpus", [1, 8, 12])
def test_every_plan_of_some_gpus_is_listed_once(name, gpus):
    found = plans(model(name), gpus)
    listed = [verdict.plan for verdict in found]
    assert len(set(listed)) == len(listed)
    assert all(plan.gpus == gpus for plan in listed)
    valid = [not verdict.refusals for verdict in found]
    assert valid == sorted(valid, reverse=True), "valid ones come first"
    assert valid[0]


@pytest.mark.parametrize("name", [LLAMA, GPT_OSS, V2_LITE, V3])
def test_every_listed_valid_plan_evaluates(name):
    for verdict in plans(model(name), 8):
        if verdict.refusals:
            continue
        for phase in ("prefill", "decode"):
            one = part(name, verdict.plan, phase, context=32)
            assert one.total(one.device.stored_bytes) > 0
            assert one.total(one.device.matmul) > 0
            assert one.total(one.device.cache_bytes) > 0


FIX = re.compile(r"([a-z_]+)=([0-9]+)")
SAYS_SO = {
    "plan-experts": "use attn_tp",
    "plan-layout": "choose an etp that divides attn_tp × attn_dp, and an ep that divides what it leaves of the stage",
}


@pytest.mark.parametrize("name", [*DENSE, *EXPERTS])
@settings(max_examples=60, deadline=None)
@given(plan=small_plans((1, 2, 3, 4, 5, 6, 8, 16, 24, 32, 48, 64), 6))
def test_a_fix_removes_what_it_is_the_fix_of(name, plan):
    bound = model(name)
    for error in refusals(bound, plan):
        fix = FIX.fullmatch(error.fix)
        if fix is None:
            assert error.fix == SAYS_SO[error.code]
            continue
        word, value = fix.groups()
        again = refusals(bound, plan._replace(**{word: int(value)}))
        assert (error.code, error.where) not in {(e.code, e.where) for e in again}, f"{plan_words(plan)}: {error}"
        assert getattr(plan, word) > int(value)


@pytest.mark.parametrize("name", [LLAMA, GPT_OSS, V3])
@settings(max_examples=15, deadline=None)
@given(plan=small_plans((1, 2, 3, 4), 6))
def test_the_nearest_plan_is_valid_and_as_large(name, plan):
    bound = model(name)
    near = nearest_plan(bound, plan)
    assert refusals(bound, near) == ()
    assert near.gpus == plan.gpus
    if not refusals(bound, plan):
        assert near == plan


FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


def test_a_whole_weight_may_end_in_a_part_of_a_block():
    """10944 is 85 and a half blocks of 128: alone it runs, cut in two it does not."""
    config = {k: v for k, v in snapshot(V2_LITE, "config").items() if k != "torch_dtype"} | {"quantization_config": FP8}
    bound = load(config)
    assert bound.dims["d_ffn"] % 128
    assert refusals(bound, Plan()) == ()
    assert refusals(bound, Plan(attn_dp=4, ep=4)) == ()
    (error,) = refusals(bound, Plan(attn_tp=2))
    assert (error.code, error.fix) == ("plan-blocks", "attn_tp=1")
    assert refusals(bound, nearest_plan(bound, Plan(attn_tp=2))) == ()


REASONS = {
    "heads": (
        GPT2,
        "attn_tp=8",
        """
        plan-heads at plan attn_tp
          expected  a divisor of n_heads = 12
          got       8
          fix       attn_tp=6""",
    ),
    "experts of a dense model": (
        LLAMA,
        "attn_dp=2,ep=2",
        """
        plan-experts at plan ep
          expected  ep=1 and etp=1 in a model without experts
          got       ep=2, etp=1
          fix       use attn_tp""",
    ),
    "experts that do not divide": (
        MIXTRAL,
        "attn_dp=16,ep=16",
        """
        plan-experts at plan ep
          expected  a divisor of n_experts = 8
          got       16
          fix       ep=8""",
    ),
    "experts that cannot be laid": (
        QWEN_MOE,
        "attn_dp=2,ep=4",
        """
        plan-layout at plan
          expected  etp over attn_tp 1 × attn_dp 2, and ep over what is left and cp 1
          got       etp 1, ep 4
          fix       choose an etp that divides attn_tp × attn_dp, and an ep that divides what it leaves of the stage""",
    ),
    "stages": (
        TIED,
        "pp=29",
        """
        plan-stages at plan pp
          expected  at most 28 stages, one layer each
          got       29
          fix       pp=28""",
    ),
    "blocks": (
        V3,
        "attn_dp=32,etp=32",
        """
        plan-blocks at plan etp
          expected  d_expert 2048 / etp a multiple of the block of 128
          got       64
          fix       etp=16""",
    ),
}


@pytest.mark.parametrize(("name", "plan", "message"), REASONS.values(), ids=REASONS)
def test_whole_reasons(name, plan, message):
    (error,) = refusals(model(name), parse_plan(plan))
    assert str(error) == told(message)


def test_key_heads_and_query_heads_are_corrected_together():
    """Twelve heads over three key heads: 8 goes to 6, which repeats each key head; 4 would leave one key head over."""
    bound = load(llama_like(2, 192, 12, 3, 16, F=768))
    (error,) = refusals(bound, Plan(attn_tp=8))
    assert error.fix == "attn_tp=6"
    (error,) = refusals(bound, Plan(attn_tp=4))
    assert (error.expected, error.fix) == (
        "a divisor of n_kv_heads = 3, or a multiple, which repeats them",
        "attn_tp=3",
    )


def test_a_refused_plan_that_can_be_laid_is_evaluated_and_marked():
    said = deployment(model(GPT2), parse_plan("attn_tp=8"))
    assert (said["valid"], said["gpus"], [e["code"] for e in said["refusals"]]) == (False, 8, ["plan-heads"])
    assert parse_plan(said["nearest"]).gpus == 8
    one = part(GPT2, Plan(attn_tp=8))
    assert one.total(one.device.matmul) * 8 > sum(one.facts.matmul.values)


def test_a_plan_that_cannot_be_laid_names_one_that_can():
    with pytest.raises(SpecError) as caught:
        deployment(model(QWEN_MOE), parse_plan("attn_dp=2,ep=4"))
    near = parse_plan(caught.value.fix.removeprefix("the nearest plan is "))
    assert refusals(model(QWEN_MOE), near) == ()


@pytest.mark.parametrize("name", ["parse_plan", "plan_words", "plans"])
def test_the_door_offers_it(name):
    assert name in api.__all__


@pytest.mark.parametrize(
    ("base", "change", "plan"),
    [
        (V3, {"moe_intermediate_size": 1_536}, Plan(attn_tp=8, ep=8)),
        (QWEN_MOE, {"head_dim": 64, "num_key_value_heads": 4, "quantization_config": FP8}, Plan(attn_tp=4, ep=4)),
    ],
    ids=["the shared expert, 192 wide", "one key head of 64"],
)
def test_no_weight_is_cut_inside_a_block(base, change, plan):
    bound = load(snapshot(base, "config") | change)
    assert {error.code for error in refusals(bound, plan)} == {"plan-blocks"}


@pytest.mark.parametrize(("etp", "width"), [(1, 2_880), (2, 1_440), (4, 736), (8, 384)])
def test_blocks_that_do_not_divide_are_filled_up(etp, width):
    """90 blocks of 32 over 8 GPUs: 12 each, as loaders of such checkpoints lay them; no plan is refused for it."""
    plan = Plan(attn_tp=etp, etp=etp)
    assert refusals(model(GPT_OSS), plan) == ()
    one = part(GPT_OSS, plan)
    rows = {s.node.id: i for i, s in enumerate(one.program.steps)}
    down = rows["layers.full.ffn.experts.down_proj"]
    gate = rows["layers.full.ffn.experts.gate_up_proj"]
    assert one.device.shape[gate][-1] == 2 * width
    stored = 2_880 * (width // 32) * 17  # sixteen bytes and a scale for every block
    assert one.device.stored_bytes[down] == stored + 2_880 * 2


def test_one_group_over_a_whole_column_is_cut_like_its_scale_is_not_there():
    config = snapshot(LLAMA, "config") | {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": -1}}
    bound = load(config)
    assert refusals(bound, Plan(attn_tp=8)) == ()
    assert deployment(bound, Plan())["valid"]


@pytest.mark.parametrize(
    ("name", "precision", "plan", "codes"),
    [
        (QWEN_MOE, "factory", Plan(attn_tp=4, etp=4), set()),
        (QWEN_MOE, "fp8", Plan(attn_tp=4, etp=4), {"plan-blocks"}),
        (V3, "factory", Plan(attn_tp=32), {"plan-blocks"}),
        (V3, "bf16", Plan(attn_tp=32), set()),
    ],
)
def test_blocks_are_those_of_what_is_deployed(name, precision, plan, codes):
    assert {error.code for error in refusals(model(name), plan, precision)} == codes


def test_ulysses_cuts_heads_over_context_too():
    assert refusals(model(GPT2), Plan(cp=8)) == ()
    (error,) = refusals(model(GPT2), Plan(cp=8), ulysses=True)
    assert (error.code, error.where, error.got, error.fix) == ("plan-heads", "plan attn_tp × cp", "8", "attn_tp × cp=6")
    assert refusals(model(GPT2), Plan(cp=6), ulysses=True) == ()


def test_a_replica_beyond_the_bound_is_refused():
    with pytest.raises(SpecError) as caught:
        deployment(model(GPT2), Plan(attn_dp=4096, cp=2))
    assert (caught.value.code, caught.value.got) == ("bad-plan", "8192")
