"""Limits how many requests that take much CPU run at once, so threads are left for all other requests."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager

from flask import g, request

from wangtimer.api.http.callers import present_caller
from wangtimer.core.at_once import AtOnce

# Timers or firings that a small request has at most: 100 timers take some 0.05 s of CPU, 1,000 half a second.
MOST_OF_SMALL = 100
# Of a process' 8 threads, 4 may be at one, 2 of them for one app. They are not those of `LONG_LOOKS`: a batch by filter
# has a look of its own.
LARGE_REQUESTS = AtOnce(4)
# The app in a request's environment, as it is written there: what is permitted is judged elsewhere.
_APP = "HTTP_WANGTIMER_APP"


def begin_if_many(those: Sized | None) -> None:
    """Begin a large request if it is about many timers or firings; None: about all that it will find."""
    if those is None or len(those) > MOST_OF_SMALL:
        begin_large()


def begin_large() -> None:
    """Let the request under way be a large one, until it is answered; a further call does nothing.

    Call it before the work, once the app's header is read. Raises `TooManyAtOnce`.
    """
    if "end_large" not in g:
        g.end_large = LARGE_REQUESTS.begin(present_caller().app or request.environ.get(_APP))


@contextmanager
def ending_large() -> Iterator[None]:
    """End a large request that the block began."""
    try:
        yield
    finally:
        if end := g.pop("end_large", None):
            end()
