"""How many experts of a layer a step touches: enumerated, and in closed form."""

from fractions import Fraction
from itertools import combinations, product


def distinct_by_enumeration(E, k, tokens):
    """Mean number of distinct experts over every way in which `tokens` tokens can each choose k of E: exact, and only
    for tiny sizes."""
    choices = [set(chosen) for chosen in combinations(range(E), k)]
    ways = list(product(choices, repeat=tokens))
    return Fraction(sum(len(set().union(*way)) for way in ways), len(ways))


def distinct(E, k, tokens):
    """An expert is left out by one token with chance 1 − k/E, by all of them with that to the power of the tokens
    (choices independent and uniform)."""
    return E * (1 - (1 - Fraction(k, E)) ** tokens)
