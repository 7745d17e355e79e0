"""Finds the GPU files and the price list on disk and reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rooflight.edge.library import must_be_file, read_yaml_file
from rooflight.hardware import Fact, Gpu, read_gpu, read_prices
from rooflight.spec import nearest
from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRICES = "prices"


def gpus_folder() -> Path:
    """Return the repository's gpus/ where the engine runs from it, else the copy inside the package."""
    here = Path(__file__).resolve()
    for folder in (here.parents[3] / "gpus", here.parents[1] / "_data" / "gpus"):
        if folder.is_dir():
            return folder
    raise SpecError(
        "missing-file",
        str(here.parents[1]),
        "a folder gpus/ beside engine/, or inside the package",
        "neither",
        "reinstall rooflight",
    )


def gpu_ids() -> tuple[str, ...]:
    """Return the ids of the GPUs whose facts ship with the project, sorted."""
    return tuple(sorted(path.stem for path in gpus_folder().glob("*.yaml") if path.stem != _PRICES))


def open_gpu(target: str) -> Gpu:
    """Read a GPU by id, or the GPU file at a path. SpecError where there is neither, or it is not one."""
    folder = gpus_folder()
    ids = gpu_ids()
    if target in ids:
        return read_gpu(read_yaml_file(folder / f"{target}.yaml", folder.parent), f"gpus/{target}.yaml", target)
    place = Path(target)
    if target.strip() and (place.suffix or "/" in target or place.exists()):
        must_be_file(place, target, "a GPU file", "check the path")
        return read_gpu(read_yaml_file(place, place.parent), place.name, place.stem)
    raise SpecError(
        "unknown-gpu",
        target,
        "an id of `rooflight gpus`, or the path of a GPU file",
        "neither",
        nearest(target, ids, "`rooflight gpus` lists the ids"),
    )


def all_gpus() -> tuple[Gpu, ...]:
    """Read every GPU that ships with the project, sorted by id."""
    return tuple(open_gpu(name) for name in gpu_ids())


def open_prices() -> Mapping[str, Fact]:
    """Return what a GPU-hour costs, by GPU id. SpecError for an id that no file has."""
    path = gpus_folder() / f"{_PRICES}.yaml"
    prices = read_prices(read_yaml_file(path, path.parent.parent), f"gpus/{path.name}")
    ids = gpu_ids()
    for name in prices:
        if name not in ids:
            raise SpecError(
                "unknown-gpu", f"gpus/{path.name} prices.{name}", "the id of a GPU file", name, nearest(name, ids)
            )
    return prices
