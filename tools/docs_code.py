"""The pages about what the code itself says: error codes, the command line, the Python functions, the figures."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import click
import error_examples
from docs_markdown import anchor, code, page, table

import rooflight
from rooflight.api.catalog import FIGURES
from rooflight.edge import cli
from rooflight.values.error_codes import CODES

ENGINE = Path(__file__).resolve().parents[1] / "engine" / "rooflight"

_ERRORS = """\
Whatever Rooflight refuses, it refuses with a `SpecError` of five parts: a stable code, where, what was expected, what
it got, and how to fix it. The command line prints it to standard error and exits with 1; with `--json` it prints the
same five as one object. Every message below is what the engine says to a small faulty input."""
_COMMANDS = """\
`rooflight` prints tables to people and, with `--json`, data to programs. Exit codes: 0 done; 1 the input was refused,
and standard error says why and how to fix it; 2 the command line itself was wrong."""


# Where a call that makes or carries an error names its code.
_CODE_AT = {"SpecError": 0, "Check": 2, "parse_json": 2}


def used_codes(folder: Path = ENGINE) -> dict[str, list[str]]:
    """code -> the files that raise it, by a scan of the syntax. ValueError where a code is computed."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        where = path.relative_to(folder).as_posix()
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            at = _CODE_AT.get(getattr(call.func, "id", getattr(call.func, "attr", "")))
            if at is None:
                continue
            named = [k.value for k in call.keywords if k.arg == "code"]
            argument = named[0] if named else call.args[at] if len(call.args) > at else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                if where not in found.setdefault(argument.value, []):
                    found[argument.value].append(where)
            elif not (isinstance(argument, ast.Name | ast.Attribute) and ast.unparse(argument).endswith("code")):
                raise ValueError(f"{where}:{call.lineno}: an error code is written out, not {ast.unparse(call)[:60]}")
    return found


def errors() -> str:
    """docs/errors.md."""
    parts = [_ERRORS]
    for name, meaning in CODES.items():
        # A code without an example fails a test of its own; the other pages are written all the same.
        example = f"\n\n```text\n{error_examples.refusal(name)}\n```" if name in error_examples.EXAMPLES else ""
        parts.append(f"## {name}\n\n{meaning}{example}")
    return page("Errors", *parts)


def command_line() -> str:
    """docs/cli.md."""
    root = click.Context(cli.main, info_name="rooflight", **cli.main.context_settings)
    parts = [
        _COMMANDS,
        "## Options of every command\n\nThey stand before the name of the command.\n\n" + _options(cli.main, root),
    ]
    for name, command in cli.main.commands.items():
        context = click.Context(command, info_name=name, parent=root)
        usage = " ".join(["rooflight", name, *command.collect_usage_pieces(context)])
        text = inspect.cleandoc(command.help or "").replace("\b\n", "")
        epilog = inspect.cleandoc(command.epilog or "")
        parts.append(
            f"## rooflight {name}\n\n```text\n{usage}\n```\n\n{text}\n\n{epilog}\n\n" + _options(command, context)
        )
    return re.sub(r"\n{3,}", "\n\n", page("Command line", *parts))


def _options(command: click.Command, context: click.Context) -> str:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            rows.append((code(record[0]), record[1].replace("  ", " ")))
    return table(("option", "meaning"), rows)


def functions() -> str:
    """The public names of the package."""
    rows = []
    for name in rooflight.__all__:
        value = getattr(rooflight, name)
        signature = inspect.signature(value)
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        shown = signature.replace(parameters=plain, return_annotation=signature.empty)
        first = (inspect.getdoc(value) or "").split("\n\n")[0].removeprefix("Return ")
        rows.append((code(f"{name}{shown}"), first[:1].upper() + first[1:]))
    return table(("function", "returns"), rows)


def figures() -> str:
    """Every figure of a whole model."""
    return table(("figure", "what it is", "unit", "differs by phase"), [
        (f"[`{f.key}`](#{anchor(f.key)})", f.label, f.unit, "yes" if f.phased else "no") for f in FIGURES.values()
    ])  # fmt: skip
