"""Prints what importing costs in a fresh interpreter: python tests/bench/bench_import.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from clock import ENGINE, fresh_ms, show

IMPORT_MS = 50


def main():
    rooms = sorted(path.parent.name for path in (ENGINE / "rooflight").glob("*/__init__.py"))
    inner = [f"rooflight.{room}" for room in rooms if room != "edge"]
    show(
        "import in a fresh interpreter",
        [
            ("rooflight", fresh_ms("import rooflight"), IMPORT_MS),
            *((name, fresh_ms(f"import {name}"), IMPORT_MS) for name in inner),
            ("every room but edge", fresh_ms("import " + ", ".join(inner)), IMPORT_MS),
            ("the command", fresh_ms("import rooflight.edge.cli"), None),
        ],
    )
    target = "openai-community/gpt2"
    show(
        "first answer in a fresh interpreter",
        [
            ("rooflight.show", fresh_ms(f"import rooflight; rooflight.show({target!r})", 3), None),
            ("rooflight.models", fresh_ms("import rooflight; rooflight.models()", 3), None),
        ],
    )


if __name__ == "__main__":
    main()
