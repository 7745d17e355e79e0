"""How many (query, key) pairs attention scores: counted one by one, and in closed form."""


def brute_force(new, prefix=0, window=None):
    """Pairs of `new` queries after `prefix` cached tokens, each query seeing itself and what lies behind it, at most
    `window` keys. One loop per query and key: slow, and hard to get wrong."""
    seen = 0
    for query in range(prefix, prefix + new):
        for key in range(query + 1):
            seen += window is None or query - key < window
    return seen


def causal(new, prefix=0):
    """The first query sees prefix + 1 keys, the last prefix + new: an arithmetic series. Exact integers."""
    return new * prefix + new * (new + 1) // 2


def causal_window(new, prefix=0, window=None):
    """As `causal`, each query capped at `window` keys (Beltagy et al., "Longformer")."""
    if window is None:
        return causal(new, prefix)
    growing = min(max(window - prefix, 0), new)  # queries that still see everything behind them
    return causal(growing, prefix) + (new - growing) * window


def square(new, prefix=0):
    """Every query against every key, the masked half included: what a dispatch-level FLOP counter reports."""
    return new * (prefix + new)
