"""The word that a message suggests."""

import pytest

from rooflight.spec import nearest


@pytest.mark.parametrize(
    ("word", "known", "suggested"),
    [
        ("tp", ("attn_dp", "attn_tp", "etp"), "attn_tp"),  # a degree by its last part, not the shorter one it is like
        ("H100", ("h100", "h200"), "h100"),
        ("gpt2", ("openai-community/gpt2", "openai-community/gpt2-xl"), "openai-community/gpt2"),
        ("qwen3-32b", ("Qwen/Qwen3-32B", "Qwen/Qwen3-8B"), "Qwen/Qwen3-32B"),
        ("attn_pd", ("attn_dp", "ep"), "attn_dp"),
    ],
)
def test_the_closest_word(word, known, suggested):
    assert nearest(word, known) == f"you may have intended {suggested}"


@pytest.mark.parametrize("word", ["", "zzz"])
def test_nothing_is_like_it(word):
    assert nearest(word, ("attn_dp", "ep"), "name one") == "name one"
