"""What a timer should fire, by arithmetic alone: a history of what it was, and the moments that follow of it."""

from dataclasses import dataclass, field

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Once, Schedule


@dataclass(frozen=True)
class Rhythm:
    """Each `period_ms` from `first_ms` on (ms UTC); without a period, `first_ms` alone."""

    first_ms: int
    period_ms: int | None = None
    as_cron: bool = False

    @property
    def schedule(self) -> Schedule:
        """The same as the service knows it."""
        if self.period_ms is None:
            return Once(self.first_ms)
        if not self.as_cron:
            return Every(self.period_ms, self.first_ms)
        step = self.period_ms // 1_000
        return Cron(f"{self.first_ms // 1_000 % step}-59/{step} * * * * *", "UTC")

    def has(self, moment: int) -> bool:
        if self.period_ms is None:
            return moment == self.first_ms
        return (moment - self.first_ms) % self.period_ms == 0

    def between(self, after: int, until: int) -> set[int]:
        """Return the moments in (after, until]."""
        if self.period_ms is None:
            return {self.first_ms} & set(range(after + 1, until + 1))
        first = after + 1 + (self.first_ms - after - 1) % self.period_ms
        return set(range(first, until + 1, self.period_ms))


@dataclass
class History:
    """What was in force from when on: a rhythm, or None while the timer is disabled or deleted.

    `lead_ms`: a change takes effect for moments further away than that; for nearer ones it may or may not. A moment
    that a change makes less than `turn_ms` further away goes out at once, so that changes after that one come too late.
    """

    lead_ms: int
    turn_ms: int
    changes: list[tuple[int, Rhythm | None]] = field(default_factory=list)

    def change(self, now: int, rhythm: Rhythm | None) -> None:
        self.changes.append((now, rhythm))

    def must_fire(self, after: int, until: int) -> set[int]:
        """Return the moments in (after, until] that fire for certain."""
        return {
            one for one in self.may_fire(after, until) if all(_has(was, one) for was in self._in_force(one))
        }

    def may_fire(self, after: int, until: int) -> set[int]:
        """Return the moments in (after, until] that fire for certain or were within the lead of a change."""
        rhythms = {rhythm for _, rhythm in self.changes if rhythm is not None}
        candidates = {one for rhythm in rhythms for one in rhythm.between(after, until)}
        return {one for one in candidates if any(_has(was, one) for was in self._near(one))}

    def _near(self, moment: int) -> list[Rhythm | None]:
        first, last = moment - self.lead_ms - self.turn_ms, moment - self.lead_ms
        return self._in_force(moment) + [rhythm for start, rhythm in self.changes if first <= start <= last]

    def _in_force(self, moment: int) -> list[Rhythm | None]:
        """Return all that was in force from the lead before a moment up to it."""
        ends = [at for at, _ in self.changes[1:]] + [moment + 1]
        return [
            rhythm
            for (start, rhythm), end in zip(self.changes, ends, strict=True)
            if start <= moment and end >= moment - self.lead_ms
        ]


def _has(rhythm: Rhythm | None, moment: int) -> bool:
    return rhythm is not None and rhythm.has(moment)
