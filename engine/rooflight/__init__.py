"""Rooflight: what an LLM architecture costs to serve, from a verified description of it.

The functions take a target: a model id of `models()`, the path of a
config.json or of a folder that holds one, or a config as a dict. They read specs from the project's own folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooflight.edge.front import (
        cost,
        estimate,
        explain,
        formula,
        gpu,
        gpus,
        load,
        models,
        plans,
        quantity,
        show,
        sweep,
        tensors,
        validate,
    )

__version__ = "0.1.0"

__all__ = [
    "cost",
    "estimate",
    "explain",
    "formula",
    "gpu",
    "gpus",
    "load",
    "models",
    "plans",
    "quantity",
    "show",
    "sweep",
    "tensors",
    "validate",
]


def __getattr__(name: str) -> Any:
    # Files, YAML and the command line are loaded at first use: `import rooflight` alone costs nothing.
    if name in __all__:
        from rooflight.edge import front  # noqa: PLC0415

        return getattr(front, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
