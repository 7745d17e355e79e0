"""How many (query, key) pairs of one sequence a mask lets through, exactly.

`new` queries stand at the end of `held` positions; query number p (counted from 1) may see min(p, window) keys.
"""

from rooflight.expr import Value, div, min_

# What each mask needs beside the two lengths.
MASK_DIMS: dict[str, tuple[str, ...]] = {"causal": (), "sliding": ("window",), "bidirectional": (), "picked": ()}


def causal_pairs(new: Value, held: Value) -> Value:
    """Every earlier key and oneself: T(T+1)/2 when all positions are new, T when only the last one is."""
    return new * (held - new) + div(new * (new + 1), 2)


def sliding_pairs(new: Value, held: Value, window: Value) -> Value:
    """The last `window` keys including oneself: W·T − W(W−1)/2 when all T ≥ W positions are new."""
    if type(new) is int and new == 1:
        return min_(held, window)  # what the general form comes to, in the words a reader expects
    before, after = min_(held - new, window), min_(held, window)
    rising = after - before  # queries that still see every earlier key
    return window * (new - rising) + div(rising * (before + after + 1), 2)


def square_pairs(new: Value, visible: Value) -> Value:
    """Every query with every key, masked or not: what kernels without a causal skip compute."""
    return new * visible
