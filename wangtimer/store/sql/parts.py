"""Looks through a long time part by part: near results come quickly, and no statement runs long."""

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import InvalidInput
from wangtimer.core.time.clock import Clock

# After a part that took longer than this comes a shorter one: a statement reads about 400,000 rows a second (2 cores,
# MariaDB), and is given up after 5 s.
SLOW_S = 1.0
# Less than the time a stopping API process gives its requests.
LONGEST_S = 8.0
# A look that is not over by then is a long one. Of a process' 8 threads, 2 may be at one: others have the rest.
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


def parts_of(
    first: int, last: int, rule: PartRule, clock: Clock, ends_at: float, *, latest_first: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield [first, last] (moments, ms UTC) in parts; the caller looks through each before it asks for the next.

    Raises `InvalidInput` from `ends_at` on, in monotonic seconds, mostly `end_of_patience`; and `TooManyAtOnce` where
    it takes long, has an end, and this process is at as many long ones as it may be.
    """
    length, since, is_long = rule.shortest_ms, clock.monotonic(), ends_at == math.inf
    with ExitStack() as place:
        while first <= last:
            began_at = clock.monotonic()
            if began_at >= ends_at:
                raise InvalidInput(
                    "since",
                    "there are too many firings to look through in a few seconds",
                    "ask for a shorter time, or for one timer",
                )
            if not is_long and began_at >= since + LONG_AFTER_S:
                place.callback(LONG_LOOKS.begin())
                is_long = True
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
