"""A finding: what a guard or a diagnostic has to say about a model, with the repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rooflight.values import SpecError


class Finding(NamedTuple):
    """One thing that is wrong. A blocking one keeps the model from being published."""

    code: str
    guard: str
    blocking: bool
    where: str
    expected: str
    got: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        """Return the same facts as a JSON object."""
        return self._asdict()


def from_error(error: SpecError, guard: str) -> Finding:
    """Return a blocking finding that says what a refusal says."""
    return Finding(error.code, guard, True, error.where, error.expected, error.got, error.fix)
