"""GPU files: those that ship, what is no file, and facts that are none."""

import os
from math import prod

import pytest

from rooflight.edge.library import read_yaml_file
from rooflight.edge.machines import all_gpus, gpu_ids, gpus_folder, open_gpu, open_prices
from rooflight.hardware import FACTS, Slice, read_prices
from rooflight.values import BITS, PACKED_BITS, SpecError

GOOD = 'name: G\nmemory: { value: 1000, unit: B, source: sheet, date: "2025-01-31" }\n'


def refusal(path):
    with pytest.raises(SpecError) as caught:
        open_gpu(str(path))
    return str(caught.value).replace(str(path), "PATH")


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (os.mkfifo, "neither a file nor a folder"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
        (lambda path: path.symlink_to(path.parent / "none"), "a link to nothing"),
    ],
    ids=["nothing", "folder", "pipe", "loop", "dangling"],
)
def test_what_is_no_file(tmp_path, make, got):
    path = tmp_path / "gpu.yaml"
    make(path)
    assert (
        refusal(path) == f"missing-file at PATH\n  expected  a GPU file\n  got       {got}\n  fix       check the path"
    )


def test_a_good_one(tmp_path):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD + "scale_up_latency: { value: 2.0e-6, unit: s, copied_from: a test }\n")
    gpu = open_gpu(str(path))
    assert (gpu.memory_bytes, gpu.facts["memory"].date, gpu.facts["scale_up_latency"].value) == (
        1000,
        "2025-01-31",
        2e-6,
    )


@pytest.mark.parametrize(
    ("old", "new", "key", "expected"),
    [
        ("name: G", 'name: ""', "name", "printable text on one line"),
        ("name: G", r'name: "a\tb"', "name", "printable text on one line"),
        ("source: sheet", 'source: ""', "memory.source", "printable text on one line"),
        ("source: sheet", 'copied_from: " "', "memory.copied_from", "printable text on one line"),
        ("value: 1000", "value: 0", "memory.value", "a whole number of B from 1 to 1e+21"),
        ("value: 1000", "value: 0.5", "memory.value", "a whole number of B from 1 to 1e+21"),
        ("value: 1000", "value: 1000.5", "memory.value", "a whole number of B from 1 to 1e+21"),
        ('"2025-01-31"', "nonsense", "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '"2025-02-31"', "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '"20250131"', "memory.date", "a date, YYYY-MM-DD"),
        ('"2025-01-31"', '""', "memory.date", "a date, YYYY-MM-DD"),
    ],
)
def test_facts_that_are_none(tmp_path, old, new, key, expected):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD.replace(old, new))
    first, said, *_ = refusal(path).splitlines()
    assert first.startswith("wrong-type at gpu.yaml:")
    assert first.endswith(f" {key}")
    assert said == f"  expected  {expected}"


TORUS = "topology: { value: torus, copied_from: c }\n"
RING = TORUS.replace("torus", "ring")
WATTS = "tdp: { value: 1, unit: W, source: s }\n"
HOURLY = "currency: USD\nprices:\n  h100: { value: 1, unit: USD/GPU-hour, source: s }\n"
FORMATS = ", ".join((*BITS, *PACKED_BITS))
SHAPE = "GPUs along each axis, as in 4x4x8"
ORIGIN = "source, or copied_from where nobody opened one | neither | say where it is from"
TEXT = "printable text on one line"
KEYS = "one of value, unit, source, date, copied_from, note"
WORD = "remove it, or use one of the expected words"
SHORTER = "remove the shape, or correct scale_up_domain"
FIX = "correct the value, or leave out what is not known"
CONVERT = "convert the value to {}"
WRAPS = "all, none, or {} times true or false: which axes wrap around | {} | say which axes wrap"


def slices(written):
    return f"{TORUS}slices: {{ value: {{ {written} }}, copied_from: c }}\n"


