"""An exchange on a torus, link by link: every part goes axis by axis, the shorter way around, half each way at a tie.

A slow reference: it walks every part over every link and knows nothing of lanes, extents or crossings.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import prod


def coordinates(rank, shape):
    """Where a GPU stands; the last axis is numbered first."""
    found = []
    for length in reversed(shape):
        rank, at = divmod(rank, length)
        found.append(at)
    return tuple(reversed(found))


def ways(start, end, length, wraps):
    """Directions along one axis with the share that goes that way, and the steps of each."""
    up, down = (end - start) % length, (start - end) % length
    if not wraps:
        return [(1, Fraction(1), end - start)] if end > start else [(-1, Fraction(1), start - end)]
    if up == down:
        return [(1, Fraction(1, 2), up), (-1, Fraction(1, 2), down)]
    return [(1, Fraction(1), up)] if up < down else [(-1, Fraction(1), down)]


def loads(groups, shape, wraps):
    """Parts that cross each link, where everyone in a group sends one part to everyone else in it, all groups at once.

    A link is (GPU, axis, direction): two GPUs on an axis of two that wraps have two links.
    """
    crossed = Counter()
    for group in groups:
        for source, target in product(group, group):
            at, end = list(coordinates(source, shape)), coordinates(target, shape)
            for axis, length in enumerate(shape):
                if at[axis] == end[axis]:
                    continue
                for direction, share, steps in ways(at[axis], end[axis], length, wraps[axis]):
                    here = list(at)
                    for _ in range(steps):
                        crossed[tuple(here), axis, direction] += share
                        here[axis] = (here[axis] + direction) % length
                at[axis] = end[axis]
    return crossed


def exchange_seconds(size, groups, shape, wraps, bandwidth):
    """Seconds of the fullest link; `size` bytes are each GPU's, which has two links of equal width to every axis."""
    each = Fraction(size, len(groups[0]))
    return float(max(loads(groups, shape, wraps).values()) * each * 2 * len(shape) / bandwidth)


def is_box(group, shape):
    """Whether a group stands at every crossing of evenly spaced rows of every axis."""
    at = [coordinates(rank, shape) for rank in group]
    rows = [sorted({one[axis] for one in at}) for axis in range(len(shape))]
    even = all(len({b - a for a, b in pairwise(row)}) <= 1 for row in rows)
    return even and prod(map(len, rows)) == len(group)
