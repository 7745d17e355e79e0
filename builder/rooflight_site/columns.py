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
    meaning: str

    @property
    def numeric(self) -> bool:
        return self.source != "fact"


_UP, _DOWN = "ascending", "descending"

COLUMNS = (
    Column("name", "Model", "", "fact", "name", _UP, "Checkpoint, as its lab names it"),
    Column("lab", "Lab", "", "fact", "lab", _UP, "Who published it"),
    Column("arch", "Architecture", "", "fact", "architecture", _UP, "The spec that describes it"),
    Column("attn", "Attention", "", "fact", "attention", _UP, "How attention shares its keys and values"),
    Column("params", "Params", "parameters", "figure", "params.total", _DOWN, "Learned elements, tied ones once"),
    Column("active", "Active", "parameters", "figure", "params.active", _UP, "Parameters that work on one token"),
    Column("layers", "Layers", "layers", "figure", "layers", _DOWN, "Decoder layers"),
    Column("width", "d_model", "elements", "symbol", "d_model", _DOWN, "Width of the residual stream"),
    Column("ctx", "Context", "tokens", "figure", "max_context", _DOWN, "Longest sequence the config allows"),
    Column("kv", "KV / token", "bytes", "figure", "cache.bytes_per_token", _UP, "Cache one more token adds"),
    Column("kv32k", "KV at 32K", "bytes", "figure", "cache.bytes@32768", _UP, "Cache of one sequence of 32,768 tokens"),
    Column("weights", "Weights", "bytes", "figure", "weights.bytes", _UP, "Bytes of the weights"),
    Column("dtype", "Dtype", "", "fact", "dtype", _UP, "The config's dtype"),
    Column("config", "Config", "", "fact", "config_state", _UP, "How much of the published config was at hand"),
)

DEFAULT_SORT = "-params"
