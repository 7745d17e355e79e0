import pytest

from oracles import configs, flops
from oracles.material import cases, checkpoints, snapshot

RUNS = [
    pytest.param(model, run, id=f"{model.split('/')[1]}-{run['phase']}-{run['batch']}")
    for model, runs in cases("torch_flops.json")["models"].items()
    if model in checkpoints() and configs.covers_flops(snapshot(model, "config"))
    for run in runs
]


def test_nine_models_are_covered():
    assert len(RUNS) == 9 * 4


@pytest.mark.parametrize(("model", "run"), RUNS)
def test_components_as_torch_counts_them(model, run):
    prefill = run["phase"] == "prefill"
    found = configs.components(
        snapshot(model, "config"),
        batch=run["batch"],
        new=run["tokens"] if prefill else 1,
        prefix=0 if prefill else run["cached"],
        head="all",
        attention="square" if prefill else "exact",  # in decode a sliding layer sees its trimmed cache
    )
    assert found == run["components"]


def test_absorbed_decode_scores_in_latent_space():
    """2 T H (d_c + d_rope) for the scores of one query over T positions; the values go without the rope part."""
    assert flops.mla_core_absorbed(1, 1000, 1, 128, 512, 64) == 2 * 1000 * 128 * (576 + 512)
    assert flops.mla_absorb(1, 1, 128, 512, 128, 128) == 2 * 128 * 512 * 256
