"""Makes safetensors files of zeros."""

import json
from math import prod

from rooflight.values import BITS


def header_of(tensors, metadata=None):
    """The header for (name, dtype, shape) triples laid out one after the other, and the bytes they take."""
    header = {} if metadata is None else {"__metadata__": metadata}
    end = 0
    for name, dtype, shape in tensors:
        begin, end = end, end + prod(shape) * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return header, end


def file_of(tensors, metadata=None):
    """A whole file."""
    header, size = header_of(tensors, metadata)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(size)
