"""The columns of the Gallery, in order: one row here is one column there, in its filters, its CSV and its URL."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is what the URL and the exported files call it; `first` is the order of the first click."""

    key: str
    label: str
    unit: str  # for the exported header; empty for text
    source: str  # "fact", "figure" or "symbol"
    name: str  # of that fact, figure or symbol
    first: str  # "ascending" or "descending": the best first, or A to Z
    sets: tuple[str, ...]  # the sets that show it, "all" aside
    meaning: str

    @property
    def numeric(self) -> bool:
        return self.source != "fact"

    @property
    def classes(self) -> str:
        """The classes of its cells: a number is set right, and each set that leaves it out hides it."""
        hidden = [f"not-{name}" for name in SETS if name != "all" and name not in self.sets]
        return " ".join([*(["n"] if self.numeric else []), *hidden])


_UP, _DOWN = "ascending", "descending"

SETS = {"cost": "Cost", "cache": "Cache", "architecture": "Architecture", "all": "All columns"}
_ALWAYS = ("cost", "cache", "architecture")
_COST, _CACHE, _BUILT = ("cost",), ("cache",), ("architecture",)

COLUMNS = (
    Column("name", "Model", "", "fact", "name", _UP, _ALWAYS, "Checkpoint, as its lab names it"),
    Column("lab", "Lab", "", "fact", "lab", _UP, ("cost", "architecture"), "Who published it"),
    Column("arch", "Architecture", "", "fact", "architecture", _UP, _BUILT, "The spec that describes it"),
    Column("family", "Family", "", "fact", "family", _UP, _BUILT, "Whether every parameter works on every token"),
    Column("attn", "Attention", "", "fact", "attention", _UP, _ALWAYS, "How attention shares its keys and values"),
    Column("params", "Params", "parameters", "figure", "params.total", _DOWN, _ALWAYS, "Learned, tied ones once"),
    Column("active", "Active", "parameters", "figure", "params.active", _UP, _COST, "Those that work on one token"),
    Column("draft", "Draft", "parameters", "figure", "params.mtp", _DOWN, _BUILT, "Draft heads, not in Params"),
    Column("layers", "Layers", "layers", "figure", "layers", _DOWN, ("cache", "architecture"), "Decoder layers"),
    Column("width", "d_model", "elements", "symbol", "d_model", _DOWN, _BUILT, "Width of the residual stream"),
    Column("ctx", "Context", "tokens", "figure", "max_context", _DOWN, _ALWAYS, "Longest sequence the config allows"),
    Column("kv", "KV / token", "bytes", "figure", "cache.bytes_per_token", _UP, ("cost", "cache"), "What a token adds"),
    Column("kv32k", "KV at 32K", "bytes", "figure", "cache.bytes@32768", _UP, ("cost", "cache"), "Of one sequence"),
    Column("kvfix", "KV fixed", "bytes", "figure", "cache.constant_bytes", _UP, _CACHE, "Cache that does not grow"),
    Column(
        "kvfull",
        "KV / token, rebuilt",
        "bytes",
        "figure",
        "cache.bytes_per_token_decompressed",
        _UP,
        _CACHE,
        "If keys and values were kept as attention reads them",
    ),
    Column("weights", "Weights", "bytes", "figure", "weights.bytes", _UP, _COST, "Bytes of the weights, as stored"),
    Column("format", "Weights format", "", "fact", "formats", _UP, _COST, "What packs them; dtypes in the files"),
    Column("scheme", "Scheme", "", "fact", "schemes", _UP, _BUILT, "How weights are packed, if they are"),
    Column("strength", "Checked", "", "fact", "strength", _UP, _ALWAYS, "How far facts outside the project agree"),
    Column("config", "Config", "", "fact", "config_state", _UP, _BUILT, "How much of the published config was at hand"),
)

DEFAULT_SORT = "-params"
DEFAULT_SET = "cost"
