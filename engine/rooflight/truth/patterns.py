"""Writes tensors that differ only in numbers as one row, and such a row out as its tensors: exact inverses.

A number is a component of the dotted name that is all digits: in `layers.12.mlp.w1` it is 12, and `w1` is a word. What
collapse writes depends only on the set of tensors, never on their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

from rooflight.truth.rows import MAX_NAME, MAX_TENSORS, Row
from rooflight.values import SpecError

_MAX_RANGES = 4  # stacks within stacks; no checkpoint nests deeper
_MAX_NUMBERS = 16  # numbers in one name, those that do not vary among them
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_.:/+-]+", re.ASCII)
_RUN = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)

Numbers = tuple[int, ...]  # the values one place of a name takes, ascending


def collapse(rows: Iterable[Row], where: str) -> tuple[Row, ...]:
    """Return one row per product of ranges, sorted by name. SpecError for names no checkpoint has, or one twice."""
    found: dict[tuple[tuple[str, ...], Row], set[Numbers]] = {}
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            raise SpecError("tensor-twice", where, "every tensor once", f"{row.name} twice", "remove one of the two")
        if len(seen) == MAX_TENSORS:
            raise _too_many(where, "more")
        seen.add(row.name)
        words, numbers = split_name(row.name, where)
        found.setdefault((words, row._replace(name="")), set()).add(numbers)
    collapsed: list[Row] = []
    for (words, row), held in found.items():
        for ranges in _products(held):
            name = _written(words, ranges, where)
            collapsed.append(row._replace(name=name, copies=prod(map(len, ranges))))
    return tuple(sorted(collapsed))


def expand(rows: Sequence[Row], where: str) -> tuple[Row, ...]:
    """Return one row per tensor. SpecError for a pattern that collapse would not write, before it is written out."""
    parsed = [parse_pattern(row.name, where) for row in rows]
    counts = [prod(len_of(part) for part in parts if not isinstance(part, str)) for parts in parsed]
    if sum(counts) > MAX_TENSORS:
        raise _too_many(where, f"{sum(counts):,}")
    for row, count in zip(rows, counts, strict=True):
        if row.copies != count:
            raise SpecError(
                "bad-pattern", f"{where} {row.name}", f"count {count}", f"count {row.copies}", f"write {count}"
            )
    return tuple(
        row._replace(name=name, copies=1) for row, parts in zip(rows, parsed, strict=True) for name in _names(parts)
    )


def split_name(name: str, where: str) -> tuple[tuple[str, ...], Numbers]:
    """Split a tensor's name at its numbers: ("layers", "", "mlp") and (12,). SpecError for a name no tensor has."""
    if not name or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        shown = name if len(name) <= MAX_NAME else name[:60] + "..."
        raise SpecError(
            "tensor-name",
            where,
            f"a tensor's name: letters, digits and _ . : / + -, at most {MAX_NAME} of them",
            repr(shown),
            "look into the file; no known framework writes such names",
        )
    words: list[str] = []
    numbers: list[int] = []
    for word in name.split("."):
        if _NUMBER.fullmatch(word):
            words.append("")
            numbers.append(int(word))
        else:
            words.append(word or "\0")  # an empty component is a word: only numbers leave a gap
    if len(numbers) > _MAX_NUMBERS:
        raise SpecError(
            "tensor-name", where, f"at most {_MAX_NUMBERS} numbers in a name", f"{len(numbers)} in {name[:60]!r}",
            "look into the file; no known framework writes such names",
        )  # fmt: skip
    return tuple(words), tuple(numbers)


def parse_pattern(pattern: str, where: str) -> tuple[str | tuple[range, ...], ...]:
    """Return a pattern's components: words as they stand, and the runs of each range."""
    parts: list[str | tuple[range, ...]] = []
    ranges = 0
    # A dot cannot stand inside braces, so the components of a pattern are those of its names.
    for word in pattern.split("."):
        if not word.startswith("{"):
            parts.append(word)
            continue
        ranges += 1
        parts.append(_runs(word, pattern, where))
    split_name(".".join(part if isinstance(part, str) else "0" for part in parts), where)
    if ranges > _MAX_RANGES:
        raise _too_many_ranges(where, pattern)
    return tuple(parts)


def len_of(runs: tuple[range, ...]) -> int:
    """Return how many numbers runs hold."""
    return sum(map(len, runs))


def write_ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers compactly: `0-31` or `0,2,4-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def _runs(word: str, pattern: str, where: str) -> tuple[range, ...]:
    bad = SpecError(
        "bad-pattern",
        where,
        "ranges as {0-31} or {0,2,4-9}: ascending, joined where they touch, two numbers or more",
        f"{word[:60]} in {pattern[:120]}",
        "write the numbers that way",
    )
    if not word.endswith("}"):
        raise bad
    runs: list[range] = []
    for text in word[1:-1].split(","):
        match = _RUN.fullmatch(text)
        ends = [end for end in match.groups() if end is not None] if match else []
        if not ends or not all(_NUMBER.fullmatch(end) for end in ends):
            raise bad
        first, last = int(ends[0]), int(ends[-1])
        if (len(ends) > 1 and first >= last) or (runs and first <= runs[-1].stop):
            raise bad
        runs.append(range(first, last + 1))
    if len_of(tuple(runs)) < 2:  # noqa: PLR2004 - one number is written without braces
        raise bad
    return tuple(runs)


def _names(parts: tuple[str | tuple[range, ...], ...]) -> Iterator[str]:
    choices = [[part] if isinstance(part, str) else [str(n) for run in part for n in run] for part in parts]
    return (".".join(chosen) for chosen in product(*choices))


def _products(held: set[Numbers]) -> list[tuple[Numbers, ...]]:
    """Cut a set of number tuples into products of sets: first values with the same tails belong together.

    A set that is one product comes back as that one. The cut follows from the set alone.
    """
    if len(held) == 1:
        return [tuple((number,) for number in next(iter(held)))]
    tails: dict[int, set[Numbers]] = {}
    for numbers in held:
        head, *tail = numbers
        tails.setdefault(head, set()).add(tuple(tail))
    alike: dict[frozenset[Numbers], list[int]] = {}
    for number in sorted(tails):
        alike.setdefault(frozenset(tails[number]), []).append(number)
    return [(tuple(heads), *rest) for tail, heads in alike.items() for rest in _products(set(tail))]


def _written(words: tuple[str, ...], ranges: tuple[Numbers, ...], where: str) -> str:
    texts = iter("{" + write_ranges(numbers) + "}" if len(numbers) > 1 else write_ranges(numbers) for numbers in ranges)
    name = ".".join(next(texts) if not word else word.replace("\0", "") for word in words)
    if sum(len(numbers) > 1 for numbers in ranges) > _MAX_RANGES:
        raise _too_many_ranges(where, name)
    return name


def _too_many(where: str, got: str) -> SpecError:
    return SpecError(
        "too-many-tensors",
        where,
        f"at most {MAX_TENSORS:,} tensors",
        got,
        "check that this is the list of one checkpoint",
    )


def _too_many_ranges(where: str, name: str) -> SpecError:
    return SpecError(
        "bad-pattern",
        where,
        f"at most {_MAX_RANGES} ranges in a name",
        name[:120],
        "look into the file; no known framework nests deeper",
    )
