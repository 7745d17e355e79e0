"""What a step costs in seconds: kernels and collectives priced on a machine."""

from rooflight.pricing.backend import BACKENDS, Backend, SpeedOfLight, Spent
from rooflight.pricing.collectives import ALGORITHMS, Prices, cheapest, prices
from rooflight.pricing.place import Lane, Place, Span, place
from rooflight.pricing.rates import SYMBOLS, Link, Rates, rates, runs_in, wider
from rooflight.pricing.step import BEHIND, BETWEEN, Line, Machine, lines
from rooflight.pricing.work import Work, deployed_precision, fused, operand_formats, works

__all__ = [
    "ALGORITHMS",
    "BACKENDS",
    "BEHIND",
    "BETWEEN",
    "SYMBOLS",
    "Backend",
    "Lane",
    "Line",
    "Link",
    "Machine",
    "Place",
    "Prices",
    "Rates",
    "Span",
    "SpeedOfLight",
    "Spent",
    "Work",
    "cheapest",
    "deployed_precision",
    "fused",
    "lines",
    "operand_formats",
    "place",
    "prices",
    "rates",
    "runs_in",
    "wider",
    "works",
]
