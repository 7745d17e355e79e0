"""The commands `snapshot` and `new`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.edge.library import Catalog
    from rooflight.edge.snapshot.take import Taken


_STORAGE = "storage.yaml"  # beside a config: what people say of how its weights are stored


def _not_empty(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty text: it is a variable of a script that was never set, not a wish for the default."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty", context, option)
    return value


@click.command()
@click.argument("target", metavar="ORG/NAME|PATH")
@click.option("--revision", metavar="R", callback=_not_empty, help="Branch, tag or commit on the hub. [default: main]")
@click.option(
    "--id",
    "model_id",
    metavar="ORG/NAME",
    callback=_not_empty,
    help="Of a PATH: whose snapshot it is. [default: local/FOLDER]",
)
@click.option(
    "--out", metavar="DIR", callback=_not_empty, help="Folder for the snapshot's folder. [default: truth/ of the specs]"
)
@click.option("--replace", is_flag=True, help="Take the place of a snapshot that is there.")
@click.option("--dry-run", is_flag=True, help="Print the three files instead of writing them.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.pass_obj
def snapshot(
    specs: str | None,
    target: str,
    revision: str | None,
    model_id: str | None,
    out: str | None,
    *,
    replace: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Record what a checkpoint is: its config, and every tensor's name, dtype and shape.

    ORG/NAME is read from the hub by its metadata and the headers of its safetensors files; no weights are fetched. A
    PATH is a folder with a config.json and safetensors files, or one such file. Needs the extra: pip install
    'rooflight[hub]'.
    """
    from rooflight.edge import front
    from rooflight.edge.snapshot.write import code_folder, must_hold_only, write_folder
    from rooflight.truth import FILES, folder_name, write_snapshot

    catalog = front.catalog(specs)
    taken = _take(target, revision, model_id, catalog, quiet=quiet)
    facts = taken.snapshot.provenance
    folder = (Path(out) if out is not None else _truth(catalog)) / folder_name(facts["id"])
    kept: dict[str, str] = {}
    if replace:
        must_hold_only(folder, (*FILES, _STORAGE))
        kept = _keep_what_only_people_know(folder, taken)
    files = write_snapshot(taken.snapshot) | kept
    code = code_folder(facts["id"], facts["revision"]) if taken.code else None
    if not dry_run:
        write_folder(folder, files, replace=replace)
        if code is not None:
            write_folder(code, taken.code, replace=True)
    for warning in () if as_json else taken.warnings:
        click.echo(f"warning {warning}", err=True)
    if as_json:
        report = _report(taken, folder, code) | {"written": not dry_run}
        click.echo(json.dumps(report, indent=2, ensure_ascii=False))
    elif dry_run:
        for name, text in files.items():
            click.echo(f"== {folder / name}\n{text}", nl=False)
    else:
        click.echo(_summary(_report(taken, folder, code)))


@click.command()
@click.argument("target", metavar="ORG/NAME|CONFIG.JSON")
@click.option("--revision", metavar="R", callback=_not_empty, help="Branch, tag or commit on the hub. [default: main]")
@click.option(
    "--out", metavar="FILE", callback=_not_empty, help="File to write. [default: models/MODEL_TYPE.yaml of the specs]"
)
@click.pass_obj
def new(specs: str | None, target: str, revision: str | None, out: str | None) -> None:
    """Begin a model spec from a config: the nearest architecture's spec, and what is left to decide.

    ORG/NAME is a snapshot of the specs, or else read from the hub.
    """
    from rooflight.edge import front
    from rooflight.edge.snapshot.scaffold import scaffold
    from rooflight.edge.snapshot.write import write_file

    catalog = front.catalog(specs)
    data, where = _config_of(target, revision, catalog)
    begun = scaffold(data, where, catalog, Path(out) if out is not None else None)
    write_file(begun.path, begun.text)
    click.echo(begun.report)


def _take(target: str, revision: str | None, model_id: str | None, catalog: Catalog, *, quiet: bool) -> Taken:
    from datetime import UTC, datetime

    from rooflight.edge.snapshot.hub import Hub
    from rooflight.edge.snapshot.progress import bar
    from rooflight.edge.snapshot.take import take_from_hub, take_from_path

    today = datetime.now(UTC).date().isoformat()
    path = _path(target)
    if path is not None:
        if revision is not None:
            raise click.UsageError("--revision belongs to ORG/NAME: of files in a folder nothing says it")
        chosen = model_id or "local/" + _word((path if path.is_dir() else path.parent).resolve().name)
        _check_id(chosen)
        with bar(quiet=quiet) as progress:
            return take_from_path(path, chosen, catalog.library, today, progress)
    if model_id is not None:
        raise click.UsageError("--id belongs to a PATH; ORG/NAME says itself whose snapshot it is")
    _check_id(target)
    if revision is not None and not (0 < len(revision) <= 200 and revision.isprintable()):  # noqa: PLR2004
        raise click.UsageError("--revision is a branch, a tag or a commit")
    with bar(quiet=quiet) as progress:
        return take_from_hub(Hub(), target, revision, catalog.library, today, progress)


