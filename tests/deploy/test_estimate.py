"""The estimate as a whole: defaults, what refuses, what the terminal says, and the price."""

import json

import pytest
from click.testing import CliRunner

import rooflight
from rooflight import api
from rooflight.edge.cli import main
from rooflight.edge.front import asked, estimated, load, machine
from rooflight.values import SpecError

V3, SMALL, MOE, DENSE = "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-30B-A3B", "meta-llama/Meta-Llama-3-8B"


def run(*arguments):
    result = CliRunner().invoke(main, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_the_keys_that_programs_read():
    _, out, _ = run("estimate", V3, "--gpu", "b200", "--gpus", "8", "--plan", "attn_dp=8,ep=8", "--json")
    found = json.loads(out)
    assert {"batch", "step_s", "share", "tok_s_gpu", "tok_s_user", "kernels"} <= set(found["decode"])
    assert {"ttft_s", "share", "kernels", "saturated"} <= set(found["prefill"])
    assert set(found["price"]) == {
        "usd_per_gpu_hour",
        "source",
        "usd_per_million_input",
        "usd_per_million_output",
    }
    assert found["assumptions"]
    assert set(found["decode"]["share"]) == {"compute", "memory", "communication"}
    row = found["decode"]["kernels"][0]
    assert {"id", "op", "members", "count", "shape", "seconds", "bound", "weight_bytes"} <= set(row)


@pytest.mark.parametrize("gpu", ["h100", "b200", "tpu-v6e"])
@pytest.mark.parametrize(
    ("name", "gpus", "usual"),
    [
        (V3, 16, ["attn_dp=8,ep=8", "attn_dp=16,ep=16"]),
        (MOE, 4, ["attn_dp=1", "attn_dp=2,ep=2", "attn_dp=4,ep=4"]),
        (DENSE, 8, ["attn_tp=1", "attn_tp=2", "attn_tp=4", "attn_tp=8"]),
        (SMALL, 1, ["attn_dp=1"]),
    ],
)
def test_a_plan_is_chosen_where_none_is_named(name, gpu, gpus, usual):
    """Of the usual ones that hold a request the one whose GPUs put out most."""
    found = rooflight.estimate(name, gpu, gpus=gpus)
    assert found["deployment"]["valid"]
    assert found["deployment"]["gpus"] == gpus
    others = [rooflight.estimate(name, gpu, plan) for plan in usual]
    held = [one for one in others if one["memory"]["fits"]]
    if held:
        assert found["decode"]["tok_s_gpu"] == max(one["decode"]["tok_s_gpu"] for one in held)
        assert found["assumptions"][0].startswith("No plan was named: ")
        assert found["fits_on"] is None
    else:
        assert needed(found) == min(needed(one) for one in others)
        assert found["assumptions"][0].startswith("No plan was named, and none of the usual ones holds a request: ")


def needed(found):
    """Bytes of one request on the fullest GPU, weights included."""
    held = found["memory"]
    return held["weights_bytes"] + held["kv_bytes_per_request"] + max(held["activation_bytes_per_request"].values())


def test_what_does_not_fit_says_where_it_would():
    """The nearest plan, and the fewest GPUs that hold a request: 16 for 756 GiB of weights on 80 GiB each."""
    found = rooflight.estimate("meta-llama/Meta-Llama-3.1-405B", "h100", gpus=8)
    assert not found["memory"]["fits"]
    assert found["deployment"]["plan"] == "attn_tp=8"
    assert found["fits_on"] == {"gpus": 16, "plan": "attn_tp=8,pp=2"}
    assert rooflight.estimate("meta-llama/Meta-Llama-3.1-405B", "h100", gpus=16)["memory"]["fits"]
    text = run("estimate", "meta-llama/Meta-Llama-3.1-405B", "--gpu", "h100", "--gpus", "8", "--kernels", "0")[1]
    assert "a request fits on 16 of these GPUs: attn_tp=8,pp=2" in text
    assert "products in BF16" in text


def test_the_context_alone_leaves_the_prompts_as_they_were():
    said = "--context 4,096 is of decode; TTFT is of prompts of 1,024 tokens: --input sets them"
    assert said in run("estimate", SMALL, "--gpu", "l40s", "--context", "4k")[2]
    _, shown, warned = run("estimate", SMALL, "--gpu", "l40s", "--context", "4k", "--input", "2k", "--kernels", "0")
    assert said not in warned
    assert "TTFT, 2,048 tokens" in shown
    assert "no price of this GPU is known: --price sets one" in shown


def test_stages_are_tried_where_a_domain_is_too_small():
    found = rooflight.estimate("meta-llama/Meta-Llama-3.1-405B", "h100", gpus=16)
    assert found["memory"]["fits"]
    assert "pp=" in found["deployment"]["plan"]


def test_a_plan_is_repeated_to_fill_the_gpus():
    one = rooflight.estimate(DENSE, "h100", "attn_tp=2", batch=4)
    four = rooflight.estimate(DENSE, "h100", "attn_tp=2", gpus=8, batch=4)
    assert four["deployment"]["gpus"] == 8
    assert four["decode"]["step_s"] == one["decode"]["step_s"]
    assert four["decode"]["tok_s_gpu"] == one["decode"]["tok_s_gpu"]
    assert four["price"] == one["price"]
    assert four["decode"]["global_batch"] == 4 * one["decode"]["global_batch"]
    with pytest.raises(SpecError) as caught:
        rooflight.estimate(DENSE, "h100", "attn_tp=2", gpus=3)
    assert (caught.value.code, caught.value.fix) == ("bad-plan", "4 GPUs, or another plan")


def test_the_smallest_deployment_is_the_fewest_gpus_that_hold_it():
    gpu, listed = machine("h100")
    found = api.smallest(load(V3), gpu, listed=listed)
    assert found.memory["fits"]
    assert not api.suited(load(V3), gpu, found.plan.gpus // 2, api.Ask(), listed).memory["fits"]


def test_prices_are_of_all_gpus_of_a_replica():
    found = rooflight.estimate(V3, "b200", "attn_dp=8,ep=8", usd_per_gpu_hour=3.0)
    decode, full = found["decode"], found["prefill"]["saturated"]
    for word, rate in (("output", decode["tok_s_gpu"]), ("input", full["tok_s_gpu"])):
        assert found["price"][f"usd_per_million_{word}"] == pytest.approx(3.0 / 3600 / rate * 1e6)
    assert found["price"]["source"] == "as given"
    assert decode["tok_s_gpu"] == pytest.approx(decode["batch"] / decode["step_s"])
    assert decode["tok_s_user"] == pytest.approx(1 / decode["step_s"])
    assert full["tok_s_gpu"] == pytest.approx(full["batch"] * 1_024 / full["step_s"])
    assert found["energy"]["joule_per_output_token"] == pytest.approx(1_000 / decode["tok_s_gpu"])


def test_no_price_is_made_up():
    found = rooflight.estimate(SMALL, "h20")
    assert found["price"] == dict.fromkeys(
        ("usd_per_gpu_hour", "source", "usd_per_million_input", "usd_per_million_output")
    )


def test_guessing_ahead():
    plain, guessed = (rooflight.estimate(DENSE, "h100", batch=8, speculative=k, acceptance=0.5) for k in (0, 2))
    assert guessed["decode"]["tokens_per_step"] == 1 + 0.5 + 0.25
    assert guessed["decode"]["new_tokens"] == 3
    assert guessed["decode"]["step_s"] > plain["decode"]["step_s"]
    assert guessed["decode"]["tpot_s"] == pytest.approx(guessed["decode"]["step_s"] / 1.75)
    assert any("2 tokens are guessed ahead" in line for line in guessed["assumptions"])


def test_longer_contexts_take_more_memory_and_time_and_are_marked():
    short, long = (rooflight.estimate(DENSE, "h100", context=context) for context in (2_048, 16_384))
    assert long["memory"]["context"] == 16_384
    assert long["decode"]["batch"] < short["decode"]["batch"] / 7
    assert long["beyond_published_context"]
    assert any("extrapolated" in line for line in long["assumptions"])
    within = rooflight.estimate(DENSE, "h100", context=1_024)
    assert within["memory"] == short["memory"]


def test_what_does_not_fit_is_priced_and_marked():
    found = rooflight.estimate(V3, "b200")
    assert not found["memory"]["fits"]
    assert (found["decode"]["batch"], found["decode"]["fits"]) == (1, False)
    assert found["decode"]["step_s"] > 0
    assert "It does not fit: priced all the same." in found["assumptions"]


@pytest.mark.parametrize("pp", [2, 3])
def test_a_full_pipeline_goes_at_the_pace_of_its_slowest_stage(pp):
    found = estimated(DENSE, "h100", f"pp={pp}", ask=asked(batch=12))
    each = found.decode.seconds
    assert found.decode.deployed.step.batch == 12 // pp
    assert found.step_seconds == max(pp * max(each), sum(each)) == pytest.approx(pp * max(each))
    assert found.ttft_seconds == sum(found.prefill.seconds)
    lone = estimated(DENSE, "h100", f"pp={pp}", ask=asked(batch=1))
    assert lone.step_seconds == pytest.approx(sum(lone.decode.seconds))
    rows = found.report()["decode"]["kernels"]
    assert sum(row["seconds"] for row in rows) == pytest.approx(max(each))
    assert [row["op"] for row in rows].count("send") == (found.decode.slowest < pp - 1)


@pytest.mark.parametrize(
    ("knobs", "where"),
    [
        ({"speculative": 65}, "speculative"),
        ({"acceptance": 1.5}, "acceptance"),
        ({"usd_per_gpu_hour": -1}, "usd_per_gpu_hour"),
        ({"backend": "magic"}, "backend"),
        ({"precision": "fp9"}, "precision"),
        ({"head": "none"}, "head"),
        ({"ep_load_factor": 0.5}, "ep_load_factor"),
        ({"batch": -1}, "batch"),
        ({"batch": 0}, "batch"),
        ({"context": 0}, "context"),
        ({"usable": 2}, "usable"),
    ],
)
def test_what_cannot_be_asked(knobs, where):
    with pytest.raises(SpecError) as caught:
        rooflight.estimate(SMALL, "h100", **knobs)
    assert (caught.value.code, caught.value.where) == ("bad-step", where)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--gpu", "h1000"), 1, "unknown-gpu at h1000\n  expected  an id of `rooflight gpus`"),
        (("--gpu", "nothing.yaml"), 1, "missing-file at nothing.yaml"),
        (("--gpu", "h100", "--batch", "0"), 2, "a whole number from 1 to a billion, or max, is needed"),
        (("--gpu", "h100", "--batch", "٣"), 2, "a whole number from 1"),
        (("--gpu", "h100", "--usable", "nan"), 2, "a number is needed"),
        (("--gpu", "h100", "--ep-load-factor", "nan"), 2, "a number is needed"),
        (("--gpu", "h100", "--plan", "attn_dp=2", "--gpus", "3"), 1, "bad-plan at gpus"),
        (("--gpu", "vr-nvl72", "--plan", "attn_dp=128"), 1, "missing-fact at gpu VR NVL72"),
        ((), 2, "Missing option '--gpu'"),
    ],
)
def test_refusals_at_the_terminal(arguments, code, said):
    found, _, err = run("estimate", SMALL, *arguments)
    assert found == code
    assert said in err


