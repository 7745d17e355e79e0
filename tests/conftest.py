"""What every test folder may ask for."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = (
    "no Chromium found. Install one with: make browser (as root), or apt-get install chromium, "
    "or name one in ROOFLIGHT_CHROMIUM"
)


def find_chromium(environment, which=shutil.which):
    """The path of a browser the tests can drive, or None. A named browser that is not there is None, not another."""
    named = environment.get("ROOFLIGHT_CHROMIUM")
    if named:
        return which(named)
    return next(filter(None, map(which, BROWSERS)), None)


def in_ci(environment):
    """True where a missing browser must fail: skipping there would let broken pages through unseen."""
    return environment.get("CI", "").lower() not in {"", "0", "false"}


@pytest.fixture(scope="session")
def chromium_path():
    """The browser's path: the test is skipped on a laptop without one, and fails in CI."""
    path = find_chromium(os.environ)
    if path is None:
        (pytest.fail if in_ci(os.environ) else pytest.skip)(NO_BROWSER)
    return path
