"""The same schedule asked of cronsim, as far as cronsim can read it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile

from cronsim import CronSim, CronSimError

from tests.oracle.brute_force import END_S
from tests.oracle.meaning import Meaning, fields_of
from wangtimer.core.time.zones import read_zone

# Far more than a case has: an end for a cronsim that would walk in a circle.
MOST_MOMENTS = 100_000


@dataclass(frozen=True, slots=True)
class Fired:
    """A moment in ms since epoch; `is_shown`: the wall clock really shows the time that cronsim means."""

    at_ms: int
    is_shown: bool


def written_for_cronsim(expression: str, meaning: Meaning, after_ms: int, until_ms: int) -> str | None:
    """Return the expression in cronsim's words, or None if it has none for it: W, a backward range, a year.

    A year field is left out where it allows every year of the window.
    """
    fields = fields_of(expression)
    if len(fields) == 7:
        first, last = (_year_of(at_ms, shift) for at_ms, shift in ((after_ms, -1), (until_ms, 1)))
        if meaning.years is not None and not meaning.years.issuperset(range(first, last + 1)):
            return None
        fields.pop()
    weekday = ",".join(f"{part[1:]}L" if part[0] == "l" else part for part in fields[-1].split(","))
    written = " ".join([*fields[:-1], weekday]).replace("?", "*")
    try:
        CronSim(written, datetime(2000, 1, 1))
    except CronSimError:
        return None
    return written


def fired_by_cronsim(written: str, zone: str, after_ms: int, until_ms: int) -> list[Fired]:
    """Return what cronsim fires in (after_ms, until_ms], in the order in which it does."""
    last_ms = min(until_ms, END_S * 1_000 - 1)
    walk = takewhile(lambda fired: fired.at_ms <= last_ms, _walk(written, zone, after_ms // 1_000))
    return [fired for fired in islice(walk, MOST_MOMENTS) if fired.at_ms > after_ms]


def first_by_cronsim(written: str, zone: str, after_ms: int) -> int | None:
    """Return the first moment that cronsim gives when it is asked anew after `after_ms`."""
    return next((fired.at_ms for fired in _walk(written, zone, after_ms // 1_000)), None)


def _walk(written: str, zone: str, after_s: int) -> Iterator[Fired]:
    clock = UTC if zone == "UTC" else read_zone(zone)
    for at in CronSim(written, datetime.fromtimestamp(after_s, clock)):
        at_utc = at.astimezone(UTC)
        yield Fired(round(at_utc.timestamp()) * 1_000, at_utc.astimezone(clock) == at)


def _year_of(at_ms: int, days: int) -> int:
    return datetime.fromtimestamp(at_ms // 1_000 + days * 86_400, UTC).year
