"""Headers of safetensors files: what is read, and every fault by its whole message."""

import json
import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooflight.truth import MAX_HEADER, choose_files, header_length, read_header
from rooflight.values import BITS, SpecError
from truth.safetensors_files import file_of, header_of

TENSORS = [("a.weight", "BF16", (4, 3)), ("b", "F32", ()), ("empty", "I64", (0, 7)), ("c.scale", "F8_E4M3", (5,))]


def parse(data, where="here"):
    length = header_length(data[:8], len(data), where)
    return read_header(data[8 : 8 + length], len(data) - 8 - length, where, "hub-headers")


def test_a_header_is_read():
    rows = parse(file_of(TENSORS, {"format": "pt"}))
    assert [(r.name, r.dtype, r.shape, r.copies, r.strength) for r in rows] == [
        (name, dtype, shape, 1, "hub-headers") for name, dtype, shape in TENSORS
    ]


def test_rows_come_in_the_order_of_their_bytes():
    header, size = header_of(TENSORS)
    mixed = json.dumps(dict(reversed(header.items()))).encode()
    assert [r.name for r in read_header(mixed, size, "here", "hub-headers")] == [name for name, _, _ in TENSORS]


def test_padding_and_an_empty_file():
    assert read_header(b"{}     ", 0, "here", "hub-headers") == ()
    header, size = header_of(TENSORS)
    assert len(read_header(json.dumps(header).encode() + b"   ", size, "here", "hub-headers")) == 4


SHAPES = st.lists(st.integers(0, 9), max_size=4).map(tuple)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,4}(\.[0-9])?", fullmatch=True), st.tuples(st.sampled_from(sorted(BITS)), SHAPES)
    )
)
def test_what_is_written_is_read(tensors):
    listed = [(name, dtype, shape) for name, (dtype, shape) in tensors.items()]
    rows = parse(file_of(listed))
    assert sorted((r.name, r.dtype, r.shape) for r in rows) == sorted(listed)


@given(st.binary(max_size=200))
def test_noise_is_refused_and_nothing_else_happens(noise):
    assume(noise.strip() != b"}")
    text = b"{" + noise
    with pytest.raises(SpecError):
        parse(struct.pack("<Q", len(text)) + text)


@given(st.data())
def test_a_damaged_header_is_refused_or_still_sound(data):
    whole = bytearray(file_of(TENSORS))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        rows = parse(bytes(whole))
    except SpecError:
        return
    assert sum(row.bytes for row in rows) + 8 + struct.unpack("<Q", whole[:8])[0] == len(whole)


def told(function, *arguments):
    with pytest.raises(SpecError) as caught:
        function(*arguments)
    return str(caught.value)


def entry(**changes):
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


