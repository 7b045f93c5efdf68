"""A schedule: a rule (a cron expression, an interval or a single moment), with bounds if it recurs; and when it ends.

Each answers three questions: which moments lie between two times, which is the first after a time, and whether a moment
is one of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b
from itertools import compress

from wangtimer.core.cron.cron import END_MS
from wangtimer.core.schedules.calendars import Calendar, next_open
from wangtimer.core.schedules.rule import Rule, day_of_first
from wangtimer.core.time.zones import Stretch, read_zone
from wangtimer.core.work_budget import refuse_more

# Moments read at once in a search.
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Once:
    """One moment, `at_ms` (ms since epoch, UTC)."""

    at_ms: int

    @property
    def timezone(self) -> str:
        """UTC, since it needs no wall clock."""
        return "UTC"

    @property
    def only_moment(self) -> int:
        """The moment."""
        return self.at_ms

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms]."""
        return [self.at_ms][:limit] if after_ms < self.at_ms <= until_ms else []

    def first_after(self, after_ms: int) -> int | None:
        """Return the moment if it is after `after_ms`, else None."""
        return self.at_ms if self.at_ms > after_ms else None

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is the moment."""
        return moment_ms == self.at_ms

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        """Return the day of the moment, by the offset of the stretch; None if it is before `day`."""
        return day_of_first(self, day, stretch)

    def anchored_at(self, _moment_ms: int) -> "Once":
        """Return itself: it has no interval."""
        return self


@dataclass(frozen=True, slots=True)
class Spread:
    """Puts each moment off by up to `most_ms`: always by the same amount, which depends on `seed`.

    `before` holds pairs (until, most), ascending: moments up to `until` (ms UTC) are put off by up to that `most`
    instead, as before the edit.
    """

    most_ms: int
    seed: int
    before: tuple[tuple[int, int], ...] = ()

    @property
    def widest_ms(self) -> int:
        """The most by which any moment may be put off."""
        return max(self.most_ms, *(most_ms for _, most_ms in self.before), 0)

    def put_off(self, moment_ms: int, next_ms: int | None) -> int:
        """Return the moment put off, but still before the next one, so that the order stays."""
        most_ms = next((most for until_ms, most in self.before if moment_ms <= until_ms), self.most_ms)
        room = most_ms if next_ms is None else min(most_ms, next_ms - moment_ms)
        drawn = blake2b(b"%d %d" % (self.seed, moment_ms), digest_size=8).digest()
        return moment_ms + (int.from_bytes(drawn) * room >> 64)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A rule's moments from `start_ms` to `last_ms` that fall on no excluded day, each put off by the spread.

    Bounds and days apply to the rule's own moments: a moment that is put off may lie after them. `cancelled` moments
    are left out one by one, as they would fire (EXDATE in RFC 5545); they count in a timer's number of firings.
    """

    rule: Rule
    start_ms: int | None = None
    last_ms: int | None = None
    excluded: Calendar | None = None
    spread: Spread | None = None
    cancelled: frozenset[int] = frozenset()

    @property
    def timezone(self) -> str:
        """The zone of the rule."""
        return self.rule.timezone

    @property
    def only_moment(self) -> int | None:
        """The only moment of a rule that does not recur; None if it recurs."""
        return self.rule.only_moment

    @property
    def jitter_ms(self) -> int | None:
        """The most by which coming moments are put off; None: not at all."""
        return None if self.spread is None else self.spread.most_ms or None

    @property
    def plainest(self) -> "Schedule":
        """The schedule itself, or its rule if nothing bounds it."""
        return self.rule if self == Bounded(self.rule) else self

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms], ascending."""
        if not self.cancelled:
            return self._all_moments(after_ms, until_ms, limit)
        found: list[int] = []
        at = after_ms
        while wanted := limit - len(found):
            page = self._all_moments(at, until_ms, wanted)
            found += [moment for moment in page if moment not in self.cancelled]
            if len(page) < wanted:
                break
            at = page[-1]
        return found

    def first_after(self, after_ms: int) -> int | None:
        """Return the first moment after `after_ms`, or None if there is none."""
        return next(iter(self.moments(after_ms, END_MS, 1)), None)

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""
        return self.moments(moment_ms - 1, moment_ms, 1) == [moment_ms]

    def nth(self, number: int) -> int | None:
        """Return the last of the rule's first `number` moments (1: the first), not put off; None if there is none."""
        at, last = -1, None
        while number and (page := self._own_moments(at, END_MS, min(number, PAGE))):
            refuse_more()
            number -= len(page)
            at = last = page[-1]
        return last

    def place_in(self, other: "Bounded", moment_ms: int) -> int | None:
        """Return where `other`, of the same rule, puts the moment that is at `moment_ms` here; None: nowhere."""
        own = moment_ms
        if self.spread is not None:
            places = self._put_off(self.spread, moment_ms - 1, moment_ms, 1)
            own = next((moment for moment, place in places if place == moment_ms), -1)
        if other._own_moments(own - 1, own, 1) != [own]:
            return None
        return own if other.spread is None else other.spread.put_off(own, other.rule.first_after(own))

    def _all_moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        if self.spread is None:
            return self._own_moments(after_ms, until_ms, limit)
        found: list[int] = []
        for _, moment in self._put_off(self.spread, after_ms, until_ms, limit):
            if moment > until_ms or len(found) == limit:
                return found
            if moment > after_ms:
                found.append(moment)
        return found

    def _put_off(self, spread: Spread, after_ms: int, until_ms: int, limit: int) -> Iterator[tuple[int, int]]:
        """Yield own moments, each with where it is put off to: before the rule's next one, open or closed.

        So an edit of the bounds or days moves none. It begins with the last moment before `after_ms`, which may be put
        off to after it.
        """
        last_before = self._last_before(after_ms + 1, spread.widest_ms)
        at = after_ms if last_before is None else last_before - 1
        while page := self._own_moments(at, until_ms, min(limit + 1, PAGE)):
            at = page[-1]
            for moment, next_ms in zip(page, self._following(page), strict=True):
                yield moment, spread.put_off(moment, next_ms)

    def _following(self, page: list[int]) -> list[int | None]:
        """Return the rule's next moment after each of the own moments, open or closed."""
        last = self.rule.first_after(page[-1])
        # Few pages have closed days between their moments.
        if self.excluded is None or self.rule.moments(page[0], page[-1], len(page)) == page[1:]:
            return [*page[1:], last]
        return [*(self.rule.first_after(moment) for moment in page[:-1]), last]

    def _last_before(self, moment_ms: int, within_ms: int) -> int | None:
        last, at = None, moment_ms - within_ms - 1
        while page := self._own_moments(at, moment_ms - 1, PAGE):
            at = last = page[-1]
        return last

    def _own_moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the rule's moments within the bounds and on open days."""
        after = after_ms if self.start_ms is None else max(after_ms, self.start_ms - 1)
        until = until_ms if self.last_ms is None else min(until_ms, self.last_ms)
        if self.excluded is None:
            return self.rule.moments(after, until, limit)
        found: list[int] = []
        while len(found) < limit and (page := self.rule.moments(after, until, limit - len(found))):
            is_open = [not self.excluded.excludes(self._day_of(moment)) for moment in page]
            found += compress(page, is_open)
            reopened = page[-1] + 1 if is_open[-1] else next_open(self.rule, self.excluded, page[-1], until)
            if reopened is None:
                break
            after = reopened - 1
        return found

    def _day_of(self, moment_ms: int) -> date:
        return datetime.fromtimestamp(moment_ms // 1_000, read_zone(self.timezone)).date()


Schedule = Rule | Bounded


def rule_of(schedule: Schedule) -> Rule:
    """Return a schedule's rule without its bounds."""
    return schedule.rule if isinstance(schedule, Bounded) else schedule


def bounds_in(schedule: Schedule) -> Bounded | None:
    """Return the schedule if it is bounded; None if not, as most are not."""
    return schedule if isinstance(schedule, Bounded) else None


def as_bounded(schedule: Schedule) -> Bounded:
    """Return a schedule with all bounds, None for those it does not have."""
    return schedule if isinstance(schedule, Bounded) else Bounded(schedule)


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
