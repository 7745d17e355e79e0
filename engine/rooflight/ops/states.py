"""Whether an op that carries a state finds one when a prompt begins."""

from rooflight.expr import Value, cmp_, where


def resumes(new: Value, held: Value) -> Value:
    """Return 1 where a prompt goes on after positions that were cached, and 0 where it begins."""
    return where(cmp_(">", held, new), 1, 0)
