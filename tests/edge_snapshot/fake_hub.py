"""A hub on this machine: the endpoints that `huggingface_hub` uses, and ways to misbehave."""

import json
import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_CHUNK = 1 << 16


class FakeHub:
    """What the hub holds and how it answers; a test changes the fields.

    statuses  path -> statuses to answer with, one a request, before the real answer
    cut       file -> bytes after which the connection breaks, once or as often as `cut_times` says
    """

    def __init__(self, url):
        self.url = url
        self.models = {}
        self.statuses = defaultdict(list)
        self.retry_after = None
        self.error_body = b"no"
        self.cut, self.cut_times = {}, 99
        self.ignore_range = False
        self.wrong_range = False
        self.encoding = None
        self.cdn = None  # another FakeHub's address: weights are redirected there
        self.gated = set()
        self.token = None
        self.sizes = {}
        self.sha = COMMIT
        self.total = None
        self.raw_info = None
        self.requests = []
        self.sent = defaultdict(int)

    def add(self, model_id, files):
        self.models[model_id] = {
            name: data if isinstance(data, bytes) else json.dumps(data).encode() for name, data in files.items()
        }

    def info(self, model_id):
        files = self.models[model_id]
        facts = {
            "_id": "0", "id": model_id, "modelId": model_id, "sha": self.sha, "private": False, "gated": False,
            "disabled": False, "downloads": 0, "likes": 0, "tags": [], "createdAt": "2026-01-01T00:00:00.000Z",
            "siblings": [
                {"rfilename": name, "size": self.sizes.get(name, len(data)), "blobId": "0"}
                for name, data in files.items()
            ],
        }  # fmt: skip
        if self.total is not None:
            facts["safetensors"] = {"parameters": {"BF16": self.total}, "total": self.total}
        return json.dumps(facts).encode() if self.raw_info is None else self.raw_info

    def asked(self, name):
        """Ranges that were asked of a file, in order."""
        return [headers.get("Range") for method, path, headers in self.requests if path.endswith("/" + name)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.requests.append((self.command, path, dict(self.headers.items())))
        if hub.statuses[path]:
            self.refuse(hub.statuses[path].pop(0))
            return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self.say("/".join(parts[2:4]), parts[4:])
        elif len(parts) > 4 and parts[2] == "resolve":
            self.give("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self.refuse(404)

    def say(self, model_id, rest):
        if model_id not in self.hub.models:
            self.refuse(401 if not self.headers.get("Authorization") else 404, "RepoNotFound")
        elif rest and rest[1] not in ("main", COMMIT):
            self.refuse(404, "RevisionNotFound")
        elif self.hub.token and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            self.refuse(403, None, "not yours")
        else:
            self.body(200, self.hub.info(model_id), {"Content-Type": "application/json"})

    def give(self, model_id, revision, name):
        hub = self.hub
        if model_id in hub.gated:
            self.refuse(403, "GatedRepo")
            return
        data = hub.models.get(model_id, {}).get(name)
        if data is None or revision not in ("main", COMMIT):
            self.refuse(404, "EntryNotFound")
            return
        about = {"X-Repo-Commit": COMMIT, "ETag": '"0"', "X-Linked-Size": str(len(data)), "Accept-Ranges": "bytes"}
        if hub.cdn and name.endswith(".safetensors"):
            self.body(302, b"", about | {"Location": f"{hub.cdn}{self.path}"})
            return
        wanted = self.headers.get("Range")
        if wanted and not hub.ignore_range:
            start, end = (int(end) for end in wanted.removeprefix("bytes=").split("-"))
            part = data[start : end + 1]
            shown = start + 1 if hub.wrong_range else start
            about["Content-Range"] = f"bytes {shown}-{start + len(part) - 1}/{len(data)}"
            self.body(206, part, about, name)
        else:
            self.body(200, data, about, name)

    def refuse(self, status, code=None, message=None):
        headers = {"X-Error-Code": code} if code else {}
        if message:
            headers["X-Error-Message"] = message
        if self.hub.retry_after is not None:
            headers["Retry-After"] = self.hub.retry_after
        self.body(status, self.hub.error_body, headers, "error")

    def body(self, status, data, headers, name=None):
        hub = self.hub
        self.send_response(status)
        if hub.encoding and name:
            headers["Content-Encoding"] = hub.encoding
        for key, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if name in hub.cut and hub.cut_times > 0 and len(data) > hub.cut[name]:
            hub.cut_times -= 1
            data = data[: hub.cut[name]]
            self.close_connection = True
        try:
            for start in range(0, len(data), _CHUNK):
                self.wfile.write(data[start : start + _CHUNK])
                hub.sent[name] += len(data[start : start + _CHUNK])
        except OSError:  # the client hung up
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # What a client that hangs up leaves is no news.
    handle_error = lambda *_: None  # noqa: E731


@contextmanager
def serving():
    """A hub that answers on this machine until the block ends."""
    handler = type("Handler", (_Handler,), {})
    server = _Server(("127.0.0.1", 0), handler)
    hub = handler.hub = FakeHub(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
