"""A static server that behaves like GitHub Pages: gzip, ten minutes of cache, index files, the site's own 404 page."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

_PACKED = ("text/", "application/json", "application/javascript", "image/svg+xml", "application/xml")


class Handler(SimpleHTTPRequestHandler):
    """Serves one site under `prefix`, which starts and ends with a slash as a project path does."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".woff2": "font/woff2",
        ".svg": "image/svg+xml",
    }

    def __init__(self, *args: object, root: Path, prefix: str) -> None:
        self.root, self.prefix = root, prefix
        super().__init__(*args, directory=str(root))

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Stay silent: a page load is dozens of lines."""

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        file = self._find(path)
        if file and file.is_dir():
            self._redirect(urlsplit(self.path).path + "/")
            return
        status = HTTPStatus.OK if file else HTTPStatus.NOT_FOUND
        missing = self.root / "404.html"
        file = file or (missing if missing.is_file() else None)
        content = file.read_bytes() if file else b"not found"
        kind = self.guess_type(str(file)) if file else "text/plain"
        packs = kind.startswith(_PACKED) and "gzip" in self.headers.get("Accept-Encoding", "")
        self._send(status, kind, _packed(content) if packs else content, packed=packs, body=body)

    def _find(self, path: str) -> Path | None:
        """The file a path means; a folder when the path lacks its final slash; None when there is nothing."""
        if not path.startswith(self.prefix):
            return None
        file = (self.root / path.removeprefix(self.prefix)).resolve()
        if not file.is_relative_to(self.root):
            return None
        if file.is_dir() and (path.endswith("/") or file == self.root):
            file /= "index.html"
        return file if file.exists() else None

    def _redirect(self, place: str) -> None:
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, status: HTTPStatus, kind: str, content: bytes, *, packed: bool, body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Cache-Control", "max-age=600")
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


@lru_cache(maxsize=512)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, 6, mtime=0)


def server(root: Path, host: str = "127.0.0.1", port: int = 0, prefix: str = "/") -> ThreadingHTTPServer:
    """A bound server, not yet serving; port 0 takes a free one."""
    prefix = f"/{prefix.strip('/')}/" if prefix.strip("/") else "/"
    return ThreadingHTTPServer((host, port), partial(Handler, root=root.resolve(), prefix=prefix))


@contextmanager
def serving(root: Path, prefix: str = "/") -> Iterator[str]:
    """Serve a site on a free port while the block runs; yields the address of its front page."""
    running = server(root, prefix=prefix)
    running.daemon_threads = True
    thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    folder = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/{folder}"
    finally:
        running.shutdown()
        running.server_close()
        thread.join()
