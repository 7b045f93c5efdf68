"""Pieces of work that one call does in turn: the failure of one stops no other. Their time, and rests between them; and
turns of apps: each has one before any has its second, in this run and the next.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from wangtimer.core.time.clock import Clock

log = structlog.get_logger()

# s; the least rest.
PAUSE_S = 0.01


def rest_after(clock: Clock, began_at: float) -> None:
    """Rest as long as a piece took that began then (s of the stop-watch): half of the time is left to others."""
    clock.sleep(max(PAUSE_S, clock.monotonic() - began_at))


def over_after(clock: Clock, seconds: float) -> Callable[[], bool]:
    """Return what tells whether so many seconds from now are over."""
    ends_at = clock.monotonic() + seconds
    return lambda: clock.monotonic() >= ends_at


def do_in_turn(*pieces: Callable[[], object]) -> None:
    """Do each piece, whatever an earlier one raised; then raise the first error. The others are logged."""
    first: Exception | None = None
    for piece in pieces:
        try:
            piece()
        except Exception as error:
            if first is not None:
                log.warning("another_piece_failed", error=repr(error))
            first = first or error
    if first is not None:
        raise first


@dataclass(slots=True)
class AppTurns:
    """`next_app` returns the next app by name behind one (None: the first); None: there is none."""

    next_app: Callable[[str | None], str | None]
    _last: str | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[str]:
        """Yield each app once, from behind the one that was last."""
        first = self._last
        while (app := self.next_app(self._last)) is not None:
            self._last = app
            yield app
        self._last = None
        while first is not None and (app := self.next_app(self._last)) is not None:
            if app > first:
                return
            self._last = app
            yield app
