"""The one list of pages: an address, the data files a page is made from, and how to render it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rooflight_site import columns, render, words
from rooflight_site.chart import chart
from rooflight_site.links import inference_data, inference_page, model_data, model_page

GALLERY_DATA = "data/models.json"
INSPECTION_SCHEMA_FILE = "data/schema/inspection-1.json"
INFERENCE_SCHEMA_FILE = "data/schema/inference-1.json"
GALLERY_SCHEMA_FILE = "data/schema/models-1.json"
CHARTED = "tok_s_gpu"


@dataclass(frozen=True, slots=True)
class Page:
    """A generated page. `url` is from the site's root and ends with a slash, the front page's is empty."""

    url: str
    title: str
    summary: str  # one or two sentences; what search and link previews show
    sources: tuple[str, ...]
    render: Callable[[], str]
    keywords: tuple[str, ...] = ()  # further names by which search should find the page

    @property
    def view(self) -> str:
        """Where the rendered body lies among the templates that MkDocs may include."""
        return f"views/{self.url or 'front/'}view.html"

    def stub(self) -> str:
        """The Markdown file that MkDocs reads: its front matter names the view, its text feeds the search index."""
        # JSON is YAML, and quotes every sign that YAML would read as syntax. The theme prints both texts unescaped.
        head = {
            "title": escape(self.title),
            "description": escape(self.summary),
            "template": "app.html",
            "view": self.view,
            "search": {"boost": 2},
        }
        names = " ".join(_as_code(word) for word in self.keywords)
        lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
        return "\n".join(["---", *lines, "---", "", _as_code(self.summary), "", names, ""])


def pages(
    source: Path,
    gallery: Mapping[str, Any],
    inspections: Sequence[Mapping[str, Any]],
    inferences: Mapping[str, Mapping[str, Any]],
) -> Iterator[Page]:
    """Every page that is made from data; prose pages come from Markdown files as they are.

    `inferences` are by model id; a model without one has no Inference page.
    """
    yield Page(
        url="",
        title="Model gallery",
        summary="Language-model checkpoints by what they cost: parameters, KV cache, weights and work per token, "
        "each figure with its formula.",
        sources=(GALLERY_DATA,),
        render=lambda: render.page(
            source,
            "gallery.html",
            "",
            page=gallery,
            columns=columns.COLUMNS,
            sets=columns.SETS,
            default_set=columns.DEFAULT_SET,
            gallery_data=GALLERY_DATA,
            model_page=model_page,
            words=words,
        ),
    )
    for model in inspections:
        yield _inspector(source, model, deployed=model["id"] in inferences)
    for model in inferences.values():
        yield _inference(source, model)
    yield Page(
        url="data/",
        title="Data",
        summary="The figures of this site as JSON, with their schemas.",
        sources=(GALLERY_DATA,),
        render=lambda: render.page(
            source,
            "data.html",
            "data/",
            page=gallery,
            model_page=model_page,
            model_data=model_data,
            deployed=list(inferences),
            inference_page=inference_page,
            inference_data=inference_data,
            gallery_data=GALLERY_DATA,
            schemas={
                GALLERY_SCHEMA_FILE: "the list above",
                INSPECTION_SCHEMA_FILE: "each Inspector file below",
                INFERENCE_SCHEMA_FILE: "each Inference file below",
            },
        ),
    )


def _inspector(source: Path, model: Mapping[str, Any], *, deployed: bool) -> Page:
    facts = model["facts"]
    url, data = model_page(model["id"]), model_data(model["id"])
    return Page(
        url=url,
        title=facts["name"],
        summary=f"{facts['name']} by {facts['lab']}: parameters, KV cache and the cost of every part, with formulas.",
        sources=(data,),
        keywords=(
            model["id"],
            facts["lab"],
            facts["architecture"],
            facts["attention"],
            facts["family"],
            facts["strength"],
        ),
        render=lambda: render.page(
            source,
            "inspector.html",
            url,
            page=model,
            data_file=data,
            words=words,
            views=_views(model["id"], deployed=deployed),
        ),
    )


def _inference(source: Path, model: Mapping[str, Any]) -> Page:
    facts, deployment = model["facts"], model["summary"]["deployment"]
    url, data = inference_page(model["id"]), inference_data(model["id"])
    gpus = f"{deployment['gpus']:,} × {model['gpu']['name']}"
    charts = model["charts"]
    return Page(
        url=url,
        title=f"{facts['name']} inference",
        summary=f"{facts['name']} on {gpus}: what fits, how long steps take kernel by kernel, what tokens cost; "
        "at peak rates, with formulas.",
        sources=(data,),
        keywords=(model["id"], facts["lab"], facts["architecture"], model["gpu"]["name"]),
        render=lambda: render.page(
            source,
            "inference.html",
            url,
            page=model,
            data_file=data,
            words=words,
            views=_views(model["id"], deployed=True),
            drawn={
                "gpus": chart(charts["gpus"], CHARTED, hide=True),
                "batch": chart(charts["batch"], CHARTED, hide=False),
            },
        ),
    )


def _views(model_id: str, *, deployed: bool) -> dict[str, str]:
    """The pages of one model by name; none where there is only one."""
    return {"Inspector": model_page(model_id), "Inference": inference_page(model_id)} if deployed else {}


def _as_code(text: str) -> str:
    """Text that Markdown must print as it stands: HTML and Markdown signs become entities."""
    return "".join(c if c.isalnum() or c in " ,.:-" else f"&#{ord(c)};" for c in text)
