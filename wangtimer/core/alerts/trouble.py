"""A trouble: what is not normal with a timer, or with all timers of a host, until it is over; how many they are."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertNote
from wangtimer.core.flow.firing import Member

# Marks that are kept: up to so many timers are counted one by one, more by their least marks, which err by some 4 %
# (Bar-Yossef et al., "Counting distinct elements in a data stream", 2002).
MOST_MARKS = 512
_BITS = 53
_WORD = 2**64 - 1


@dataclass(frozen=True, slots=True)
class TimerCount:
    """How many different timers a trouble has, in a few KB: the least marks of those counted, in order."""

    marks: tuple[int, ...] = ()

    def with_timers(self, timer_ids: Iterable[int]) -> "TimerCount":
        """Return it with these too."""
        marks = {*self.marks, *map(_mark, timer_ids)}
        return TimerCount(tuple(sorted(marks)[:MOST_MARKS]))

    @property
    def is_exact(self) -> bool:
        """Whether each of them was counted."""
        return len(self.marks) < MOST_MARKS

    @property
    def number(self) -> int:
        """How many they are, or some as many."""
        if self.is_exact:
            return len(self.marks)
        return (MOST_MARKS - 1) * (1 << _BITS) // self.marks[-1]


NO_TIMERS = TimerCount()


def _mark(timer_id: int) -> int:
    """Spread ids evenly (splitmix64)."""
    mixed = (timer_id + 0x9E3779B97F4A7C15) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
    return ((mixed ^ (mixed >> 31)) >> (64 - _BITS)) or 1


# Firings of a host that are named, and whose timers are looked at to see whether it is over.
MOST_LAST = 5
# ms; a host is back to normal once it answers, and nothing has failed there for so long: among many timers some failure
# is followed by a success at once.
QUIET_MS = 60_000
# A trouble of a host that was told is told again once it has grown so many times.
GROWN_BY = 10
# ms; so long after its first trouble every callback process notes that a host answers.
KNOWN_MS = 10_000


class TroubleKey(NamedTuple):
    """One of a rule, an event, and a timer, or (`timer_id` 0) a place: a host or a named target."""

    app: str
    rule: str
    timer_id: int
    event: AlertEvent
    place: str = ""

    @property
    def is_of_host(self) -> bool:
        """Whether all timers of a host are one."""
        return self.timer_id == 0


class LastFiring(NamedTuple):
    """A firing that a trouble is about."""

    timer_id: int
    timer_name: str
    fire_at: int

    @property
    def firing_id(self) -> str:
        """Its id."""
        return Member(self.timer_id, self.fire_at, 1).firing_id


@dataclass(frozen=True, slots=True)
class Trouble:
    """Moments in ms UTC; `told_at` None: it was not told yet.

    One of a timer is over when a firing at `fire_at` or later has succeeded, and was not later than `late_ms` (None:
    however late). One of a host is over when one of any of its timers has (`well_at`: when that was seen; None: it was
    not), and nothing failed for `QUIET_MS`: a success that was known after `failed_at`, when the last of it was.
    `is_broken`: it is of failures in a row, was told, and the row has ended since. `told_times` and `told_timers` are
    how many there were when it was told. `began_at` is when the first of its `times` was known.

    `timer_name`, `error`, `http_status` and `lateness_ms` are those of the last of its `last` firings.
    """

    key: TroubleKey
    timer_name: str
    fire_at: int
    since: int
    last_at: int
    times: int
    told_at: int | None = None
    late_ms: int | None = None
    place: AlertPlace = NOWHERE
    last: tuple[LastFiring, ...] = ()
    timers: TimerCount = NO_TIMERS
    opened_at: int = 0
    well_at: int | None = None
    error: str = ""
    http_status: int | None = None
    lateness_ms: int | None = None
    failed_at: int = 0
    is_broken: bool = False
    told_times: int = 0
    told_timers: int = 0
    began_at: int = 0

    @property
    def timer_ids(self) -> tuple[int, ...]:
        """The timers that are looked at to see whether it is over."""
        key = self.key
        return tuple({firing.timer_id for firing in self.last}) if key.is_of_host else (key.timer_id,)

    def is_quiet(self, now: int) -> bool:
        """Tell whether it may be over, as nothing has failed for long enough."""
        return not self.key.is_of_host or now - self.last_at >= QUIET_MS

    def is_known(self, now: int) -> bool:
        """Tell whether a success would have been seen by now."""
        return not self.key.is_of_host or now - self.opened_at >= KNOWN_MS

    def is_ended_by(self, note: AlertNote, known_at: int) -> bool:
        """Tell whether a success at its host that was noted says that it is over; its moment does not matter."""
        lateness_ms = note.lateness_ms if note.recorded_ms is None else note.recorded_ms
        is_late = self.late_ms is not None and (lateness_ms or 0) > self.late_ms
        return known_at >= self.failed_at and not is_late

    def was_over(self, known_at: int) -> bool:
        """Tell whether its host was back to normal before a failure at `known_at`."""
        return self.well_at is not None and known_at - self.failed_at >= QUIET_MS

    def is_due_again(self, repeat_ms: int | None, now: int) -> bool:
        """Tell whether it is to be told, though it was: its rule says so, or much more of its host has failed."""
        if self.told_at is None or (repeat_ms is not None and now - self.told_at >= repeat_ms):
            return True
        if not self.key.is_of_host or not self.told_times:
            return False
        has_more_timers = self.timers.number >= GROWN_BY * self.told_timers
        return self.times >= GROWN_BY * self.told_times or has_more_timers

    def told(self, now: int) -> "Trouble":
        """Return it once it is told."""
        return replace(self, told_at=now, told_times=self.times, told_timers=self.timers.number)

    def after(
        self, note: AlertNote, app: str, timer_name: str, late_ms: int | None, known_at: int, now: int
    ) -> "Trouble":
        """Return it once this has happened too; `late_ms` is the lateness that its rule tells of."""
        member, place = note.member, note.place._replace(app=app)
        firing = LastFiring(member.timer_id, timer_name, member.fire_at)
        others = [last for last in self.last if last != firing]
        most = MOST_LAST if self.key.is_of_host else 1
        return replace(
            self,
            timer_name=timer_name,
            fire_at=max(self.fire_at, member.fire_at),
            since=self.since if self.times else now,
            last_at=now,
            failed_at=max(self.failed_at, known_at),
            began_at=min(self.began_at, known_at) if self.times else known_at,
            times=self.times + 1,
            late_ms=late_ms if self.key.event is AlertEvent.LATE else None,
            place=place if place.text else self.place,
            last=(*others, firing)[-most:],
            well_at=self.well_at if self.well_at is not None and self.well_at > known_at else None,
            error=note.error,
            http_status=note.http_status,
            lateness_ms=note.lateness_ms,
        )

    def after_success(self, known_at: int) -> "Trouble":
        """Return it after a success at its host, known at `known_at` (ms UTC).

        Known before its last failure, it ends a row alone; before the first failure of a row, nothing.
        """
        is_row_ended = self.key.event is AlertEvent.FAILURES_IN_A_ROW and known_at >= self.began_at
        trouble = self._broken() if is_row_ended else self
        return replace(trouble, well_at=known_at) if known_at >= self.failed_at else trouble

    def _broken(self) -> "Trouble":
        """Return a row of failures once it has ended: one that was not told begins anew."""
        if self.told_at is not None:
            return replace(self, is_broken=True)
        return replace(self, times=0, timers=NO_TIMERS, last=())

    def alert(self) -> Alert:
        """Return what is told of it."""
        return self._alert(self.key.event)

    def recovery(self) -> Alert:
        """Return what is told once it is over."""
        over = self._alert(AlertEvent.RECOVERED, self.key.event)
        return replace(over, error="", http_status=None, lateness_ms=None)

    def _alert(self, event: AlertEvent, about: AlertEvent | None = None) -> Alert:
        newest = self.last[-1] if self.last else LastFiring(self.key.timer_id, self.timer_name, self.fire_at)
        is_of_host = self.key.is_of_host
        return Alert(
            event,
            newest.timer_id,
            newest.timer_name,
            newest.fire_at,
            self.since,
            self.times,
            self.error,
            self.http_status,
            self.lateness_ms,
            about,
            self.place.host,
            self.place.target,
            min(self.times, self.timers.number) if is_of_host else 0,
            self.timers.is_exact,
            tuple(firing.firing_id for firing in self.last) if is_of_host else (),
            self.is_broken,
        )
