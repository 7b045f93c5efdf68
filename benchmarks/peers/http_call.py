"""The call every peer makes: a POST of about 100 bytes of JSON on a connection that each thread keeps open.

There are two clients, so that a Python peer is not judged by its HTTP library only: `requests`, which most people use
(about 600 µs of CPU a call), and pycurl (about 100 µs for one call at a time).
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import requests

from benchmarks.due import Due

if TYPE_CHECKING:
    import pycurl

BODY = b'{"type":"timer.fired","timestamp":"2026-11-20T18:16:51Z","data":{"timerId":"tmr_1","order":7}}'
TIMEOUT_S = 30

# Callers are used from many threads.
Caller = Callable[[Due], None]


def called_url(target_url: str, due: Due) -> str:
    """Return the URL with the parameters that the target logs."""
    return f"{target_url}?due={due.at_ms}&id={due.id}"


def with_requests(target_url: str) -> Caller:
    """Return a caller with one `requests.Session` a thread."""
    per_thread = threading.local()

    def call(due: Due) -> None:
        session: requests.Session | None = getattr(per_thread, "session", None)
        if session is None:
            session = per_thread.session = requests.Session()
            session.trust_env = False
            session.headers["Content-Type"] = "application/json"
        session.post(called_url(target_url, due), data=BODY, timeout=TIMEOUT_S).raise_for_status()

    return call


def with_curl(target_url: str) -> Caller:
    """Return a caller with one curl handle a thread."""
    import pycurl

    per_thread = threading.local()

    def call(due: Due) -> None:
        curl: pycurl.Curl | None = getattr(per_thread, "curl", None)
        if curl is None:
            curl = per_thread.curl = _new_handle()
        curl.setopt(pycurl.URL, called_url(target_url, due))
        curl.perform()

    return call


CALLERS = {"requests": with_requests, "pycurl": with_curl}


def _new_handle() -> "pycurl.Curl":
    import pycurl  # imported only to measure: the page is written without the `bench` extra

    curl = pycurl.Curl()
    curl.setopt(pycurl.POSTFIELDS, BODY)
    curl.setopt(pycurl.HTTPHEADER, ["Content-Type: application/json"])
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.TIMEOUT, TIMEOUT_S)
    curl.setopt(pycurl.FAILONERROR, 1)
    curl.setopt(pycurl.WRITEFUNCTION, len)
    return curl
