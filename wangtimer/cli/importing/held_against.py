"""Compares the next moments of an entry with those of the timer made of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import NotTaken, TheirMoments
from wangtimer.core.cron.cron import END_MS
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.moment_text import show_moment

COMPARED = 100
DAY_MS = 86_400_000


def hold_against(
    theirs: TheirMoments, ours: Schedule, now: int, accepts_clock_changes: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return the next moments after `now` (ms UTC), and notes.

    Raises `NotTaken` with the first moment that differs. Exception, if accepted: moments that differ within a day of a
    clock change of the zone are only noted.
    """
    our_moments = ours.moments(now, END_MS, COMPARED)
    their_moments = [moment for moment in theirs(now, COMPARED) if moment < END_MS]
    if our_moments == their_moments:
        return our_moments, ()
    zone = ZoneInfo(ours.timezone)
    differing = _differing(our_moments, their_moments)
    told = _tell_first(our_moments, their_moments, zone)
    if not all(_is_near_change(moment, zone) for moment in differing):
        raise NotTaken(told)
    if not accepts_clock_changes:
        raise NotTaken(
            f"{told}; they differ only around clock changes of {zone.key}: "
            "--accept-clock-changes imports it with WangTimer's moments there"
        )
    return our_moments, (f"around a clock change, {told}",)


def _differing(ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """Return the moments that only one of the lists has, as far as both reach."""
    full = [moments[-1] for moments in (ours, theirs) if len(moments) == COMPARED]
    last = min(full, default=END_MS)
    return sorted(moment for moment in {*ours} ^ {*theirs} if moment <= last)


def _tell_first(ours: Sequence[int], theirs: Sequence[int], zone: ZoneInfo) -> str:
    number, (our, their) = next(
        (number, pair) for number, pair in enumerate(zip_longest(ours, theirs), 1) if pair[0] != pair[1]
    )
    return f"moment {number} is {_shown(their, zone)} there and {_shown(our, zone)} here"


def _shown(moment: int | None, zone: ZoneInfo) -> str:
    if moment is None:
        return "none"
    return f"{show_moment(moment, zone)} ({datetime.fromtimestamp(moment / 1_000, zone):%A})"


def _is_near_change(moment_ms: int, zone: ZoneInfo) -> bool:
    offsets = {
        datetime.fromtimestamp((moment_ms + far) / 1_000, UTC).astimezone(zone).utcoffset()
        for far in (-DAY_MS, 0, DAY_MS)
    }
    return len(offsets) > 1
