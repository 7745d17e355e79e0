"""What checkpoints call the weights of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflight.values import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.spec import ModelSpec


def mapped(table: Mapping[str, str], parts: Sequence[str]) -> tuple[str, int] | None:
    """Return what the longest leading path of `parts` maps to, and how many parts that is."""
    for length in range(len(parts), 0, -1):
        found = table.get(".".join(parts[:length]))
        if found is not None:
            return found, length
    return None


def weight_path(stage: str, group: str, node: str, weight: str) -> list[str]:
    """Return the parts of a weight's path in the model spec: the stage, the node within a layer, the weight."""
    return [stage, *node.removeprefix(group + ".").split("."), weight]


def tensor_name(spec: ModelSpec, path: Sequence[str]) -> str:
    """Return the checkpoint's name for a weight. {i} stands for the layer's number and {e} for the copy's.

    SpecError where the spec maps no part of the path.
    """
    found = mapped(spec.modules, path)
    if found is None:
        raise SpecError(
            "unnamed-tensor",
            f"{spec.where} checkpoint.modules",
            f"a checkpoint name for {'.'.join(path[:-1])}",
            "none",
            "map the path, or a part of it from the front, to the module's name",
        )
    pattern, length = found
    return ".".join((pattern, *path[length:]))


def braced(numbers: Sequence[int]) -> str:
    """Write sorted numbers as they stand in a pattern: `{0-31}`, or one number as it is."""
    return ranges(numbers) if len(numbers) == 1 else "{" + ranges(numbers) + "}"


def ranges(numbers: Sequence[int]) -> str:
    """Write sorted numbers compactly: `0-31` or `0,2,4-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
