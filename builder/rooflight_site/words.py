"""What the site says in words about states and roles that the engine names with one word."""

from collections.abc import Mapping
from typing import Any

CONFIG_STATES: dict[str, str] = {
    "complete": "The published config was at hand and looks whole. It was not compared with the hub's copy.",
    "nearly complete": "The published config was at hand; a few fields that set no dimension were missing "
    "and were filled in.",
    "reordered": "The config's dimensions are usable, but the file was edited by hand before it was found.",
    "partial": "Part of the published config was at hand; what it leaves out is not counted here.",
    "reconstructed": "The config was rebuilt from documented values, not read from the publisher's file. "
    "Believe it as far as the checks below reach.",
}

UNKNOWN_STATE = "How complete the config is has not been recorded."

# Strongest first: the order of the filter, and of the column's first click.
STRENGTHS: dict[str, str] = {
    "verified": "Every guard passes, and name, shape, dtype and bytes of every tensor equal what the headers of the "
    "published files say.",
    "structure checked": "Every guard passes, and names and shapes equal what the source code builds without its "
    "weights, or what follows from that by rule. The headers of the published files were not read, or not all.",
    "total checked": "Every guard passes, and the number of elements equals a published total. No list of tensors was "
    "held against it.",
    "not checked": "Nothing outside this project was held against it.",
}

MARKS: dict[str, str] = {
    "complete": "full",
    "nearly complete": "most",
    "reordered": "most",
    "partial": "half",
    "reconstructed": "open",
}

# Of a plan, in the order in which `rooflight` writes them.
DEGREES: dict[str, str] = {
    "attn_dp": "attention DP",
    "attn_tp": "attention TP",
    "cp": "context parallel",
    "ep": "expert parallel",
    "etp": "expert TP",
    "pp": "pipeline stages",
    "replicas": "replicas",
}

LIMITS: dict[str, str] = {
    "kv": "limited by their cache",
    "activations": "limited by their activations",
    "weights": "the weights leave no room",
}

STATUSES: dict[str, str] = {"announced": "announced, not shipping"}

# Facts of a GPU as `rooflight gpus` names them; the rates of its matrix units stand under their formats.
GPU_FACTS: dict[str, str] = {
    "memory": "Memory",
    "memory_bandwidth": "Memory bandwidth",
    "vector": "Outside the matrix units, FP32",
    "scale_up_bandwidth": "Links inside a domain, each direction",
    "scale_up_domain": "GPUs of a domain",
    "scale_up_latency": "Latency inside a domain",
    "scale_out_bandwidth": "Network between domains, each direction",
    "scale_out_latency": "Latency between domains",
    "tdp": "Design power",
    "price": "Price",
}


def plan(words: str) -> str:
    """A plan in words: `attn_dp=8,ep=8` is "attention DP 8, expert parallel 8"."""
    degrees = [part.partition("=") for part in words.split(",")]
    said = [f"{DEGREES[name]} {degree}" for name, _, degree in degrees if degree != "1"]
    return ", ".join(said) or "the whole model on one GPU"


def per_rank(deployment: Mapping[str, Any]) -> str:
    """On what the sequences of one attention-DP rank stand."""
    gpus, ranks = deployment["gpus"], deployment["ranks"]
    if gpus == ranks:
        return "per GPU" if gpus > 1 else "on the GPU"
    return f"on {gpus:,} GPUs together" if ranks == 1 else f"per rank of {gpus // ranks:,} GPUs"


def counted(number: int, noun: str) -> str:
    """`1 sequence`, `2 sequences`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def config_state(state: str) -> str:
    """One or two sentences on what a config state means."""
    return CONFIG_STATES.get(state, UNKNOWN_STATE)


def mark(state: str) -> str:
    """The sign that stands for a config state; read with the word, never alone."""
    return MARKS.get(state, "open")


def strength(word: str) -> str:
    """What a strength claims, in one or two sentences."""
    return STRENGTHS.get(word, STRENGTHS["not checked"])


def rank(word: str) -> int:
    """The place of a strength, the strongest first."""
    return list(STRENGTHS).index(word) if word in STRENGTHS else len(STRENGTHS)


def sign(word: str) -> str:
    """The class of the sign that stands for a strength; read with the word, never alone."""
    return word.replace(" ", "-")
