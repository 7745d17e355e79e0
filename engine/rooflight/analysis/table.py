"""A column of facts, one per node, in walking order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

T = TypeVar("T")
U = TypeVar("U")


class Table(Generic[T]):
    """Read-only: `table[id]`, `table.items()`, `table.values`, `table.join(other)`."""

    __slots__ = ("_index", "name", "values")

    def __init__(self, name: str, values: Sequence[T], index: Mapping[str, int]) -> None:
        self.name = name
        self.values: tuple[T, ...] = tuple(values)
        self._index = index

    def __getitem__(self, node: str) -> T:
        """Return the fact of one node; KeyError for an unknown id."""
        return self.values[self._index[node]]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.values)

    def __iter__(self) -> Iterator[str]:
        """Iterate over node ids."""
        return iter(self._index)

    def items(self) -> Iterator[tuple[str, T]]:
        """Iterate over (id, fact)."""
        return zip(self._index, self.values, strict=True)

    def join(self, other: Table[U]) -> Iterator[tuple[str, T, U]]:
        """Iterate over (id, fact here, fact there) of two tables of one walk."""
        return zip(self._index, self.values, other.values, strict=True)
