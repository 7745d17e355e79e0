"""The local server behaves as the published site's host does."""

import gzip
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from rooflight_site.serve import serving


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "site" / "sub").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("front " * 50)
    (tmp_path / "site" / "sub" / "index.html").write_text("sub")
    (tmp_path / "site" / "404.html").write_text("own page")
    (tmp_path / "site" / "font.woff2").write_bytes(b"\x00\x01")
    (tmp_path / "secret.txt").write_text("secret")
    with serving(tmp_path / "site", "/repo/") as url:

        def ask_(path, method="GET", **headers):
            connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            return answer.status, body, answer.headers

        yield ask_


def test_a_folder_answers_with_its_index(ask):
    assert ask("/repo/")[:2] == (200, b"front " * 50)
    assert ask("/repo/sub/?q=1")[:2] == (200, b"sub")


def test_a_folder_without_its_slash_is_sent_on(ask):
    status, _, headers = ask("/repo/sub")
    assert (status, headers["Location"]) == (301, "/repo/sub/")


def test_text_is_packed_for_those_who_take_it(ask):
    _, body, headers = ask("/repo/", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == b"front " * 50
    _, body, headers = ask("/repo/font.woff2", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] is None
    assert headers["Content-Type"] == "font/woff2"


@pytest.mark.parametrize(
    "path",
    ["/", "/index.html", "/repo/none", "/repo/../secret.txt", "/repo/%2e%2e/secret.txt", "/repo/..%2fsecret.txt"],
)
def test_what_is_not_of_the_site_gets_its_404_page(ask, path):
    assert ask(path)[:2] == (404, b"own page")


def test_a_head_request_has_no_body(ask):
    status, body, headers = ask("/repo/", method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", "300")
