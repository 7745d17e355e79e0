import pytest

from oracles import cache, configs
from oracles.material import cases, fault, snapshot

GIB = 2**30


@pytest.mark.parametrize(
    ("layers", "kv_heads", "expected"),
    [
        pytest.param(32, 32, 512 * 1024, id="llama-2-7b"),
        pytest.param(32, 8, 128 * 1024, id="llama-3-8b"),
        pytest.param(80, 8, 320 * 1024, id="llama-3-70b"),
    ],
)
def test_published_bytes_per_token(layers, kv_heads, expected):
    assert cache.mha_bytes_per_token(layers, kv_heads, 128, 2) == expected


def test_latent_cache_of_deepseek_v3():
    assert cache.mla_bytes_per_token(61, 512, 64, 2) == 70272
    decompressed = cache.mla_decompressed_bytes_per_token(61, 128, 128, 64, 128, 2)
    assert decompressed == 4005504
    assert decompressed // 70272 == 57


@pytest.mark.parametrize(
    "case",
    [case for case in cases("public_faults.yaml") if "unequal-layers" in case["needs"]],
    ids=lambda case: case["id"],
)
def test_unequal_layers(case):
    given, expected = case["input"], case["expected"]
    layers = [
        (given["layers"]["full"], given["full"]["Hkv"], given["full"]["dh"], None),
        (given["layers"]["sliding"], given["sliding"]["Hkv"], given["sliding"]["dh"], given["W"]),
    ]
    if "contexts" in given:
        found = [cache.request_bytes(context, layers, given["bytes"]) for context in given["contexts"]]
        assert found == expected["kv_bytes"]
        padded = [*layers[:1], (*layers[1][:3], given["W"] + 512)]
        found = [cache.request_bytes(context, padded, given["bytes"]) for context in given["contexts"]]
        assert found == expected["kv_bytes_window_plus_512"]
        return
    assert cache.request_bytes(1, layers, given["bytes"]) == expected["kv_bytes_first_token"]
    at_context = cache.request_bytes(given["context"], layers, given["bytes"])
    assert at_context == expected["kv_bytes"]
    one_more = cache.request_bytes(given["context"] + 1, layers, given["bytes"])
    assert one_more - at_context == expected["marginal_bytes_after_window"]
    pool = given["pool_gib"] * GIB
    assert pool // at_context == expected["whole_requests_in_pool"]
    assert cache.largest_context(pool, layers, given["bytes"]) == expected["largest_context"]


def test_capacity_is_not_linear():
    given, expected = fault("kv-inverse-capacity")
    layers = [(18, given["Hkv"], given["dh"], None), (18, given["Hkv"], given["dh"], given["W"])]
    assert cache.largest_context(given["pool_gib"] * GIB, layers, given["bytes"]) == expected["largest_context"]


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        pytest.param("openai/gpt-oss-20b", [(12, 8, 64, None), (12, 8, 64, 128)], id="list-of-layer-types"),
        pytest.param("Qwen/Qwen2.5-7B-Instruct", [(28, 4, 128, None), (0, 4, 128, 131072)], id="window-switched-off"),
        pytest.param("mistralai/Devstral-Small-2507", [(40, 8, 128, None), (0, 8, 128, None)], id="no-window"),
    ],
)
def test_windows_of_a_configuration(model, kinds):
    assert configs.cache_layers(snapshot(model, "config")) == kinds