ERRORS = [
    (
        TORUS.replace("torus", "tours"),
        "unknown-word 3 topology.value | one of switch, mesh, ring, torus | 'tours' | you may have intended torus",
    ),
    (TORUS.replace("copied_from: c", "note: c"), f"unsourced 3 topology | {ORIGIN}"),
    (TORUS, "missing-key 1 | slices: the shapes of the torus, and which axes wrap | no such key | add slices"),
    (RING, "missing-key 1 | slices: the shapes of the ring, and which axes wrap | no such key | add slices"),
    (
        "slices: { value: { 4x4: all }, copied_from: c }\n",
        "unknown-key 3 slices | slices of a ring or torus only | switch | remove slices",
    ),
    (
        slices("4x4: all").replace("torus", "mesh"),
        "unknown-key 4 slices | slices of a ring or torus only | mesh | remove slices",
    ),
    (
        slices("4x4: all"),
        "wrong-type 4 slices | shapes of at most scale_up_domain = 1 GPUs | 4x4 | " + SHORTER,
    ),
    (slices('"04x4": all'), f"wrong-type 4 slices.value.04x4 | {SHAPE} | '04x4' | write the shape"),
    (slices('"0x4": all'), f"wrong-type 4 slices.value.0x4 | {SHAPE} | '0x4' | write the shape"),
    (slices("4x: all"), f"wrong-type 4 slices.value.4x | {SHAPE} | '4x' | write the shape"),
    (slices("4x-4: all"), f"wrong-type 4 slices.value.4x-4 | {SHAPE} | '4x-4' | write the shape"),
    (slices("4×4: all"), f"wrong-type 4 slices.value.4×4 | {SHAPE} | '4×4' | write the shape"),
    (slices("100000x1: all"), f"wrong-type 4 slices.value.100000x1 | {SHAPE} | '100000x1' | write the shape"),
    (
        slices("4x4: all").replace("torus", "ring"),
        "wrong-type 4 slices.value.4x4 | GPUs along the ring, as in 12 | '4x4' | write the shape",
    ),
    (slices("256x257: all"), "wrong-type 4 slices.value.256x257 | at most 65536 GPUs | 256x257 | correct the shape"),
    (slices("4x4: [true]"), "wrong-type 4 slices.value.4x4 | " + WRAPS.format(2, "[True]")),
    (slices("4x4: [true, 1]"), "wrong-type 4 slices.value.4x4 | " + WRAPS.format(2, "[True, 1]")),
    (slices('"4": some'), "wrong-type 4 slices.value.4 | " + WRAPS.format(1, "'some'")),
    (slices(""), "wrong-type 4 slices.value | 1 to 256 shapes | 0 | list the shapes"),
    (slices("4x4: all").removesuffix(", copied_from: c }\n") + " }\n", f"unsourced 4 slices | {ORIGIN}"),
    (WATTS.replace(", source: s", ""), f"unsourced 3 tdp | {ORIGIN}"),
    (WATTS.replace("unit: W", "unit: kW"), "unknown-word 3 tdp.unit | W | kW | " + CONVERT.format("W")),
    (WATTS.replace("unit: W, ", ""), "missing-key 3 tdp | unit: text | no such key | add unit"),
    (WATTS.replace("1", "0"), "wrong-type 3 tdp.value | a number of W from 1 to 1e+21 | 0 | " + FIX),
    (WATTS.replace("1", "0.0"), "wrong-type 3 tdp.value | a number of W from 1 to 1e+21 | 0.0 | " + FIX),
    (WATTS.replace("1", "-1"), "wrong-type 3 tdp.value | a number of W from 1 to 1e+21 | -1 | " + FIX),
    (WATTS.replace("1", '"1"'), "wrong-type 3 tdp.value | a number of W from 1 to 1e+21 | '1' | " + FIX),
    (WATTS.replace("1", "true"), "wrong-type 3 tdp.value | a number of W from 1 to 1e+21 | True | " + FIX),
    (
        WATTS.replace("source: s", "source: s, sauce: s"),
        f"unknown-key 3 tdp.sauce | {KEYS} | sauce | you may have intended source",
    ),
    (
        "scale_up_domain: { value: 8.5, unit: GPU, source: s }\n",
        "wrong-type 3 scale_up_domain.value | a whole number of GPU from 1 to 1e+21 | 8.5 | " + FIX,
    ),
    (
        "scale_up_latency: { value: -1.0e-6, unit: s, source: s }\n",
        "wrong-type 3 scale_up_latency.value | a number of s from 0 to 1 | -1e-06 | " + FIX,
    ),
    (
        "matmul: { FP8: { value: 1, unit: FLOP/s, source: s } }\n",
        f"unknown-word 3 matmul.FP8 | one of {FORMATS} | FP8 | use a format",
    ),
    (
        "matmul: { BF16: { value: 1, unit: TFLOP/s, source: s } }\n",
        "unknown-word 3 matmul.BF16.unit | FLOP/s | TFLOP/s | " + CONVERT.format("FLOP/s"),
    ),
    ("status: old\n", f"unknown-word 3 status | one of shipping, announced | 'old' | {WORD}"),
    ('notes: ["a\\tb"]\n', f"wrong-type 3 notes | {TEXT} | 'a\\tb' | write the note"),
    ('notes: [good, " "]\n', f"wrong-type 3 notes | {TEXT} | ' ' | write the note"),
]


