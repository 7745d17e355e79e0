"""A laptop without a browser skips the browser tests, and says how to get one; CI fails."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def outcome(root, tmp_path):
    """Runs one test that asks for a browser, where the environment has none, and returns pytest's closing words."""
    (tmp_path / "conftest.py").write_text((root / "tests" / "conftest.py").read_text(encoding="utf-8"), "utf-8")
    (tmp_path / "test_page.py").write_text("def test_page(chromium_path):\n    assert chromium_path\n", "utf-8")

    def run(**environment):
        kept = {key: value for key, value in os.environ.items() if key not in {"CI", "ROOFLIGHT_CHROMIUM"}}
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-ra",
                "-p",
                "no:cacheprovider",
                "--rootdir",
                str(tmp_path),
                str(tmp_path),
            ],
            env=kept | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    return run


def test_a_laptop_skips_and_says_why(outcome, tmp_path):
    report = outcome(PATH=str(tmp_path))
    assert "1 skipped" in report
    assert "make browser" in report


def test_ci_fails(outcome, tmp_path):
    assert "1 error" in outcome(PATH=str(tmp_path), CI="true")


def test_a_named_browser_is_used(outcome, tmp_path):
    assert "1 passed" in outcome(PATH=str(tmp_path), CI="true", ROOFLIGHT_CHROMIUM=sys.executable)


def test_a_named_browser_that_is_not_there_is_not_replaced(outcome):
    assert "1 error" in outcome(CI="true", ROOFLIGHT_CHROMIUM="/nowhere/chromium")
