"""Looks through a long time, or many rows, part by part: near results come quickly, and no statement runs long."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import InvalidInput
from wangtimer.core.time.clock import Clock

# After a part that took longer than this comes a shorter one: a statement reads about 400,000 rows a second (2 cores,
# MariaDB), and is given up after 5 s.
SLOW_S = 1.0
# Less than the time a stopping API process gives its requests.
LONGEST_S = 8.0
# A look that is not over by then is a long one. Of a process' 8 threads, 2 may be at one, 1 of them for one app: others
# have the rest.
LONG_AFTER_S = 0.3
LONG_LOOKS = AtOnce(2)


@dataclass(frozen=True, slots=True)
class PartRule:
    """The first part is `shortest_ms` long; each next one `growth` times as long, or twice if that may be slow."""

    shortest_ms: int
    growth: int


# For counts, which read all rows.
PARTS_OF_COUNTS = PartRule(shortest_ms=3_600_000, growth=2)


def end_of_patience(clock: Clock) -> float:
    """Return until when a request may look, in monotonic seconds: 8 s from now."""
    return clock.monotonic() + LONGEST_S


class PartedLook:
    """One look at rows of an app (None: of all apps), which has an end, and a share of its own if it takes long.

    `ends_at`, in monotonic seconds, is mostly `end_of_patience`; infinity: the caller ends it. Then `too_long` makes
    what is raised, a new one each time: an error keeps all that stood where it was raised.
    """

    def __init__(
        self, clock: Clock, app: str | None, ends_at: float, too_long: Callable[[], InvalidInput]
    ) -> None:
        self._clock, self._app, self._ends_at, self._too_long = clock, app, ends_at, too_long
        self._began_at: float | None = None
        self._is_long = ends_at == math.inf
        self._place = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._place.close()

    def go_on(self) -> float:
        """Return the time, in monotonic seconds, if the next part may be read.

        Raises `InvalidInput` at its end. Raises `TooManyAtOnce` where it takes long and this process is at as many long
        ones as it may be. While an app has its whole share of them, its other looks may read their first parts.
        """
        now = self._clock.monotonic()
        if now >= self._ends_at:
            raise self._too_long()
        if self._began_at is None:
            self._began_at = now
        elif not self._is_long and (now >= self._began_at + LONG_AFTER_S or LONG_LOOKS.has_all_of(self._app)):
            self._place.callback(LONG_LOOKS.begin(self._app))
            self._is_long = True
        return now


def parts_of(
    first: int,
    last: int,
    rule: PartRule,
    clock: Clock,
    ends_at: float,
    app: str | None,
    *,
    latest_first: bool = False,
    rows: str = "firings",
) -> Iterator[tuple[int, int]]:
    """Yield [first, last] (ms UTC) in parts, each looked through before the next, as `rows` says. As `PartedLook`."""

    def too_long() -> InvalidInput:
        return InvalidInput(
            "since",
            f"there are too many {rows} to look through in a few seconds",
            "ask for a shorter time" + (", or for one timer" if rows == "firings" else ""),
        )

    length = rule.shortest_ms
    with PartedLook(clock, app, ends_at, too_long) as look:
        while first <= last:
            began_at = look.go_on()
            if latest_first:
                yield max(first, last - length + 1), last
                last -= length
            else:
                yield first, min(last, first + length - 1)
                first += length
            took_s = clock.monotonic() - began_at
            if took_s > SLOW_S:
                length = max(rule.shortest_ms, length // 2)
            else:
                length *= rule.growth if took_s * rule.growth <= SLOW_S else 2
