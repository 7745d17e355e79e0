"""Which collectives appear where: golden text per layer. UPDATE_GOLDEN=1 in the environment writes what comes out."""

import os
import re
from pathlib import Path

import pytest

from plans.deployed import GPT_OSS, LLAMA, MIXTRAL, V3, part
from rooflight.api.plans import parse_plan
from rooflight.walk import Family

GOLDEN = Path(__file__).with_name("collectives")
SPECS = Path(__file__).parents[2] / "specs"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))

CASES = {
    "llama.tp8": (LLAMA, "attn_tp=8", Family()),
    "llama.tp8.cut-trunk": (LLAMA, "attn_tp=8", Family(sequence=True)),
    "llama.tp2.cp4": (LLAMA, "attn_tp=2,cp=4", Family()),
    "llama.tp2.cp4.ulysses": (LLAMA, "attn_tp=2,cp=4", Family(ulysses=True)),
    "llama.tp8.argmax": (LLAMA, "attn_tp=8", Family(argmax=True)),
    "v3.dp8.ep8": (V3, "attn_dp=8,ep=8", Family()),
    "v3.dp4.tp2.ep8": (V3, "attn_dp=4,attn_tp=2,ep=8", Family()),
    "v3.dp4.tp2.ep8.cut-trunk": (V3, "attn_dp=4,attn_tp=2,ep=8", Family(sequence=True)),
    "v3.cp2.ep2": (V3, "cp=2,ep=2", Family()),
    "gpt-oss.tp8.etp8": (GPT_OSS, "attn_tp=8,etp=8", Family()),
    "mixtral.dp8.etp8": (MIXTRAL, "attn_dp=8,etp=8", Family()),
}


def described(name, plan, family, phase):
    """One line per collective that moves something: before which node, over which axes, bytes each GPU sends."""
    one = part(name, parse_plan(plan), phase, family, batch=1, context=1_024)
    lines = [f"{name} {plan} {phase}, one sequence per rank, 1024 tokens; bytes each GPU sends, per layer"]
    for step, found in zip(one.program.steps, one.device.collectives, strict=True):
        for c in found:
            if c.sent:
                axes = "·".join(a for a in c.group if one.binding[a] > 1)
                once = " once" if c.entry else ""
                lines.append(f"{step.node.id}: {c.kind}({axes}) {c.sent}{once}")
    for c in one.device.ends:
        if c.sent:
            axes = "·".join(a for a in c.group if one.binding[a] > 1)
            lines.append(f"after the last: {c.kind}({axes}) {c.sent}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("case", CASES)
def test_collectives_of_a_layer(case, phase):
    text = described(*CASES[case], phase)
    path = GOLDEN / f"{case}.{phase}.txt"
    if UPDATE:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_no_golden_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == {f"{c}.{p}.txt" for c in CASES for p in ("prefill", "decode")}


WORDS = re.compile(
    r"all[_-]?reduce|reduce[_-]?scatter|all[_-]?gather|all[_-]?to[_-]?all|broadcast:|\bsend\b|\bnccl\b", re.IGNORECASE
)


def test_no_spec_names_a_collective():
    found = [
        f"{path.relative_to(SPECS)}:{number}: {line.strip()}"
        for path in sorted(SPECS.rglob("*.yaml"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if WORDS.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_word_list_knows_a_collective_when_it_sees_one():
    assert all(
        WORDS.search(line) for line in ("op: all_reduce", "AllGather", "reduce-scatter", "all to all".replace(" ", "_"))
    )


def kinds(case, phase, within):
    one = part(CASES[case][0], parse_plan(CASES[case][1]), phase, CASES[case][2])
    return [(node.rpartition(".layers.")[2], kind) for node, kind, _, _ in one.sent() if within in node]


def test_attention_by_heads_pays_at_the_residual():
    assert kinds("llama.tp8", "decode", "layers.attention") == [
        ("layers.attention_norm.norm", "all_reduce"),  # of the embedding, once
        ("layers.attention_residual", "all_reduce"),
    ]


def test_shared_and_routed_experts_pay_once():
    """Routed and shared results are partial sums over the same GPUs: added first, then reduced at the residual."""
    found = kinds("v3.dp4.tp2.ep8", "decode", "layers.moe.ffn")
    assert found == [
        ("layers.moe.ffn.dispatch", "all_to_all"),
        ("layers.moe.ffn.combine", "all_to_all"),
        ("layers.moe.ffn_residual", "all_reduce"),
    ]


def test_data_parallel_attention_meets_only_around_experts():
    assert {kind for _, kind in kinds("v3.dp8.ep8", "decode", "layers")} == {"all_to_all"}
