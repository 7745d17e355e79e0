"""Plain data that remembers where it was written, so that an error can name file, line and key."""

from typing import Any, cast


class Section(dict[str, Any]):
    """A mapping with string keys. Nested mappings are Sections, sequences are Items; `place` is `file:line`."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self.places: dict[str, str] = {}

    def put(self, key: str, value: Any, place: str) -> None:
        """Add a key with the place it stands at."""
        self[key] = value
        self.places[key] = place

    def at(self, key: str | None = None) -> str:
        """Return the place of a key, or of the mapping itself."""
        return self.place if key is None else self.places.get(key, self.place)


class Items(list[Any]):
    """A sequence with the place of each element."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self.places: list[str] = []

    def put(self, value: Any, place: str) -> None:
        """Add an element with the place it stands at."""
        self.append(value)
        self.places.append(place)

    def at(self, index: int) -> str:
        """Return the place of an element."""
        return self.places[index]


def locate(data: Any, place: str) -> Any:
    """Wrap plain JSON-like data in Sections and Items that all stand at one place."""
    if isinstance(data, dict):
        section = Section(place)
        for key, value in cast("dict[str, Any]", data).items():
            section.put(str(key), locate(value, place), place)
        return section
    if isinstance(data, list):
        items = Items(place)
        for value in cast("list[Any]", data):
            items.put(locate(value, place), place)
        return items
    return data


def overlay(base: Section, change: Section) -> Section:
    """Lay one mapping over another: mappings merge key by key, anything else replaces, nothing (null) removes."""
    merged = Section(change.place)
    for key, value in base.items():
        merged.put(key, value, base.at(key))
    for key, value in change.items():
        below = base.get(key)
        if value is None and key in base:
            del merged[key], merged.places[key]
        elif isinstance(value, Section) and isinstance(below, Section):
            merged.put(key, overlay(below, value), change.at(key))
        else:
            merged.put(key, value, change.at(key))
    return merged
