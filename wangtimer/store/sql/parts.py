"""Looks through a long time part by part: near results come quickly, and no statement runs long."""

from collections.abc import Iterator
from dataclasses import dataclass

from wangtimer.core.errors import InvalidInput
from wangtimer.core.time.clock import Clock

# After a part that took longer than this comes a shorter one: a statement reads about 400,000 rows a second (2 cores,
# MariaDB), and is given up after 5 s.
SLOW_S = 1.0
# Less than the time a stopping API process gives its requests.
LONGEST_S = 8.0


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

    Raises `InvalidInput` from `ends_at` on, in monotonic seconds, mostly `end_of_patience`.
    """
    length = rule.shortest_ms
    while first <= last:
        began_at = clock.monotonic()
        if began_at >= ends_at:
            raise InvalidInput(
                "since",
                "there are too many firings to look through in a few seconds",
                "ask for a shorter time, or for one timer",
            )
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
