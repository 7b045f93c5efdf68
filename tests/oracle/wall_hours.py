"""What the wall clock of a zone shows, asked of the zone itself: hour by hour, and minute by minute if it jumps.

Nothing is used of our own handling of offsets but the zone's data. Every change in the zones here is on a whole minute.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from wangtimer.core.time.zones import read_zone

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Piece:
    """From `at_s` on (since epoch) the wall shows `wall_s` (as if UTC) and runs on for `length_s`.

    `skipped_s`: by how much the wall jumped forward at `at_s`. `is_repeat`: the wall has shown this before.
    """

    at_s: int
    wall_s: int
    length_s: int
    skipped_s: int
    is_repeat: bool


@lru_cache(maxsize=200_000)
def pieces_of_hour(zone: str, hour: int) -> tuple[Piece, ...]:
    """Return the pieces of the hour `hour` since epoch: one, or sixty where the wall jumps within it."""
    start_s = hour * HOUR_S
    last_s = start_s + HOUR_S - MINUTE_S
    (first, is_repeat), (last, is_last_repeat) = _shown(zone, start_s), _shown(zone, last_s)
    if last - first == last_s - start_s and is_repeat == is_last_repeat:
        return (Piece(start_s, first, HOUR_S, _skipped_s(zone, start_s), is_repeat),)
    return tuple(
        Piece(at_s, _shown(zone, at_s)[0], MINUTE_S, _skipped_s(zone, at_s), _shown(zone, at_s)[1])
        for at_s in range(start_s, start_s + HOUR_S, MINUTE_S)
    )


@lru_cache(maxsize=4_096)
def changes_of(zone: str, year: int) -> tuple[int, ...]:
    """Return the seconds since epoch at which the wall clock of `zone` jumps within the UTC year."""
    first, after = (round(datetime(one, 1, 1, tzinfo=UTC).timestamp()) for one in (year, year + 1))
    jumping = [
        day_s
        for day_s in range(first, after, DAY_S)
        if _shown(zone, day_s + DAY_S)[0] - _shown(zone, day_s)[0] != DAY_S
    ]
    return tuple(next(_jumps(zone, day_s)) for day_s in jumping)


def is_of_whole_hours(zone: str, change_s: int) -> bool:
    """Tell whether the wall clock jumps by whole hours at `change_s`."""
    return (_shown(zone, change_s)[0] - _shown(zone, change_s - MINUTE_S)[0] - MINUTE_S) % HOUR_S == 0


def swallows_midnight(zone: str, change_s: int) -> bool:
    """Tell whether the wall clock jumps forward over a midnight at `change_s`."""
    new_wall_s = _shown(zone, change_s)[0]
    first_skipped_s = new_wall_s - _skipped_s(zone, change_s)
    return -(-first_skipped_s // DAY_S) * DAY_S < new_wall_s


def _jumps(zone: str, day_s: int) -> Iterator[int]:
    for at_s in range(day_s + MINUTE_S, day_s + DAY_S + MINUTE_S, MINUTE_S):
        if _shown(zone, at_s)[0] - _shown(zone, at_s - MINUTE_S)[0] != MINUTE_S:
            yield at_s


def _skipped_s(zone: str, at_s: int) -> int:
    return max(0, _shown(zone, at_s)[0] - _shown(zone, at_s - MINUTE_S)[0] - MINUTE_S)


def _shown(zone: str, at_s: int) -> tuple[int, bool]:
    """Return what the wall shows, in seconds as if it were UTC, and whether it shows that again."""
    shown = datetime.fromtimestamp(at_s, read_zone(zone))
    offset = shown.utcoffset()
    assert offset is not None
    return at_s + offset.days * DAY_S + offset.seconds, shown.fold == 1
