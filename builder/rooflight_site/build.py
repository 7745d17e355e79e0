"""The stages of a build, in order: evaluate, render, generate, check, publish. A fault in any leaves the old site."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rooflight.api import Inspection
from rooflight.edge.library import Catalog, open_catalog
from rooflight_site import links, pages, prose, write
from rooflight_site.deployments import Deployed
from rooflight_site.errors import BuildError
from rooflight_site.evaluate import Outcome, outcomes, outcomes_of, refuse_twins
from rooflight_site.inference import INFERENCE_SCHEMA
from rooflight_site.payload import GALLERY_SCHEMA, INSPECTION_SCHEMA, Json, gallery

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("evaluate", "render", "generate", "check")


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build wrote."""

    out: Path
    models: int
    pages: int
    bytes: int
    seconds: Mapping[str, float]  # by stage
    left_out: tuple[str, ...] = ()  # a line for each checkpoint that the guards keep from being published


def build(
    out: Path,
    library: Catalog | None = None,
    jobs: int = 1,
    quiet: bool = False,  # noqa: FBT001, FBT002 - the command line's flags
    *,
    inspections: Sequence[Inspection] | None = None,
    deployments: Mapping[str, Deployed] | None = None,
    source: Path = ROOT / "site_src",
    docs: Path = ROOT / "docs",
    site_url: str | None = None,
) -> BuildReport:
    """Write the whole site to `out`, which changes only when everything went well.

    `inspections` replaces the library's models, and `deployments` theirs by id, for tests. `site_url` is needed by
    nothing but the 404 page, whose links cannot be relative.
    """
    seconds: dict[str, float] = {}
    with write.staged(out) as stage, _progress(quiet=quiet, seconds=seconds) as track:
        work = stage / ".work"
        results = _evaluate(library, inspections, deployments or {}, jobs, track)
        models = [result.document for result in results if result.document is not None]
        left_out = tuple(result.why() for result in results if result.document is None)
        if not models:
            raise BuildError("\n".join(["no checkpoint may be published", *left_out]))
        refuse_twins(model["id"] for model in models)
        overview = gallery(models)
        inferences = {result.id: result.inference for result in results if result.inference is not None}
        listed = list(pages.pages(source, overview, models, inferences))
        with track("render", len(listed)) as step:
            _prepare(work, source, docs, site_url)
            _data(work / "docs", overview, models, inferences)
            for page in listed:
                write.text(work / "docs" / page.url / "index.md", page.stub())
                write.text(work / "overrides" / page.view, page.render())
                step()
        with track("generate", 1) as step:
            _mkdocs(work)
            step()
        with track("check", 1) as step:
            faults = list(links.faults(work / "site"))
            if faults:
                raise BuildError("\n".join(faults))
            step()
        _collect(work / "site", stage, results)
        files = [file for file in stage.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        count = sum(file.suffix == ".html" for file in files)
    return BuildReport(out, len(models), count, size, seconds, left_out)


def _evaluate(
    library: Catalog | None,
    inspections: Sequence[Inspection] | None,
    deployments: Mapping[str, Deployed],
    jobs: int,
    track: Callable[..., Any],
) -> list[Outcome]:
    """What became of every checkpoint."""
    if inspections is not None:
        with track("evaluate", len(inspections)) as step:
            return list(outcomes_of(inspections, deployments, step))
    catalog = library or open_catalog()
    with track("evaluate", len(catalog.ids())) as step:
        return list(outcomes(catalog, jobs, step))


def _data(content: Path, overview: Json, models: Sequence[Json], inferences: Mapping[str, Json]) -> None:
    """The data files, among the files that MkDocs copies as they are."""
    write.data(content / pages.GALLERY_DATA, overview)
    for model in models:
        write.data(content / links.model_data(model["id"]), model)
    for name, model in inferences.items():
        write.data(content / links.inference_data(name), model)


def _prepare(work: Path, source: Path, docs: Path, site_url: str | None) -> None:
    """Everything MkDocs reads that is neither page nor figure: prose, schemas, assets and its configuration."""
    content = work / "docs"
    write.tree(source / "schema", content / "data" / "schema")
    write.tree(source / "overrides", work / "overrides")
    assets = f"assets/{_content_hash(source)}"
    for kind in ("styles", "scripts"):
        write.tree(source / kind, content / assets)
    for font in sorted((source / "fonts").glob("*.woff2")):
        write.copy(font, content / assets / font.name)
    write.copy(source / "favicon.svg", content / "assets" / "favicon.svg")
    licences = [file.read_text(encoding="utf-8") for file in sorted((source / "fonts").glob("*.OFL.txt"))]
    write.text(content / "assets" / "licences.txt", "\n\n".join(licences))
    written = prose.sections(docs)
    if docs.is_dir():
        write.tree(docs, content / "docs")
    for path, text in written.files.items():
        write.text(content / path, text)
    config = {
        "nav": [{"Gallery": "index.md"}, *written.nav, {"Data": "data/index.md"}],
        "extra_css": [f"{assets}/{name}.css" for name in ("base", "pages", "inference")],
        "extra_javascript": [{"path": f"{assets}/main.js", "type": "module"}],
    } | ({"site_url": site_url} if site_url else {})
    extra = {"generator": False, "assets": assets, "docs_home": written.home}
    base = (source / "mkdocs.yml").read_text(encoding="utf-8")
    # A JSON value is a YAML value, so the file needs no YAML writer.
    lines = [f"{name}: {json.dumps(value)}" for name, value in (config | {"extra": extra}).items()]
    write.text(work / "mkdocs.yml", "\n".join([base, *lines, ""]))


def _content_hash(source: Path) -> str:
    """Names the folder of styles, scripts and fonts: changed files have a new address, so no cache mixes two builds."""
    digest = hashlib.sha256()
    for file in sorted(file for kind in ("styles", "scripts", "fonts") for file in (source / kind).glob("*")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:10]


def _mkdocs(work: Path) -> None:
    """Run the generator in its own process: its plug-ins configure logging and warnings for the whole interpreter."""
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(work / "mkdocs.yml"),
    ]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise BuildError(f"mkdocs refused the site:\n{done.stdout}{done.stderr}".rstrip())


def _collect(made: Path, stage: Path, results: Sequence[Outcome]) -> None:
    """Move the generated site to the stage's top, mark it as ours and drop the workings."""
    write.move(made, stage)
    report = {
        "generator": "rooflight",
        "schemas": [GALLERY_SCHEMA, INSPECTION_SCHEMA, INFERENCE_SCHEMA],
        "published": [result.id for result in results if result.document is not None],
        "left_out": {r.id: [f.as_json() for f in r.blocking] for r in results if r.document is None},
    }
    write.data(stage / write.MARK, report)
    write.drop(stage / ".work")
    write.text(stage / ".nojekyll", "")


@contextmanager
def _progress(*, quiet: bool, seconds: dict[str, float]) -> Iterator[Callable[..., Any]]:
    """A bar per stage on stderr. Yields `track(stage, total)`, a context that yields the function to call per item."""
    bars = Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=quiet,
    )
    tasks = {stage: bars.add_task(stage, start=False, total=None) for stage in STAGES}

    @contextmanager
    def track(stage: str, total: int) -> Iterator[Callable[[], None]]:
        task = tasks[stage]
        bars.update(task, total=total)
        bars.start_task(task)
        start = time.perf_counter()
        yield lambda: bars.advance(task)
        seconds[stage] = time.perf_counter() - start

    with bars:
        yield track
