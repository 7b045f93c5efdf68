"""When a timer finishes."""

from dataclasses import dataclass, replace

from wangtimer.core.schedules.schedule import Schedule, as_bounded


@dataclass(frozen=True, slots=True)
class Ending:
    """A timer finishes after `end_ms` (ms UTC), or after `most` moments of its schedule.

    The moments are counted from its start, or from `counted_from`, when it was first enabled; those that pass while
    it is disabled count.
    """

    end_ms: int | None = None
    most: int | None = None
    counted_from: int | None = None

    @property
    def must_be_counted(self) -> bool:
        """Whether moments are to be counted and `counted_from` is not set yet."""
        return self.most is not None and self.counted_from is None

    def applied_to(self, schedule: Schedule) -> Schedule:
        """Return the schedule, bounded by this ending's last moment; a single moment stays as it is."""
        if schedule.only_moment is not None:
            return schedule
        bounded = replace(as_bounded(schedule), last_ms=self.end_ms)
        counted_from = bounded.start_ms
        if counted_from is None and self.counted_from is not None:
            # A moment in the very ms of the enabling is past.
            counted_from = self.counted_from + 1
        if self.most is not None and counted_from is not None:
            last = replace(bounded, start_ms=counted_from, spread=None).nth(self.most)
            bounded = replace(bounded, last_ms=counted_from - 1 if last is None else last)
        return bounded.plainest


ENDLESS = Ending()
