"""Storage formats of tensor elements, by the names safetensors gives them."""

BITS: dict[str, int] = {
    "F64": 64,
    "F32": 32,
    "F16": 16,
    "BF16": 16,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "I64": 64,
    "I32": 32,
    "I16": 16,
    "I8": 8,
    "U8": 8,
    "BOOL": 8,
}

# Formats that only stand packed inside other elements, or as what a matrix product works on.
PACKED_BITS: dict[str, int] = {"F4_E2M1": 4, "I4": 4}

# How configs spell them (`torch_dtype` of transformers 4, `dtype` of 5).
CONFIG_NAMES: dict[str, str] = {
    "float64": "F64",
    "float32": "F32",
    "float": "F32",
    "float16": "F16",
    "half": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}


def bytes_per_element(dtype: str) -> int:
    """Bytes one element of `dtype` takes; KeyError for a name not in BITS."""
    return BITS[dtype] // 8
