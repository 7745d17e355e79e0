from decimal import Decimal

import pytest

from oracles import configs, params
from oracles.material import cases, checkpoints, snapshot

ROWS = [row for group in cases("regression.yaml").values() for row in group]
UNITS = {"M": 10**6, "B": 10**9}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_regression_total(row):
    assert configs.total(row["config"]) == row["total"]


@pytest.mark.parametrize("row", [row for row in ROWS if "active" in row], ids=lambda row: row["id"])
def test_regression_active(row):
    assert configs.active(row["config"]) == row["active"]


@pytest.mark.parametrize(
    ("row", "quantity"),
    [(row, quantity) for row in ROWS for quantity in row["calc"]],
    ids=lambda value: value if isinstance(value, str) else value["id"],
)
def test_table_figure_is_the_integer_rounded_or_cut_off(row, quantity):
    text = row["calc"][quantity]
    figure, unit = Decimal(text[:-1]), UNITS[text[-1]]
    last_digit = Decimal(1).scaleb(figure.as_tuple().exponent)
    assert -last_digit / 2 <= Decimal(row[quantity]) / unit - figure < last_digit


def test_every_dense_row_has_its_own_total():
    dense = cases("regression.yaml")["dense"]
    assert len({row["total"] for row in dense}) == len(dense) == 11


COVERED = [model for model in checkpoints() if configs.covers(snapshot(model, "config"))]


def test_only_hybrids_are_left_to_their_published_totals():
    """What no closed form here covers is named, so that a new architecture is not left out unseen."""
    left = {snapshot(model, "config")["model_type"] for model in set(checkpoints()) - set(COVERED)}
    assert left == {"granitemoehybrid", "nemotron_h", "falcon_h1"}


@pytest.mark.parametrize("model", COVERED)
def test_snapshot_parameters(model):
    assert configs.total(snapshot(model, "config")) == snapshot(model, "tensors")["totals"]["parameters"]


def test_deepseek_v3_attention_and_draft_layer():
    config = snapshot("deepseek-ai/DeepSeek-V3", "config")
    letters, latent = configs.dims(config), configs.latent_dims(config)
    assert params.mla_attention(letters["D"], letters["H"], **latent) == 187107328
    mtp = params.deepseek_mtp(letters["D"], letters["H"], **latent, E=256, Fe=2048, V=letters["V"])
    assert mtp == 13463426304 == snapshot("deepseek-ai/DeepSeek-V3", "tensors")["totals"]["mtp"]


@pytest.mark.parametrize(
    ("model", "published"),
    [
        pytest.param("mistralai/Mixtral-8x7B-v0.1", 12.9e9, id="mixtral"),
        pytest.param("Qwen/Qwen3-30B-A3B", 3.3e9, id="qwen3-30b-a3b"),
        pytest.param("deepseek-ai/DeepSeek-V3", 37e9, id="deepseek-v3"),
    ],
)
def test_active_near_the_card(model, published):
    assert configs.active(snapshot(model, "config")) == pytest.approx(published, rel=0.02)
