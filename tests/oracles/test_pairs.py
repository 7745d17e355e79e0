import pytest

from oracles import pairs

SIZES = [(new, prefix) for new in (1, 2, 5, 9) for prefix in (0, 1, 4, 11)]


@pytest.mark.parametrize(("new", "prefix"), SIZES)
def test_causal_counts_one_by_one(new, prefix):
    assert pairs.causal(new, prefix) == pairs.brute_force(new, prefix)


@pytest.mark.parametrize("window", [1, 3, 6, 12, 100])
@pytest.mark.parametrize(("new", "prefix"), SIZES)
def test_window_counts_one_by_one(new, prefix, window):
    assert pairs.causal_window(new, prefix, window) == pairs.brute_force(new, prefix, window)


def test_published_forms():
    assert pairs.causal(16384) == 16384 * 16385 // 2 == 134225920
    assert pairs.causal_window(8192, window=128) == 128 * 8192 - 128 * 127 // 2
    assert pairs.causal_window(100, window=128) == pairs.causal(100)
    assert pairs.square(1024) == 1024**2