def test_the_terminal_shows_the_longest_kernels():
    _, out, _ = run("estimate", SMALL, "--gpu", "h100", "--kernels", "2")
    assert "shorter ones left out" in out
    _, out, _ = run("estimate", SMALL, "--gpu", "h100", "--kernels", "max")
    assert "shorter ones left out" not in out
    rows = rooflight.estimate(SMALL, "h100")["decode"]["kernels"]
    assert all(row["id"] in out for row in rows)


def test_the_list_of_gpus():
    code, out, _ = run("gpus", "--json")
    rows = {row["id"]: row for row in json.loads(out)}
    assert code == 0
    assert {"h100", "b200", "tpu-v6e", "mi300x"} <= set(rows)
    assert rows["h100"]["matmul"]["BF16"] == pytest.approx(9.9e14, rel=0.01)
    _, table, _ = run("gpus")
    assert all(name in table for name in rows)
    _, one, _ = run("gpus", "h100")
    assert "memory_bandwidth" in one
    assert "copied and not opened" in one
    assert run("gpus", "h1000")[0] == 1


def formula(*arguments):
    return run("formula", DENSE, *arguments)


def test_formulas_of_a_priced_step():
    code, out, _ = formula("decode.step_s", "--gpu", "h100", "--plan", "attn_tp=2", "--batch", "8", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["value"] == pytest.approx(
        rooflight.estimate(DENSE, "h100", "attn_tp=2", batch=8, context=4_096)["decode"]["step_s"]
    )
    assert found["gpu"] == "H100 SXM"
    _, names, _ = formula("--gpu", "h100", "--plan", "attn_tp=2")
    assert {"step_s", "max_batch", "weights.bytes", "seconds/<kernel>"} <= set(names.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("decode.step_s", "--gpu", "h100"), 2, "--gpu needs a --plan"),
        (("step_s", "--plan", "attn_tp=2", "--node", "norm.norm"), 2, "needs a --gpu"),
        (("step_s/norm.norm", "--gpu", "h100", "--plan", "attn_tp=2"), 1, "unknown-figure"),
        (("seconds/none", "--gpu", "h100", "--plan", "attn_tp=2"), 1, "unknown-node at none"),
        (("step_t", "--gpu", "h100", "--plan", "attn_tp=2"), 1, "you may have intended step_s"),
        (("step_s", "--gpu", "h100", "--plan", "pp=2"), 1, "leave pp out: stages differ"),
    ],
)
def test_formulas_that_are_refused(arguments, code, said):
    found, _, err = formula(*arguments)
    assert found == code
    assert said in err


def test_a_price_that_nobody_lists_has_no_formula():
    priced = api.PricedStep(estimated(SMALL, "h20").decode, api.Terms())
    with pytest.raises(SpecError) as caught:
        priced.quantity("usd_per_million")
    assert (caught.value.code, caught.value.where) == ("missing-fact", "price")
