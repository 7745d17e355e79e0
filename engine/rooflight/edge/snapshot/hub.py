"""Reads metadata and parts of files from the hub: bounded, retried, and never a byte of weights.

`huggingface_hub` knows the addresses, the login and how the hub words its refusals. Files are read by range requests
through its client, which follows redirects and keeps the login from other hosts.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeVar

from rooflight.values import SpecError

T = TypeVar("T")
_CHUNK = 1 << 16
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_RETRIED = (408, 429, 500, 502, 503, 504)
_TRIES = 5
_LONGEST_WAIT = 60  # seconds between two tries, whatever the hub asks for
_MAX_FILES = 20_000
_SAYING = ("x-error-code", "x-error-message", "retry-after")
_BROKEN_OFF = ("RemoteProtocolError", "ReadError", "ReadTimeout")  # of the HTTP client: an answer began


class Repository(NamedTuple):
    """What the hub says of a repository at one commit. `total` is its own count of parameters, where it has one."""

    id: str
    commit: str
    files: Mapping[str, int]
    total: int | None


class _Broken(Exception):
    """An answer that another try may complete."""


@dataclass
class Hub:
    """One visit to the hub, which ends at the latest after `seconds`."""

    endpoint: str | None = None
    seconds: float = 1_800
    timeout: float = 30  # of one wait for the network
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _end: float = field(init=False)
    _library: Any = field(init=False)

    def __post_init__(self) -> None:
        """Load the library, which tells the hub nothing of what else is installed."""
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        self._library = _library()
        self._end = self.clock() + self.seconds

    def repository(self, model_id: str, revision: str | None) -> Repository:
        """Return a repository's commit and files. Raises SpecError where the hub will not or cannot say."""
        where = _shown(model_id, revision)
        api = self._library.HfApi(endpoint=self.endpoint, library_name="rooflight")
        found = self._tried(
            where, lambda: api.model_info(model_id, revision=revision, files_metadata=True, timeout=self.timeout)
        )
        commit = found.sha
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            _unexpected(where, "a commit of 40 hexadecimal digits", repr(commit)[:80])
        siblings = list(found.siblings or ())
        if len(siblings) > _MAX_FILES:
            _unexpected(where, f"at most {_MAX_FILES:,} files", f"{len(siblings):,}")
        files: dict[str, int] = {}
        for sibling in siblings:
            name, size = sibling.rfilename, sibling.size
            if not _is_path(name) or type(size) is not int or size < 0:
                _unexpected(where, "the name and size of every file", f"{str(name)[:80]!r}: {size}")
            files[name] = size
        total = getattr(found.safetensors, "total", None)
        return Repository(model_id, commit, files, total if type(total) is int and total > 0 else None)

    def read(self, repository: Repository, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from start to stop of a file, all of it without them."""
        stop = repository.files[name] if stop is None else stop
        url = self._library.hf_hub_url(repository.id, name, revision=repository.commit, endpoint=self.endpoint)
        where = f"{_shown(repository.id, repository.commit[:8])} {name}"
        if start == stop:
            return b""
        return self._tried(where, lambda: self._ranged(url, start, stop, repository.files[name], where))

    def _ranged(self, url: str, start: int, stop: int, size: int, where: str) -> bytes:
        headers = {
            **self._library.utils.build_hf_headers(library_name="rooflight"),
            "Range": f"bytes={start}-{stop - 1}",
            "Accept-Encoding": "identity",
        }
        client = self._library.get_session()
        with client.stream("GET", url, headers=headers, timeout=self.timeout, follow_redirects=True) as response:
            if response.status_code >= 400:  # noqa: PLR2004 - from here on answers are errors
                self._library.hf_raise_for_status(_without_body(response))
            if response.headers.get("Content-Encoding", "identity") != "identity":
                _unexpected(where, "the file's own bytes", f"Content-Encoding {response.headers['Content-Encoding']}")
            skip = start
            if response.status_code == 206:  # noqa: PLR2004 - partial content
                given, wanted = response.headers.get("Content-Range", ""), f"bytes {start}-{stop - 1}/{size}"
                if given != wanted:
                    _unexpected(where, f"Content-Range {wanted}", given[:80] or "none")
                skip = 0
            # A server that ignores the range sends the file from its beginning: read as far as needed and hang up.
            return _first(response, skip, stop - start, self)

    def _tried(self, where: str, ask: Callable[[], T]) -> T:
        """Ask until there is an answer, waiting longer each time. SpecError where none comes or the answer is no."""
        tried = 0
        while True:
            tried += 1
            try:
                return ask()
            except (OSError, _Broken, self._http_error()) as error:  # the library's own errors are OSErrors too
                if tried >= _tries(error) or not self._waited(error, tried):
                    _refuse(error, where)
            except (ValueError, TypeError, KeyError, AttributeError) as error:  # JSON that breaks off, or is another
                said = str(error).strip() or type(error).__name__
                _unexpected(where, "an answer in the hub's own form", said.splitlines()[0][:120])

    def _waited(self, error: Exception, tried: int) -> bool:
        wait = min(_LONGEST_WAIT, max(2.0 ** (tried - 1), _retry_after(error)))
        if self.clock() + wait > self._end:
            return False
        self.sleep(wait)
        return True

    def _http_error(self) -> type[Exception]:
        # The base of every error of the HTTP client, under whichever name the library's release uses that client.
        return self._library.errors.HTTPError

    def spent(self) -> bool:
        """Say whether the visit has lasted as long as it may."""
        return self.clock() > self._end


def _library() -> Any:
    from importlib import import_module

    try:
        library = import_module("huggingface_hub")
        import_module("huggingface_hub.errors")
        import_module("huggingface_hub.utils")
    except ImportError as error:
        raise SpecError(
            "no-hub-library",
            "rooflight snapshot",
            "huggingface_hub",
            f"{error.name} is not installed",
            "pip install 'rooflight[hub]'",
        ) from None
    return library


def _first(response: Any, skip: int, length: int, hub: Hub) -> bytes:
    held = bytearray()
    for chunk in response.iter_raw(_CHUNK):
        held += chunk
        if len(held) >= skip + length:
            return bytes(held[skip : skip + length])
        if hub.spent():
            raise TimeoutError
    message = f"{max(0, len(held) - skip):,} of {length:,} bytes"
    raise _Broken(message)


def _without_body(response: Any) -> Any:
    """A refusal as its headers word it: the library would read the body, however long it is."""
    said = {name: value for name, value in response.headers.items() if name.lower() in _SAYING}
    return type(response)(response.status_code, headers=said, request=response.request)


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _retry_after(error: Exception) -> float:
    word = getattr(getattr(error, "response", None), "headers", {}).get("Retry-After", "")
    return float(word) if word.isdigit() and len(word) < 6 else 0.0  # noqa: PLR2004 - days, or no number of seconds


def _tries(error: Exception) -> int:
    """How often to ask before this error counts: refusals once, no connection twice, whatever passes five times."""
    status = _status(error)
    if status is not None:
        return _TRIES if status in _RETRIED else 1
    name = type(error).__name__
    if name in ("OfflineModeIsEnabled", "UnsupportedProtocol", "TooManyRedirects"):
        return 1
    return 2 if name in ("ConnectError", "ConnectTimeout") else _TRIES


def _refuse(error: Exception, where: str) -> NoReturn:
    """Raise the repair order for what the hub or the network said."""
    name, status = type(error).__name__, _status(error)
    said = str(error).strip().splitlines()[0][:160] if str(error).strip() else name
    login = "log in with `hf auth login`, or set HF_TOKEN"
    if isinstance(error, _Broken) or name in _BROKEN_OFF:
        raise SpecError(
            "hub-answer", where, "all the bytes asked for", f"a download that broke off: {said}",
            "run the command again; nothing was written",
        ) from None  # fmt: skip
    if name == "GatedRepoError":
        raise SpecError(
            "hub-refused", where, "a repository that this login may read", "a gated repository",
            f"accept its terms on its page, then {login}",
        ) from None  # fmt: skip
    if name == "RevisionNotFoundError":
        raise SpecError("hub-not-found", where, "a revision", "no such revision", "correct --revision") from None
    if status in (404, 410) or name == "RepositoryNotFoundError":
        raise SpecError(
            "hub-not-found", where, "a repository that this login may read", f"none ({status})",
            f"correct ORG/NAME; if it is private, {login}",
        ) from None  # fmt: skip
    if status in (401, 403):
        raise SpecError("hub-refused", where, "a repository that this login may read", f"{status}: {said}", login) from None  # fmt: skip  # noqa: E501
    if status in _RETRIED:
        raise SpecError(
            "hub-busy", where, "an answer", f"{status} in {_TRIES} tries", "run the command again later"
        ) from None
    if status is not None:
        _unexpected(where, "the file or its metadata", f"{status}: {said}")
    raise SpecError(
        "hub-unreachable",
        where,
        "an answer from the hub",
        said if name != "OfflineModeIsEnabled" else "HF_HUB_OFFLINE is set",
        "check the network and HF_ENDPOINT, or download the checkpoint's headers elsewhere and pass the folder",
    ) from None


def _unexpected(where: str, expected: str, got: str) -> NoReturn:
    raise SpecError(
        "hub-answer", where, expected, got, "run the command again; if it stays so, the hub or a proxy answers wrongly"
    ) from None


def _is_path(name: Any) -> bool:
    if not isinstance(name, str) or not 0 < len(name) <= 512 or any(ord(c) < 32 for c in name):  # noqa: PLR2004
        return False
    return not name.startswith("/") and "\\" not in name and ".." not in name.split("/")


def _shown(model_id: str, revision: str | None) -> str:
    return model_id if revision is None else f"{model_id}@{revision}"