def message(name, error):
    """The text of an error, written as `code line key | expected | got | fix`."""
    place, expected, got, fix = error.split(" | ")
    code, line, *key = place.split()
    where = " ".join([f"{name}:{line}", *key])
    return f"{code} at {where}\n  expected  {expected}\n  got       {got}\n  fix       {fix}"


@pytest.mark.parametrize(("written", "error"), ERRORS)
def test_errors_whole(tmp_path, written, error):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD + written)
    assert refusal(path) == message("gpu.yaml", error)


def test_a_gpu_has_a_memory(tmp_path):
    path = tmp_path / "gpu.yaml"
    path.write_text("name: G\n")
    assert refusal(path) == (
        "missing-key at gpu.yaml:1\n"
        "  expected  memory: a value in B with its source\n"
        "  got       no such key\n"
        "  fix       add memory"
    )


def test_shapes_are_read_smallest_first(tmp_path):
    path = tmp_path / "gpu.yaml"
    domain = "scale_up_domain: { value: 16, unit: GPU, source: s }\n"
    path.write_text(GOOD + domain + slices('4x4: all, 2x8: [false, true], 1x2: none, "2x2": [true, false]'))
    gpu = open_gpu(str(path))
    assert gpu.slices == (
        Slice((1, 2), (False, False)),
        Slice((2, 2), (True, False)),
        Slice((4, 4), (True, True)),
        Slice((2, 8), (False, True)),
    )
    assert (gpu.topology, gpu.topology_from.copied_from, gpu.slices_from.copied_from) == ("torus", "c", "c")


def test_nothing_is_late_where_a_file_says_so(tmp_path):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD + "scale_up_latency: { value: 0, unit: s, source: s }\n")
    assert open_gpu(str(path)).facts["scale_up_latency"].value == 0


@pytest.mark.parametrize(
    ("target", "fix"),
    [
        ("h10", "you may have intended h100"),
        ("H200", "you may have intended h200"),
        ("prices", "`rooflight gpus` lists the ids"),
        ("nothing", "`rooflight gpus` lists the ids"),
    ],
)
def test_an_unknown_id(target, fix):
    with pytest.raises(SpecError) as caught:
        open_gpu(target)
    assert str(caught.value) == (
        f"unknown-gpu at {target}\n"
        "  expected  an id of `rooflight gpus`, or the path of a GPU file\n"
        "  got       neither\n"
        f"  fix       {fix}"
    )


def test_a_figure_that_is_needed_says_what_for(tmp_path):
    path = tmp_path / "gpu.yaml"
    path.write_text(GOOD)
    gpu = open_gpu(str(path))
    assert gpu.fact("memory", "to hold weights") == 1000
    with pytest.raises(SpecError) as caught:
        gpu.fact("scale_up_bandwidth", "to say how long GPUs exchange")
    assert str(caught.value) == (
        "missing-fact at gpu G\n"
        "  expected  scale_up_bandwidth in B/s, to say how long GPUs exchange\n"
        "  got       no such figure in its file\n"
        "  fix       add scale_up_bandwidth with its source"
    )


