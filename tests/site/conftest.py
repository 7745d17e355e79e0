"""One small site of made-up models, built once, served as GitHub Pages would under a project path."""

import pytest
from tests.site.deployed import deployments
from tests.site.factory import inspections

from rooflight_site.build import build
from rooflight_site.serve import serving

PREFIX = "/repo/"
SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
TEMPLATES = {
    "gallery": "",
    "inspector": "models/aurora-lab/Aurora-8B/",
    "inference": "models/aurora-lab/Aurora-8B/inference/",
    "data": "data/",
    "docs": "docs/",
    "tables": "docs/formats/",
}

DOCS = {
    "index.md": "# Method\n\nHow numbers come about. See the [glossary](glossary.md).\n\n"
    "## Counting\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "formats.md": "# Formats\n\n| scheme | what it stores | config | product | read where | note |\n"
    "|---|---|---|---|---|---|\n"
    "| `packed` | four-bit weights in one word, one scale for each row of a matrix of many rows | "
    "`config_groups.group_0.weights.strategy` `channel` | I4 × BF16 | "
    "tensor headers of a made-up model | none at all |\n",
    "glossary.md": "# Glossary\n\nTerms and `code`.\n\n```python\nprint(1)\n```\n",
}


@pytest.fixture(scope="session")
def docs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prose")
    for name, text in DOCS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def models():
    return inspections()


@pytest.fixture(scope="session")
def served():
    return deployments()


@pytest.fixture(scope="session")
def site(tmp_path_factory, docs, models, served):
    out = tmp_path_factory.mktemp("built") / "site"
    build(out, inspections=models, deployments=served, docs=docs, quiet=True)
    return out


@pytest.fixture(scope="session")
def address(site):
    with serving(site, PREFIX) as url:
        yield url


@pytest.fixture(scope="session")
def chromium(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser
        browser.close()


def wait_until_ready(page, *, ahead=True):
    page.wait_for_function("performance.getEntriesByName('rooflight-ready').length > 0")
    if ahead and page.locator("[data-figures]").count():
        page.keyboard.press("Shift")  # the first sign of a reader who acts
        page.wait_for_function("performance.getEntriesByName('rooflight-figures').length > 0")


@pytest.fixture
def open_page(chromium, address):
    """Open a page of the site; whatever it complains about or asks another host for fails the test."""
    contexts, complaints = [], []

    def open_(path="", size="desktop", theme="light", *, ahead=True, **options):
        context = chromium.new_context(
            viewport=SIZES[size],
            color_scheme=theme,
            is_mobile=size == "phone",
            has_touch=size == "phone",
            permissions=["clipboard-read", "clipboard-write"],
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: complaints.append(r.url) if not r.url.startswith((address, "data:")) else None)
        page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.goto(address + path, wait_until="load")
        if options.get("java_script_enabled", True):
            wait_until_ready(page, ahead=ahead)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