def _check_id(text: str, path: str = "a folder or safetensors file") -> None:
    from rooflight.truth import is_model_id

    # A name that ends like a file is a path with a slip in it, no repository to ask the hub for.
    if not is_model_id(text) or text.endswith((".json", ".safetensors")):
        raise SpecError(
            "no-checkpoint", text[:200], f"ORG/NAME as on the hub, or the path of {path}",
            "neither", "check the path, or the spelling of ORG/NAME",
        )  # fmt: skip


def _path(target: str) -> Path | None:
    try:
        path = Path(target)
        return path if path.exists() and target else None
    except (OSError, ValueError):  # longer than any path, or with a NUL
        return None


def _word(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in name).strip("-.") or "folder"


def _truth(catalog: Catalog) -> Path:
    # Specs inside an installed package are no place to write into.
    return Path() if catalog.folder.parent.name == "_data" else catalog.folder / "truth"


def _keep_what_only_people_know(folder: Path, taken: Taken) -> dict[str, str]:
    """Carry lab and release date over from the snapshot that is replaced; return its files that people wrote."""
    from rooflight.edge.library import read_json
    from rooflight.truth import read_provenance

    path = folder / "provenance.json"
    before = read_provenance(read_json(path), str(path)) if path.is_file() else {}
    facts: Any = taken.snapshot.provenance
    for key in ("lab", "released"):
        facts[key] = before.get(key) if facts[key] is None else facts[key]
    storage = folder / _STORAGE
    return {_STORAGE: storage.read_text("utf-8")} if storage.is_file() else {}


def _config_of(target: str, revision: str | None, catalog: Catalog) -> tuple[Any, str]:
    from rooflight.edge.library import MAX_CONFIG_BYTES, instead_of_file, read_json
    from rooflight.truth import folder_name, parse_json

    path = _path(target)
    if path is not None:
        if path.is_dir():
            path /= "config.json"
        got = instead_of_file(path)
        if got:
            raise SpecError("no-config", str(path), "a config.json", got, "pass a model's folder")
        return read_json(path), str(path)
    _check_id(target, "a config.json, or of a folder that holds one")
    kept = catalog.folder / "truth" / folder_name(target) / "config.json"
    if kept.is_file() and revision is None:
        return read_json(kept), str(kept)

    from rooflight.edge.snapshot.hub import Hub
    from rooflight.edge.snapshot.take import small_file

    hub = Hub()
    repository = hub.repository(target, revision)
    raw = small_file(hub, repository, "config.json", MAX_CONFIG_BYTES, "config-too-large")
    where = f"{target}/config.json"
    return parse_json(raw, where, "config-not-json", "fetch the file again, it may be truncated"), where


def _report(taken: Taken, folder: Path, code: Path | None) -> dict[str, Any]:
    from rooflight.truth import totals

    facts, rows = taken.snapshot.provenance, taken.snapshot.tensors
    by_dtype: dict[str, int] = {}
    for row in rows:
        by_dtype[row.dtype] = by_dtype.get(row.dtype, 0) + row.copies
    return {
        "id": facts["id"],
        "revision": facts["revision"],
        "strength": facts["strength"],
        "totals": totals(rows),
        "by_dtype": by_dtype,
        "rows": len(rows),
        "folder": str(folder),
        "remote_code": None if code is None else str(code),
        "warnings": list(taken.warnings),
    }


def _summary(report: dict[str, Any]) -> str:
    total = report["totals"]
    lines = [
        f"{report['id']}  {report['strength']}" + (f" at {report['revision']}" if report["revision"] else ""),
        f"tensors     {total['tensors']:,} in {report['rows']} rows",
        "by dtype    " + ", ".join(f"{dtype} {count:,}" for dtype, count in sorted(report["by_dtype"].items())),
        f"bytes       {total['bytes']:,}",
        f"parameters  {total['parameters']:,}",
        f"written to {report['folder']}",
    ]
    if report["remote_code"]:
        lines.append(f"remote code, as text to look things up in: {report['remote_code']}")
    return "\n".join(lines)
