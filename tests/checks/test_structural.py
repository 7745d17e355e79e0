"""Config keys, rotary parts, masks, dead ends."""

import findings
import pytest

CHECKPOINTS = (
    "openai-community/gpt2",
    "meta-llama/Meta-Llama-3.1-8B",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V2-Lite",
)


@pytest.mark.parametrize("model", CHECKPOINTS)
def test_nothing_to_say(model):
    assert findings.of("structural", findings.whole(model)) == ()


@findings.each_case("structural")
def test_what_it_says(name, given, expected):
    findings.expect("structural", name, given, expected)


@pytest.mark.parametrize("key", ["attention_chunk_size", "final_logit_softcapping", "num_nextn_predict_layers"])
def test_any_key_nobody_knows_blocks(key):
    (finding,) = findings.of(
        "structural", findings.whole("mistralai/Mixtral-8x7B-v0.1", {"in": "config", "at": key, "new": 2})
    )
    assert (finding.code, finding.where, finding.blocking) == ("config-key-unlisted", f"config.json {key}", True)


def test_a_null_says_nothing():
    assert (
        findings.of(
            "structural", findings.whole("mistralai/Mixtral-8x7B-v0.1", {"in": "config", "at": "x_y", "new": None})
        )
        == ()
    )


def test_a_partial_rotation_follows_the_config():
    half = {"in": "config", "at": "partial_rotary_factor", "new": 0.5}
    known = {"in": "models/llama", "at": "config.ignores", "new": {"partial_rotary_factor": "read below"}}
    found = findings.of("structural", findings.whole("meta-llama/Meta-Llama-3.1-8B", half, known))
    assert {(f.code, f.expected, f.got) for f in found} == {
        ("rope-segment", "64 rotated of a head, as the config says", "128")
    }
    bound = {"in": "models/llama", "at": "dims.d_rotary", "old": "d_head", "new": "d_head / 2"}
    assert findings.of("structural", findings.whole("meta-llama/Meta-Llama-3.1-8B", half, known, bound)) == ()


def test_an_encoder_may_look_both_ways():
    both = {"in": "components/gqa_attention", "at": "graph.scores.mask", "old": "causal", "new": "bidirectional"}
    says = {"in": "config", "at": "is_causal", "new": False}
    known = {"in": "models/llama", "at": "config.ignores", "new": {"is_causal": "read by the mask"}}
    assert findings.of("structural", findings.whole("meta-llama/Meta-Llama-3.1-8B", both, says, known)) == ()