def refusal(header, size=8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return told(read_header, text, size, "here", "hub-headers")


DTYPES = ", ".join(BITS)


def test_lengths():
    assert (
        told(header_length, b"\0" * 7, 100, "here")
        == """\
header-size at here
  expected  8 bytes of length
  got       7 bytes
  fix       fetch the file again; if it stays so, the file is damaged"""
    )
    assert (
        told(header_length, struct.pack("<Q", 93), 100, "here")
        == """\
header-size at here
  expected  a header of 2 to 92 bytes
  got       93
  fix       pass a safetensors file; this one is damaged, or of another format"""
    )
    for length in (0, 1, MAX_HEADER + 1, 2**64 - 1):
        assert told(header_length, struct.pack("<Q", length), None, "here").startswith("header-size at here")
    assert header_length(struct.pack("<Q", MAX_HEADER), None, "here") == MAX_HEADER


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param(
            b" {}",
            """\
header-json at here
  expected  a header that begins with {
  got       b' {}'
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="leading space",
        ),
        pytest.param(
            b'{"a": ',
            """\
header-json at here
  expected  JSON
  got       Expecting value: line 1 column 7 (char 6)
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="broken off",
        ),
        pytest.param(
            b'{"a": 1, "a": 2}',
            """\
duplicate-key at here a
  expected  every key once
  got       a twice
  fix       keep one of the two, or fetch the file again""",
            id="a tensor twice",
        ),
        pytest.param(
            b'{"a": NaN}',
            """\
header-json at here
  expected  JSON
  got       NaN is not JSON
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="NaN",
        ),
        pytest.param(
            {"__metadata__": []},
            """\
header-entry at here __metadata__
  expected  an object
  got       []
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="metadata",
        ),
        pytest.param(
            {"a": {"dtype": "F32", "shape": []}},
            """\
header-entry at here a
  expected  an object of dtype, shape, data_offsets
  got       dtype, shape
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="no offsets",
        ),
        pytest.param(
            entry(dtype="F33"),
            f"""\
header-entry at here a.dtype
  expected  one of {DTYPES}
  got       'F33'
  fix       you may have intended F32""",
            id="dtype",
        ),
        pytest.param(
            entry(shape=[-2]),
            """\
header-entry at here a.shape
  expected  a list of whole numbers from 0
  got       [-2]
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="shape",
        ),
        pytest.param(
            entry(data_offsets=[8, 0]),
            """\
header-entry at here a.data_offsets
  expected  [begin, end]
  got       [8, 0]
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="backwards",
        ),
        pytest.param(
            entry(data_offsets=[0, 4]),
            """\
header-offsets at here a.data_offsets
  expected  8 bytes: 2 of F32
  got       4 bytes
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="too few bytes",
        ),
        pytest.param(
            entry(data_offsets=[1, 9]),
            """\
header-offsets at here a
  expected  tensors from byte 0 on
  got       from 1
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="not from the beginning",
        ),
        pytest.param(
            entry() | {"b": {"dtype": "F32", "shape": [2], "data_offsets": [12, 20]}},
            """\
header-offsets at here b
  expected  from byte 8 on, where a ends
  got       from 12 on, a gap
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="gap",
        ),
        pytest.param(
            entry() | {"b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}},
            """\
header-offsets at here b
  expected  from byte 8 on, where a ends
  got       from 4 on, an overlap
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="overlap",
        ),
        pytest.param(
            entry(shape=[3], data_offsets=[0, 12]),
            """\
header-offsets at here
  expected  tensors that fill the 8 bytes behind the header
  got       they end at 12
  fix       fetch the file again; if it stays so, the file is damaged""",
            id="longer than the file",
        ),
    ],
)
def test_refusals(header, message):
    assert refusal(header) == message


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000, b'{"a": ' + b"[" * 100_000, b'{"a": ' + b"9" * 10_000 + b"}", b"{\xff}", b"{" + b'"a":1,' * 99,
        entry(shape=[True]), entry(shape=[2.0]), entry(shape="2"), entry(shape=[2**41]), entry(shape=[1] * 17),
        entry(dtype=None), entry(dtype=[]), entry(dtype="F4"), entry(data_offsets=[0]), entry(data_offsets=[0, 8, 9]),
        entry(extra=1), {"a": 3}, {"a\n": entry()["a"]}, {"": entry()["a"]}, {"a" * 600: entry()["a"]},
        {"{0-9}": entry()["a"]},
    ],
)  # fmt: skip
def test_hostile_headers(header):
    assert refusal(header).split("-")[0] in ("header", "tensor", "duplicate")


@pytest.mark.parametrize(
    ("names", "index", "chosen"),
    [
        (["model.safetensors", "config.json"], None, ["model.safetensors"]),
        (["model.safetensors", "consolidated.safetensors"], None, ["model.safetensors"]),
        (["weights.safetensors", "README.md"], None, ["weights.safetensors"]),
        (["a-00001-of-00002.safetensors", "a-00002-of-00002.safetensors", "b.safetensors"], None,
         ["a-00001-of-00002.safetensors", "a-00002-of-00002.safetensors"]),
        (["y.safetensors", "x.safetensors", "consolidated.safetensors"], ["y.safetensors", "x.safetensors"],
         ["x.safetensors", "y.safetensors"]),
        (["model.safetensors", "onnx/model.safetensors"], None, ["model.safetensors"]),
    ],
)  # fmt: skip
def test_which_files_are_the_checkpoint(names, index, chosen):
    assert list(choose_files(tuple(names), "here", None if index is None else tuple(index))) == chosen


@pytest.mark.parametrize(
    ("names", "index", "message"),
    [
        (
            ["model.gguf", "config.json"],
            None,
            """\
no-safetensors at here
  expected  weights as safetensors, whose headers can be read alone
  got       only model.gguf
  fix       take a repository or revision with safetensors files, or convert the checkpoint""",
        ),
        (
            ["a.safetensors", "b-00001-of-00002.safetensors"],
            None,
            """\
several-checkpoints at here
  expected  model.safetensors, one safetensors file, an index, or one complete set of shards
  got       a.safetensors, b-00001-of-00002.safetensors
  fix       download the whole checkpoint, pass the file that is meant, or add the index""",
        ),
        (
            ["x.safetensors"],
            ["x.safetensors", "y.safetensors"],
            """\
index-mismatch at here
  expected  every file that the index lists
  got       no y.safetensors
  fix       download the whole checkpoint, or fix the index""",
        ),
    ],
)
def test_files_that_are_no_checkpoint(names, index, message):
    assert told(choose_files, tuple(names), "here", None if index is None else tuple(index)) == message
