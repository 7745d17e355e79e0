"""Writes the generated parts of docs/guards.md and docs/storage-formats.md: planted faults and storage schemes.

python tools/guards_table.py           write
python tools/guards_table.py --check   say what is out of date, and fail

Which guard sees a fault is read from tests/ablation/faults.yaml; tests/ablation holds every row of it to what the
guards do.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("engine", "tools", "tests/ablation")]

import planted  # noqa: E402 - found through the path above
from docs_markdown import code, codes, table  # noqa: E402

from rooflight.checks import GUARDS  # noqa: E402
from rooflight.expr import print_tree  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooflight.spec import Scheme

DOCS = ("guards.md", "storage-formats.md")
_PART = re.compile(r"(<!-- guards: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MUST, _ALSO = "●", "○"
_ALONE = {"present": "there", "absent": "not there"}


def summary() -> str:
    """One row per guard: how many faults it sees, and what slips through with it off."""
    rows = []
    for guard in GUARDS:
        sees = [fault for fault in planted.faults() if guard in fault.caught_by]
        alone = [fault for fault in sees if fault.caught_by == (guard,)]
        slips = "; ".join(fault.fault for fault in alone)
        rows.append((f"[{guard}](#{guard})", len(sees), len(alone), slips))
    return table(("guard", "sees", "it alone", "what slips through with it off"), rows)


def matrix() -> str:
    """One row per fault that something sees, one column per guard."""
    rows = []
    for fault in planted.faults():
        if not fault.caught_by or fault.caught_by == (planted.READING,):
            continue
        marks = [
            _MUST if guard == fault.caught_by[0] else _ALSO if guard in fault.caught_by else "" for guard in GUARDS
        ]
        rows.append((_name(fault), fault.fault, *marks, ", ".join(fault.hints)))
    return table(("spec", "fault", *GUARDS, "hints"), rows)


def refused() -> str:
    """Faults that no guard gets to see, because nothing can be read from the spec."""
    rows = [(_name(f), f.fault) for f in planted.faults() if f.caught_by == (planted.READING,)]
    return table(("spec", "fault"), rows)


def unseen() -> str:
    """Faults that pass every guard."""
    rows = [(_name(f), f.fault, ", ".join(f.hints) or "nothing") for f in planted.faults() if not f.caught_by]
    return table(("spec", "fault", "hint"), rows)


def counts() -> str:
    """How much was planted where."""
    rows = planted.faults()
    specs = {planted.checkpoint(fault.model)[0]["model_type"] for fault in rows}
    hints = sum(not fault.caught_by and bool(fault.hints) for fault in rows)
    blocked = sum(bool(fault.caught_by) for fault in rows)
    return (
        f"{len(rows)} faults in {len(specs)} architectures: {blocked} keep the model from being published, {hints} "
        f"more give a hint, {len(rows) - blocked - hints} pass unseen."
    )


def schemes() -> str:
    """One row per scheme: what it is, how a config names it, what a matrix product sees, and where it was read."""
    rows = [
        (code(s.name), s.doc, _recognized(s), f"{s.weight} × {s.activation}", s.source)
        for s in planted.library().schemes.values()
    ]
    return table(("scheme", "what it stores", "a config's `quantization_config`", "product", "read where"), rows)


def tensors() -> str:
    """One row per tensor that a scheme stores for one matrix."""
    rows = []
    for scheme in planted.library().schemes.values():
        for rule in scheme.stores:
            shape = "[" + ", ".join(print_tree(axis) for axis in rule.shape) + "]"
            only = f"of {codes(rule.only)} alone" if rule.only else ""
            when = f"where `{rule.when}` is not 0" if rule.when else ""
            notes = ", ".join(note for note in (rule.role, only, when) if note)
            rows.append((code(scheme.name), code(rule.suffix), rule.dtype, code(shape), notes))
    return table(("scheme", "suffix", "dtype", "shape for a matrix `[out, in]`", "what it is"), rows)


def _recognized(scheme: Scheme) -> str:
    if not scheme.recognized:
        return "none: `storage.yaml` names it"
    return ", ".join(
        f"{code(path)} {_ALONE.get(str(values[0])) or ' or '.join(_word(value) for value in values)}"
        for path, values in scheme.recognized.items()
    )


def _word(value: object) -> str:
    return "absent" if value is None else code(value)


def _name(fault: planted.Fault) -> str:
    return planted.checkpoint(fault.model)[0]["model_type"]


PARTS: dict[str, Callable[[], str]] = {
    "summary": summary,
    "matrix": matrix,
    "refused": refused,
    "unseen": unseen,
    "counts": counts,
    "schemes": schemes,
    "tensors": tensors,
}


def filled(text: str) -> str:
    """A page with its generated parts as they are now."""
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def stale() -> list[str]:
    """The pages that no longer say what the code says."""
    pages = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in DOCS}
    return [f"docs/{name}" for name, text in pages.items() if filled(text) != text]


def main() -> int:
    """Write or check both pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is out of date")
    found = stale()
    if parser.parse_args().check:
        print("\n".join([*found, "out of date: run `make docs`"] if found else ["guard tables are up to date"]))  # noqa: T201
        return 1 if found else 0
    for name in found:
        path = ROOT / name
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {name}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
