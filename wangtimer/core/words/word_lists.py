"""Lists numbers for readers: runs as ranges, even steps with an ellipsis, others one by one."""

from collections.abc import Callable, Sequence
from itertools import pairwise, product

from wangtimer.core.cron.cron_meaning import EVERY_60, EVERY_HOUR, Meaning

# Up to so many times of day are written out.
MOST_TIMES = 6
SHORTEST_RUN, SHORTEST_STEPS = 3, 5


def list_parts(values: Sequence[int], name: Callable[[int], str], to: str) -> list[str]:
    """Return the texts that make up a list: `1`, `3 to 5`; or `1`, `3`, `5`, `…`, `31` if the steps are even."""
    step = even_step(values)
    if step is not None and step > 1 and len(values) >= SHORTEST_STEPS:
        return [*(name(value) for value in values[:3]), "…", name(values[-1])]
    parts: list[str] = []
    for low, high in runs(values):
        if high - low + 1 >= SHORTEST_RUN:
            parts.append(f"{name(low)}{to}{name(high)}")
        else:
            parts += [name(value) for value in range(low, high + 1)]
    return parts


def runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending values as pairs of the first and last of each run of neighbours."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def even_step(values: Sequence[int]) -> int | None:
    """Return the difference between neighbours if it is the same everywhere, else None; None for one value."""
    steps = {high - low for low, high in pairwise(values)}
    return steps.pop() if len(steps) == 1 else None


def rhythm(values: Sequence[int]) -> int | None:
    """Return the step of values from 0 to 59 that begin at 0 and go on evenly past 59; None if they do not."""
    if len(values) < 2 or values[0] != 0:
        return None
    step = even_step(values)
    return step if step is not None and values[-1] + step == len(EVERY_60) else None


def times_of_day(meaning: Meaning) -> list[str] | None:
    """Return the times of day if they are few enough to be written out, else None."""
    count = len(meaning.hours) * len(meaning.minutes) * len(meaning.seconds)
    if count > MOST_TIMES:
        return None
    times = product(meaning.hours, meaning.minutes, meaning.seconds)
    return [clock_text(*time, with_seconds=meaning.seconds != (0,)) for time in times]


def hourly(meaning: Meaning) -> tuple[int, str, str] | None:
    """Return the distance in hours, and the first and last time of day, of a schedule at evenly spaced hours."""
    step = even_step(meaning.hours)
    if step is None or len(meaning.minutes) * len(meaning.seconds) > 1 or meaning.hours == EVERY_HOUR:
        return None
    rest = (meaning.minutes[0], meaning.seconds[0])
    with_seconds = meaning.seconds != (0,)
    first, last = (
        clock_text(hour, *rest, with_seconds=with_seconds)
        for hour in meaning.hours[:: len(meaning.hours) - 1]
    )
    return step, first, last


def clock_text(hour: int, minute: int, second: int, *, with_seconds: bool) -> str:
    """Return a time of day, as 09:00 or 09:00:00."""
    return f"{hour:02}:{minute:02}:{second:02}" if with_seconds else f"{hour:02}:{minute:02}"


def hour_range(hours: Sequence[int]) -> tuple[str, str] | None:
    """Return the first and last minute of hours that lie side by side, else None."""
    [(low, high), *more] = runs(hours)
    return None if more else (f"{low:02}:00", f"{high:02}:59")


def split_duration(duration_ms: int) -> list[tuple[str, str]]:
    """Return a duration as pairs of a number and its unit: day (of 24 hours), hour, minute or second."""
    rest_s, ms = divmod(duration_ms, 1_000)
    pairs: list[tuple[str, str]] = []
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count, rest_s = divmod(rest_s, seconds)
        if count:
            pairs.append((str(count), unit))
    if rest_s or ms or not pairs:
        pairs.append((f"{rest_s}.{ms:03}".rstrip("0") if ms else str(rest_s), "second"))
    return pairs
