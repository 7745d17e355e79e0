"""Snapshots of a hub on this machine: what is asked of it, what is written, and every way it can go wrong."""

import json
import struct

import pytest

from edge_snapshot.conftest import CONFIG, FIRST, INDEX, PAYLOAD, SECOND, SHARDS, sharded
from edge_snapshot.fake_hub import COMMIT, serving
from rooflight.truth import expand, totals
from rooflight.values import SpecError
from truth.safetensors_files import file_of


@pytest.fixture
def refusal(take):
    def refused(*arguments, **knobs):
        with pytest.raises(SpecError) as caught:
            take(*arguments, **knobs)
        return str(caught.value)

    return refused


def test_a_sharded_checkpoint(hub, take):
    hub.total = 148
    snapshot, warnings, code = take()
    assert warnings == ()
    assert sorted((r.name, r.dtype, r.shape) for r in expand(snapshot.tensors, "x")) == sorted(FIRST + SECOND)
    assert {row.strength for row in snapshot.tensors} == {"hub-headers"}
    assert totals(snapshot.tensors) == {
        "tensors": 5, "elements": 148, "bytes": PAYLOAD, "parameters": 148, "extras": {},
    }  # fmt: skip
    assert snapshot.config == {
        "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16", "hidden_size": 4, "intermediate_size": 8,
        "model_type": "llama", "num_attention_heads": 2, "num_hidden_layers": 2, "rope_scaling": None,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "vocab_size": 10,
    }  # fmt: skip
    assert snapshot.provenance == {
        "config_state": "complete", "date": "2026-12-01", "id": "org/tiny", "lab": None, "notes": [],
        "published_total": 148, "published_total_counts": ["parameter"],
        "published_total_source": "parameter count that the hub states", "released": None, "revision": COMMIT,
        "source": "hub", "strength": "hub-headers",
    }  # fmt: skip
    assert code == {"modeling_tiny.py": "raise SystemExit('never run')\n"}


def test_only_headers_are_asked_for(hub, take):
    take()
    for name in SHARDS:
        data = hub.models["org/tiny"][name]
        length = struct.unpack("<Q", data[:8])[0]
        assert hub.asked(name) == ["bytes=0-7", f"bytes=8-{7 + length}"]
        assert hub.sent[name] == 8 + length < len(data)
    resolved = [path for _, path, _ in hub.requests if "/resolve/" in path]
    assert all(path.startswith(f"/org/tiny/resolve/{COMMIT}/") for path in resolved)


def test_the_login_is_sent_to_the_hub_and_stays_there(hub, take):
    with serving() as cdn:
        cdn.add("org/tiny", sharded())
        hub.cdn = cdn.url
        assert totals(take().snapshot.tensors)["bytes"] == PAYLOAD
        assert all(
            headers["authorization" if "authorization" in headers else "Authorization"] == "Bearer hf_of_the_test"
            for _, _, headers in hub.requests
        )
        assert len(cdn.requests) == 4
        assert not any("authorization" in map(str.lower, headers) for _, _, headers in cdn.requests)


def test_a_named_revision(hub, take):
    take(revision="main")
    assert ("GET", "/api/models/org/tiny/revision/main") in [(method, path) for method, path, _ in hub.requests]


def test_a_single_file_without_an_index(hub, take):
    hub.add("org/one", {"config.json": CONFIG, "model.safetensors": file_of(FIRST)})
    assert totals(take("org/one").snapshot.tensors)["tensors"] == 2


def test_a_server_that_ignores_ranges(hub, take):
    hub.ignore_range = True
    big = [("model.embed_tokens.weight", "BF16", (1 << 12, 1 << 12))]
    hub.add("org/big", {"config.json": CONFIG, "model.safetensors": file_of(big)})
    assert totals(take("org/big").snapshot.tensors)["bytes"] == 1 << 25
    assert hub.sent["model.safetensors"] < 1 << 25  # of twice that, had both answers been read


def test_busy_then_not(hub, take, waits):
    hub.statuses["/api/models/org/tiny"] = [429, 503]
    hub.statuses[f"/org/tiny/resolve/{COMMIT}/config.json"] = [500]
    assert len(take().snapshot.tensors) == 4
    assert waits == [1, 2, 1]


def test_the_hub_says_when_to_come_back(hub, take, waits):
    hub.retry_after = "17"
    hub.statuses["/api/models/org/tiny"] = [429]
    take()
    assert waits == [17]


def test_a_download_that_breaks_off_once(hub, take):
    hub.cut, hub.cut_times = {SHARDS[0]: 20}, 1
    assert len(take().snapshot.tensors) == 4


def test_always_busy(hub, refusal, waits):
    hub.statuses["/api/models/org/tiny"] = [429] * 9
    assert (
        refusal()
        == """\
hub-busy at org/tiny
  expected  an answer
  got       429 in 5 tries
  fix       run the command again later"""
    )
    assert waits == [1, 2, 4, 8]


def test_a_refusal_is_not_read_to_its_end(hub, refusal):
    hub.error_body = bytes(64 << 20)
    hub.gated.add("org/tiny")
    assert refusal().startswith("hub-refused at org/tiny@01234567 config.json\n")
    assert hub.sent["error"] < 16 << 20


def test_a_visit_ends(hub, refusal, waits):
    hub.statuses["/api/models/org/tiny"] = [503] * 9
    assert refusal(seconds=0.5).startswith("hub-busy at org/tiny")
    assert waits == []


def test_a_download_that_always_breaks_off(hub, refusal):
    hub.cut = {SHARDS[0]: 20}
    told = refusal()
    assert told.startswith(f"hub-answer at org/tiny@01234567 {SHARDS[0]}\n  expected  all the bytes asked for\n")
    assert told.endswith("\n  fix       run the command again; nothing was written")