# ------------------------------------------------------------------------------------------------ what ships


def unsourced(gpu):
    """What of a GPU has no source with its day, and is not said to be copied either."""
    stated = {**gpu.facts, **{f"matmul.{form}": fact for form, fact in gpu.matmul.items()}}
    stated |= {
        name: one for name, one in (("topology", gpu.topology_from), ("slices", gpu.slices_from)) if one is not None
    }
    return [name for name, one in stated.items() if not (one.date if one.source else one.copied_from)]


def test_every_file_is_listed():
    assert set(gpu_ids()) == {path.stem for path in gpus_folder().glob("*.yaml")} - {"prices"}
    assert len(gpu_ids()) >= 20
    assert [gpu.id for gpu in all_gpus()] == list(gpu_ids())


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.id)
def test_a_gpu_that_ships(gpu):
    assert unsourced(gpu) == []
    assert gpu.topology == "switch" or gpu.topology_from is not None
    assert gpu.maker
    assert gpu.matmul
    assert {key: fact.unit for key, fact in gpu.facts.items()} == {key: FACTS[key] for key in gpu.facts}
    assert {"memory", "memory_bandwidth"} <= set(gpu.facts)
    assert "scale_up_domain" not in gpu.facts or "scale_up_bandwidth" in gpu.facts
    largest = max((prod(one.shape) for one in gpu.slices), default=1)
    assert largest <= gpu.facts["scale_up_domain"].value
    assert len({one.shape for one in gpu.slices}) == len(gpu.slices)
    assert all(len(one.wraps) == len(one.shape) for one in gpu.slices)


def test_a_source_without_its_day_is_found():
    gpu = open_gpu("h100")
    bare = gpu.facts["tdp"]._replace(date=None)
    assert bare.source
    assert unsourced(gpu._replace(facts={**gpu.facts, "tdp": bare})) == ["tdp"]
    assert unsourced(gpu._replace(topology_from=gpu.topology_from._replace(date=None))) == ["topology"]


def test_prices_name_gpus_that_ship():
    prices = open_prices()
    assert set(prices) <= set(gpu_ids())
    assert "h100" in prices
    assert all(fact.unit == "USD/GPU-hour" and (fact.source or fact.copied_from) for fact in prices.values())


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "USD/GPU-hour",
            "USD",
            "unknown-word 3 prices.h100.unit | USD/GPU-hour | USD | " + CONVERT.format("USD/GPU-hour"),
        ),
        (
            "USD\n",
            "EUR\n",
            "unknown-word 1 currency | one of USD | 'EUR' | remove it, or use one of the expected words",
        ),
        (", source: s", "", f"unsourced 3 prices.h100 | {ORIGIN}"),
        (
            "currency",
            "money: 1\ncurrency",
            "unknown-key 1 money | one of currency, prices | money | remove it, or use one of the expected words",
        ),
    ],
)
def test_prices_that_are_none(tmp_path, old, new, error):
    path = tmp_path / "prices.yaml"
    path.write_text(HOURLY.replace(old, new))
    with pytest.raises(SpecError) as caught:
        read_prices(read_yaml_file(path, tmp_path), path.name)
    assert str(caught.value) == message(path.name, error)


def test_a_price_of_a_gpu_that_does_not_ship(monkeypatch, tmp_path):
    (tmp_path / "prices.yaml").write_text(HOURLY)
    (tmp_path / "h200.yaml").write_text(GOOD)
    monkeypatch.setattr("rooflight.edge.machines.gpus_folder", lambda: tmp_path)
    with pytest.raises(SpecError) as caught:
        open_prices()
    assert str(caught.value) == (
        "unknown-gpu at gpus/prices.yaml prices.h100\n"
        "  expected  the id of a GPU file\n"
        "  got       h100\n"
        "  fix       you may have intended h200"
    )
