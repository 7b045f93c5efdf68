"""The API in this process: sends a session's requests to it, without a socket and without a thread."""

import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from typing import Any, cast
from urllib.parse import unquote_to_bytes, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from wangtimer.api import create_app
from wangtimer.testing.deployment import Deployment
from wangtimer.wiring import Wiring

# Request headers that a WSGI app gets in variables of their own.
_WITHOUT_PREFIX = {"CONTENT_TYPE", "CONTENT_LENGTH"}


class WsgiAdapter(BaseAdapter):
    """Mount it on a `requests.Session`: `app` answers each request completely, in the caller's thread."""

    def __init__(self, app: WSGIApplication) -> None:
        super().__init__()
        self._app = app

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """Return the app's answer."""
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], _error: Any = None) -> Callable[[bytes], None]:
            started.append((status, headers))
            return lambda _piece: None

        pieces = self._app(_environ(request), start)
        try:
            body = b"".join(pieces)
        finally:
            if close := getattr(pieces, "close", None):
                close()
        status, headers = started[-1]
        response = Response()
        code, _space, response.reason = status.partition(" ")
        response.status_code = int(code)
        response.headers = CaseInsensitiveDict(headers)
        response.encoding = "utf-8"
        response.raw = BytesIO(body)
        response.url = request.url or ""
        response.request = request
        return response

    def close(self) -> None:
        """Keep nothing open."""


def _environ(request: PreparedRequest) -> dict[str, Any]:
    url = urlsplit(request.url or "")
    body = request.body or b""
    content = body.encode() if isinstance(body, str) else body
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method or "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path).decode("latin-1"),
        "QUERY_STRING": url.query,
        "RAW_URI": url.path + (f"?{url.query}" if url.query else ""),
        "SERVER_NAME": url.hostname or "",
        "SERVER_PORT": str(url.port or 80),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": url.netloc,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": BytesIO(content),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    headers: list[tuple[str, str | bytes]] = list(request.headers.items())
    for name, value in headers:
        key = name.upper().replace("-", "_")
        # PEP 3333: an app gets the bytes of a header as Latin-1 characters.
        shown = value.decode("latin-1") if isinstance(value, bytes) else value
        environ[key if key in _WITHOUT_PREFIX else f"HTTP_{key}"] = shown
    return environ


READING = ("GET", "HEAD", "OPTIONS")

_in_use: ContextVar[Deployment] = ContextVar("wangtimer.testing.deployment")


class WiringInUse:
    """Stands for the `Wiring` of the deployment whose request is answered; in other threads, of the latest one."""

    latest: Deployment

    def __getattr__(self, name: str) -> Any:
        return getattr(_in_use.get(self.latest), name)


_wiring = WiringInUse()


@cache
def _app() -> Flask:
    return create_app(cast(Wiring, _wiring))


class ApiOf:
    """A WSGI app: the API of one deployment. `note_request` is told before each whether it may change data."""

    def __init__(self, parts: Deployment, note_request: Callable[[bool], None]) -> None:
        self._parts = parts
        self._note_request = note_request

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request with a complete body."""
        self._note_request(environ["REQUEST_METHOD"] not in READING)
        token = _in_use.set(self._parts)
        _wiring.latest = self._parts
        try:
            pieces = _app()(environ, start)
            try:
                return list(pieces)
            finally:
                if close := getattr(pieces, "close", None):
                    close()
        finally:
            _in_use.reset(token)