def test_gated(hub, refusal):
    hub.gated.add("org/tiny")
    assert (
        refusal()
        == """\
hub-refused at org/tiny@01234567 config.json
  expected  a repository that this login may read
  got       a gated repository
  fix       accept its terms on its page, then log in with `hf auth login`, or set HF_TOKEN"""
    )


def test_forbidden(hub, refusal):
    hub.token = "another"
    assert refusal().startswith(
        "hub-refused at org/tiny\n  expected  a repository that this login may read\n  got       403: "
    )


def test_no_such_repository(hub, refusal):
    assert (
        refusal("org/none")
        == """\
hub-not-found at org/none
  expected  a repository that this login may read
  got       none (404)
  fix       correct ORG/NAME; if it is private, log in with `hf auth login`, or set HF_TOKEN"""
    )


def test_no_such_revision(hub, refusal):
    assert (
        refusal("org/tiny", "nowhere")
        == """\
hub-not-found at org/tiny@nowhere
  expected  a revision
  got       no such revision
  fix       correct --revision"""
    )


def test_no_config(hub, refusal):
    hub.add("org/bare", {"model.safetensors": file_of(FIRST)})
    assert refusal("org/bare").startswith("hub-not-found at org/bare@01234567 config.json\n  expected  a config.json\n")


@pytest.mark.parametrize("weights", ["pytorch_model.bin", "model.Q4_K_M.gguf"])
def test_no_safetensors(hub, refusal, weights):
    hub.add("org/old", {"config.json": CONFIG, weights: b"x"})
    assert refusal("org/old").startswith("no-safetensors at org/old@01234567\n")


def test_nobody_answers(hub, take, waits):
    from rooflight.edge.snapshot.hub import Hub

    with serving() as gone:
        url = gone.url
    with pytest.raises(SpecError) as caught:
        Hub(endpoint=url, sleep=waits.append).repository("org/tiny", None)
    assert str(caught.value).startswith("hub-unreachable at org/tiny\n  expected  an answer from the hub\n")
    assert waits == [1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda hub: setattr(hub, "wrong_range", True), "Content-Range bytes 0-"),
        (lambda hub: setattr(hub, "encoding", "gzip"), "the file's own bytes"),
        (lambda hub: setattr(hub, "sha", "main"), "a commit of 40 hexadecimal digits"),
        (lambda hub: setattr(hub, "sha", None), "a commit of 40 hexadecimal digits"),
        (lambda hub: setattr(hub, "raw_info", b"<html>"), "an answer in the hub's own form"),
        (lambda hub: setattr(hub, "raw_info", b"[]"), "an answer in the hub's own form"),
        (lambda hub: hub.sizes.update({"config.json": None}), "the name and size of every file"),
        (lambda hub: hub.sizes.update({"config.json": -1}), "the name and size of every file"),
        (lambda hub: hub.models["org/tiny"].update({"../../x.py": b""}), "the name and size of every file"),
        (lambda hub: hub.sizes.update({"config.json": 99_999}), "Content-Range bytes 0-99998/99999"),
    ],
)  # fmt: skip
def test_answers_of_another_kind(hub, refusal, change, told):
    change(hub)
    message = refusal()
    assert message.startswith("hub-answer at org/tiny")
    assert f"\n  expected  {told}" in message


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        (SHARDS[0], struct.pack("<Q", 2**63) + b"{}", "header-size"),
        (SHARDS[0], struct.pack("<Q", 99_999_999) + b"{}", "header-size"),
        (SHARDS[0], b"", "header-size"),
        (SHARDS[0], struct.pack("<Q", 4) + b"{[[[", "header-json"),
        (SHARDS[0], file_of(FIRST)[:-1], "header-offsets"),
        (SHARDS[1], file_of(FIRST), "tensor-twice"),
        ("config.json", b"{", "config-not-json"),
        ("config.json", b"[]", "config-not-object"),
        ("config.json", b"{}", "config-no-architecture"),
        ("config.json", b" " * (5 << 20), "config-too-large"),
        ("model.safetensors.index.json", b"{", "index-mismatch"),
        ("model.safetensors.index.json", b'{"weight_map": []}', "index-mismatch"),
        ("model.safetensors.index.json", b'{"weight_map": {"a": "gone.safetensors"}}', "index-mismatch"),
    ],
)
def test_files_of_another_kind(hub, refusal, name, data, code):
    hub.models["org/tiny"][name] = data
    assert refusal().startswith(f"{code} at org/tiny")


def test_an_index_that_disagrees_is_told(hub, take):
    index = json.loads(json.dumps(INDEX))
    index["metadata"]["total_size"] = 7
    del index["weight_map"]["lm_head.weight"]
    index["weight_map"]["ghost"] = SHARDS[0]
    hub.models["org/tiny"]["model.safetensors.index.json"] = json.dumps(index).encode()
    hub.total = 7
    snapshot, warnings, _ = take()
    assert warnings == (
        "1 tensors are not in the index, such as lm_head.weight",
        "1 tensors are in no header, such as ghost",
        f"the index declares total_size 7; the payload is {PAYLOAD} bytes",
        "the published total, 7, is no sum of the kinds of tensors that are stored",
    )
    assert snapshot.provenance["notes"] == list(warnings)
    assert snapshot.provenance["published_total_counts"] is None


def test_code_that_is_too_much_is_left_out(hub, take):
    hub.models["org/tiny"] |= {"big.py": b"#" * (2 << 20), "latin.py": b"\xff"}
    taken = take()
    assert set(taken.code) == {"modeling_tiny.py"}
    assert [warning.partition(" is not staged")[0] for warning in taken.warnings] == ["big.py", "latin.py"]
