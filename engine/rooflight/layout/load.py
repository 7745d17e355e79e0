"""How many more rows than the average the busiest GPU gets, where rows go to the GPUs of their experts."""

from rooflight.expr import Value, cmp_, where


def busiest(factor: Value, gpus: Value) -> Value:
    """Return the factor where several GPUs share the experts out, and 1 where every GPU has all of them."""
    return where(cmp_(">", gpus, 1), factor, 1)
