"""The API, built once per process: building takes 0.2 s, too much for each deployment of a test."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache
from typing import Any, cast
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask

from wangtimer.api import create_app
from wangtimer.testing.deployment import Deployment
from wangtimer.wiring import Wiring

READING = ("GET", "HEAD", "OPTIONS")

_in_use: ContextVar[Deployment] = ContextVar("wangtimer.testing.deployment")


class WiringInUse:
    """Stands for a `Wiring`: it has the parts of the deployment whose request is being answered.

    In the API's own threads, such as health probes, they are the parts of the latest request.
    """

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
