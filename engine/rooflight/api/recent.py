"""Keeps the last few things that were made of models, such as Programs: a plan family needs one, however many plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.spec import Model

T = TypeVar("T")


class Recent(Generic[T]):
    """What was made of a model under some key. Models hold dicts, so a model is known by being the same object."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.held: list[tuple[Model, object, T]] = []

    def get(self, model: Model, key: object, make: Callable[[], T]) -> T:
        """Return what was made before, or make it."""
        for known, its, made in self.held:
            if known is model and its == key:
                return made
        made = make()
        self.held.insert(0, (model, key, made))
        del self.held[self.kept :]
        return made
