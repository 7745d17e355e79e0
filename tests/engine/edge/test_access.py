"""What the system refuses, and ports that are taken, end as refusals and never as tracebacks."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from rooflight.edge.cli import main

GPU = Path(__file__).parents[2] / "cases" / "b200-seed.yaml"
LONG = "x" * 300
DENIED = """\
no-access at /srv/config.json
  expected  a file or folder that this user may open
  got       Permission denied
  fix       check the path, its owner and its permissions
"""


def run(*args):
    return CliRunner().invoke(main, args)


@pytest.mark.parametrize(
    "args",
    [
        ("snapshot", "openai/gpt-oss-20b", "--out", f"/tmp/{LONG}"),
        ("estimate", "openai-community/gpt2", "--gpu", f"/tmp/{LONG}"),
        ("build", "--quiet", "--out", "/proc/site"),
        ("show", "/proc/self/mem"),
    ],
    ids=lambda args: args[0],
)
def test_no_traceback(args):
    result = run(*args)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), result.exception


def test_what_it_says(monkeypatch):
    def locked(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied", "/srv/config.json")

    monkeypatch.setattr("rooflight.edge.front.load", locked)
    result = run("show", "/srv/config.json")
    assert result.exit_code == 1
    assert result.stderr == DENIED


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", str(tmp_path), "--port", str(port))
    assert result.exit_code == 1
    assert result.stderr == f"Error: port {port}: Address already in use; choose another with --port\n"


def test_not_a_number():
    result = run("estimate", "openai-community/gpt2", "--gpu", str(GPU), "--usable", "nan")
    assert result.exit_code == 2
    assert "a number is needed" in result.stderr
