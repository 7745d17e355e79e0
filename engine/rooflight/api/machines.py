"""GPUs as data: the answer of `rooflight gpus`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooflight.hardware import Fact, Gpu


def gpu_row(gpu: Gpu, listed: Fact | None) -> dict[str, Any]:
    """Return a GPU in one row: figures without their sources."""
    facts = gpu.facts
    return {
        "id": gpu.id,
        "name": gpu.name,
        "maker": gpu.maker,
        "status": gpu.status,
        "topology": gpu.topology,
        **{key: facts[key].value for key in facts},
        "matmul": {form: fact.value for form, fact in gpu.matmul.items()},
        "usd_per_gpu_hour": None if listed is None else listed.value,
    }


def gpu_facts(gpu: Gpu, listed: Fact | None) -> dict[str, Any]:
    """Return every fact of a GPU with its unit, who says so and when it was read."""
    stated = gpu.topology_from
    return {
        "id": gpu.id,
        "name": gpu.name,
        "maker": gpu.maker,
        "status": gpu.status,
        "facts": {key: fact._asdict() for key, fact in gpu.facts.items()},
        "matmul": {form: fact._asdict() for form, fact in gpu.matmul.items()},
        "topology": {"value": gpu.topology, **({} if stated is None else stated._asdict())},
        "slices": [{"shape": list(one.shape), "wraps": list(one.wraps)} for one in gpu.slices],
        "slices_from": None if gpu.slices_from is None else gpu.slices_from._asdict(),
        "price": None if listed is None else listed._asdict(),
        "notes": list(gpu.notes),
    }
