"""One axes line per op says how shapes meet, and later how sharding follows: `x[... in] -> [... out]`.

Names are local to the op. An axis is a name, a literal 1, or several names in parentheses, outermost first. `...` at
the front of a shape stands for any leading axes, the same ones wherever it appears.
"""

import re
from typing import NamedTuple

Axis = tuple[str, ...]  # the names merged in one axis, outermost first; () is a literal 1
Axes = tuple[Axis, ...]

LEADING: Axis = ("...",)

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OPERAND = re.compile(rf"\s*({_NAME})\s*\[([^\[\]]*)\]\s*", re.ASCII)
_OUTPUT = re.compile(r"\s*\[([^\[\]]*)\]\s*", re.ASCII)
_AXIS = re.compile(rf"\s*(?:(\.\.\.)|(1)(?![A-Za-z0-9_])|({_NAME})|\(((?:\s*{_NAME})+\s*)\))", re.ASCII)
_MAX_LENGTH = 256


class AxesError(ValueError):
    """An axes line that cannot be read; the text says what and where."""


class DimMap(NamedTuple):
    """How the axes of the inputs become the axes of the output; a name missing from the output is contracted."""

    operands: tuple[str, ...]
    inputs: tuple[Axes, ...]
    output: Axes

    def names(self) -> tuple[str, ...]:
        """Every axis name, in order of appearance, without the leading axes."""
        shapes = (*self.inputs, self.output)
        return tuple(dict.fromkeys(n for axes in shapes for axis in axes for n in axis if axis != LEADING))


def parse_axes(text: str) -> Axes:
    """Read the inside of one pair of brackets, e.g. `b s (n d)`."""
    axes: list[Axis] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _AXIS.match(text, at)
        if match is None:
            raise AxesError(f"unexpected {text[at:].strip()[:12]!r} in [{text}]")
        leading, one, name, merged = match.groups()
        if leading and axes:
            raise AxesError(f"... must come first in [{text}]")
        if leading:
            axes.append(LEADING)
        elif one:
            axes.append(())
        else:
            axes.append((name,) if name else tuple(merged.split()))
        at = match.end()
    names = [n for axis in axes for n in axis]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        raise AxesError(f"{twice} stands twice in [{text}]")
    return tuple(axes)


def parse_dim_map(text: str) -> DimMap:
    """Read a whole line, e.g. `q[b s (k g) d], k[b t k d] -> [b (k g) s t]`."""
    if len(text) > _MAX_LENGTH:
        raise AxesError(f"an axes line has at most {_MAX_LENGTH} characters, not {len(text)}")
    left, arrow, right = text.partition("->")
    output = _OUTPUT.fullmatch(right)
    if not arrow or output is None:
        raise AxesError(f"an axes line ends in -> [output axes]: {text!r}")
    operands: list[str] = []
    inputs: list[Axes] = []
    for part in left.split(",") if left.strip() else []:
        match = _OPERAND.fullmatch(part)
        if match is None:
            raise AxesError(f"an input is written name[axes], not {part.strip()!r}")
        operands.append(match.group(1))
        inputs.append(parse_axes(match.group(2)))
    dim_map = DimMap(tuple(operands), tuple(inputs), parse_axes(output.group(1)))
    if LEADING in dim_map.output and not any(LEADING in axes for axes in inputs):
        raise AxesError(f"the output has leading axes that no input brings: {text!r}")
    return dim_map
