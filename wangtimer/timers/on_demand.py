"""What people ask for of single firings: fire now, cancel, replay, or backfill a range that is past."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from wangtimer.core.errors import InvalidInput
from wangtimer.core.flow.dead_letter import DeadLetter
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member, MemberKey
from wangtimer.core.flow.stagger import Stagger
from wangtimer.core.retry import may_be_replayed
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.schedule_edits import without
from wangtimer.core.work_budget import is_over, refuse_more
from wangtimer.store.redis.quotas import ReplayQuota
from wangtimer.store.sql.demands import REPLAYS_A_TRANSACTION, DemandStore, Replay
from wangtimer.store.sql.firing_lists import FiringFilter, FiringLists
from wangtimer.store.sql.firings import FiringRecord, FiringStore
from wangtimer.store.sql.kept_answers import FiringToKeep
from wangtimer.store.sql.timers import TimerStore
from wangtimer.timers.demands_in_redis import DemandsInRedis

Item = TypeVar("Item")

# Firings that one request replays or backfills at most: a second or two of SQL.
MOST_AT_ONCE = 10_000
# Moments to backfill are counted up to this: half a second of CPU.
MOST_COUNTED = 100_000
# Moments expanded between two looks at the request's work budget: 0.1 s at most, even if each is put off.
MOMENTS_A_LOOK = 1_000
LONGEST_RANGE_MS = 366 * DAY_MS
# A leaked key plants no calls for a time when nobody thinks of it any more.
LATEST_START_DAYS = 7

REPLAYABLE = (FiringStatus.FAILED, FiringStatus.SKIPPED)


class Rate(NamedTuple):
    """How firings asked for together are spread: so many a second, the first at `start` or now (ms UTC)."""

    per_second: int
    start: int | None = None


class NotReplayed(NamedTuple):
    """A firing that is not replayed, and why."""

    timer_id: int
    fire_at: int
    why: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many firings can be replayed, and which were; `remaining` are left because one request may do no more."""

    matched: int
    firings: tuple[Firing, ...] = ()
    left: tuple[NotReplayed, ...] = ()
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class Backfilled:
    """How many moments there are, and the firings made for those that had none.

    `remaining` moments are later than `next_since` (ms UTC, None: nothing is left). Moments are counted up to
    `MOST_COUNTED`, or as far as one request's work budget goes. In a dry run `remaining` are the counted moments that
    have no firing.
    """

    matched: int
    firings: tuple[Firing, ...] = ()
    remaining: int = 0
    next_since: int | None = None


class Cancelled(NamedTuple):
    """A cancelled firing, and whether Redis was told of it; if not, the sweep tells it seconds later."""

    record: FiringRecord
    is_told: bool


@dataclass(frozen=True, slots=True)
class OnDemand:
    """Commits demands to SQL; Redis learns of them then, or by the sweep. Due within `soon_ms`: armed at once."""

    demands: DemandStore
    timers: TimerStore
    firings: FiringStore
    firing_lists: FiringLists
    demands_in_redis: DemandsInRedis
    clock: Clock
    soon_ms: int
    replay_quota: ReplayQuota

    def fire_now(self, app: str, timer_id: int, keep: FiringToKeep | None = None) -> Firing:
        """Fire a timer now, enabled or not, whatever its schedule, and keep the answer; return the firing.

        Raises `UnknownTimer`, `Conflict` where it was fired too often within a second or the answer's key is used, and
        `StoreAway`: it may fire all the same.
        """
        now = self._now()
        (bucket,) = self.demands_in_redis.buckets_of(app, [now])
        timer, firing = self.demands.fire_now(app, timer_id, now, bucket, keep)
        self.demands_in_redis.tell([timer.definition], [], [firing])
        return firing

    def cancel(self, app: str, timer_id: int, fire_at: int) -> Cancelled:
        """Skip a coming firing (ms UTC); it must be more than `soon_ms` away.

        Raises `UnknownTimer`, `UnknownFiring`, `StoreAway`, and `Conflict` where it is too late.
        """
        now = self._now()
        timer, record = self.demands.cancel(
            app, timer_id, fire_at, now, lambda read: without(read, fire_at, now, self.soon_ms)
        )
        return Cancelled(record, self.demands_in_redis.tell([timer.definition], []))

    def replay_these(
        self, app: str, keys: Sequence[tuple[int, int]], rate: Rate, dry_run: bool = False
    ) -> Replayed:
        """Attempt these failed or skipped firings, (timer, moment in ms UTC), once more.

        Raises `InvalidInput`, `StoreAway`, and `TooFast` where the app may replay no more for now.
        """
        _refuse_late_start(rate, self._now())
        wanted = {Member(timer_id, fire_at, 0) for timer_id, fire_at in keys}
        return self._replay_members(app, wanted, rate, dry_run, {})

    def replay_matching(self, wanted: FiringFilter, rate: Rate, dry_run: bool = False) -> Replayed:
        """Attempt the oldest `MOST_AT_ONCE` of these firings of one app once more. Raises as `replay_these`."""
        assert wanted.app is not None, "a replay names its app"
        _refuse_late_start(rate, self._now())
        if dry_run:
            matched = self.firing_lists.count(wanted)
            return Replayed(matched, remaining=matched)
        found, matched = self.firing_lists.oldest(wanted, MOST_AT_ONCE)
        replayed, overtaken, undone = self._replay(wanted.app, found, rate)
        return Replayed(matched, tuple(replayed), tuple(overtaken), matched - len(found) + undone)

    def replay_dead(
        self, app: str, letters: Sequence[DeadLetter], rate: Rate, dry_run: bool = False
    ) -> Replayed:
        """Attempt an app's firings that failed for good anew, also where rows are purged. Raises as `replay_these`."""
        _refuse_late_start(rate, self._now())
        as_they_were = {letter.key: _as_it_was(letter) for letter in letters}
        return self._replay_members(
            app, {firing.member for firing in as_they_were.values()}, rate, dry_run, as_they_were
        )

    def _replay_members(
        self,
        app: str,
        members: Iterable[Member],
        rate: Rate,
        dry_run: bool,
        as_they_were: Mapping[MemberKey, Firing],
    ) -> Replayed:
        """Replay these members of an app; where the row of one is purged, it is made as it was."""
        wanted = sorted(members, key=lambda member: (member.fire_at, member.timer_id))
        rows: dict[MemberKey, Firing] = {}
        for page in pages_of(wanted, REPLAYS_A_TRANSACTION):
            rows |= self.firings.rows(page)
        purged = {key: row for key, row in as_they_were.items() if key not in rows}
        rows |= purged
        living = self.firing_lists.living(app, {timer_id for timer_id, _ in rows})
        reasons = {member.key: _why_not(rows.get(member.key), living) for member in wanted}
        left = [NotReplayed(*key, why) for key, why in reasons.items() if why]
        matched = [rows[key] for key, why in reasons.items() if not why]
        if dry_run:
            return Replayed(len(matched), left=tuple(left), remaining=len(matched))
        replayed, overtaken, undone = self._replay(app, matched, rate, purged)
        return Replayed(len(matched), tuple(replayed), (*left, *overtaken), undone)

    def backfill(
        self, app: str, timer_id: int, since: int, until: int, rate: Rate, dry_run: bool = False
    ) -> Backfilled:
        """Fire the moments of the timer's schedule in (since, until] (ms UTC, past) that have no record.

        The timer may be disabled. One call takes the first `MOST_AT_ONCE` moments. Raises `InvalidInput`,
        `UnknownTimer`, `StoreAway`, and `TooFast` where the app may backfill no more for now.
        """
        now = self._now()
        _refuse_range(since, until, now)
        _refuse_late_start(rate, now)
        schedule = self.timers.get(app, timer_id).definition.schedule
        if dry_run:
            counted, is_whole = _counted(schedule, since, until)
            missing = self.demands.missing(timer_id, counted)
            return Backfilled(len(counted), remaining=missing, next_since=None if is_whole else counted[-1])
        moments = _expanded(schedule, since, until)
        granted = self.replay_quota.take(app, len(moments))
        moments = moments[: granted.number]
        rest, _ = _counted(schedule, moments[-1], until) if moments else ([], True)
        stagger = _stagger(rate, now)
        made, pending = self.demands.backfill(
            app,
            timer_id,
            moments,
            now,
            lambda missing: self._backfilled(app, timer_id, missing, stagger, now),
        )
        self.replay_quota.give_back(granted, len(made))
        self.demands_in_redis.tell([], pending)
        return Backfilled(len(moments), tuple(made), len(rest), moments[-1] if rest else None)

    def _replay(
        self, app: str, rows: Sequence[Firing], rate: Rate, purged: Collection[MemberKey] = ()
    ) -> tuple[list[Firing], list[NotReplayed], int]:
        """Replay in transactions of a bounded size; each stays committed if a later one fails.

        Return the firings replayed, those that changed meanwhile, and how many are left because the request may do no
        more work, or the app may replay no more within this hour.
        """
        worn = [row.member.key for row in rows if not may_be_replayed(row.attempt)]
        rows = [row for row in rows if may_be_replayed(row.attempt)]
        granted = self.replay_quota.take(app, len(rows))
        now = self._now()
        stagger = _stagger(rate, now)
        replays = [
            Replay(
                row,
                max(stagger.due_at(number), row.fire_at),
                now,
                self.demands_in_redis.buckets.moved(app, row.bucket),
                row.member.key in purged,
            )
            for number, row in enumerate(rows[: granted.number])
        ]
        replayed: list[Firing] = []
        tried = 0
        is_told = True
        for page in pages_of(replays, REPLAYS_A_TRANSACTION):
            done = self.demands.replay(app, page)
            is_told = is_told and self.demands_in_redis.tell([], done)
            replayed += done
            tried += len(page)
            if is_over():
                break
        self.replay_quota.give_back(granted, len(replayed))
        keys = {firing.member.key for firing in replayed}
        left = [row.member.key for row in rows[:tried] if row.member.key not in keys]
        unreplayed = [NotReplayed(*key, "it changed meanwhile") for key in left]
        unreplayed += [NotReplayed(*key, "it was replayed as often as can be") for key in worn]
        return replayed, unreplayed, len(rows) - tried

    def _backfilled(
        self, app: str, timer_id: int, moments: Sequence[int], stagger: Stagger, now: int
    ) -> list[Firing]:
        dues = [stagger.due_at(number) for number in range(len(moments))]
        return [
            Firing(timer_id, moment, bucket, FiringKind.BACKFILL, due_at=due_at, asked_at=now)
            for moment, due_at, bucket in zip(
                moments, dues, self.demands_in_redis.buckets_of(app, dues), strict=True
            )
        ]

    def _now(self) -> int:
        return int(self.clock.now_ms())


def _stagger(rate: Rate, now: int) -> Stagger:
    return Stagger(max(now, rate.start or 0), rate.per_second)


def _why_not(row: Firing | None, living: set[int]) -> str:
    """Return why a firing cannot be replayed, "" where it can."""
    if row is None or row.timer_id not in living:
        return "this app has no such firing, or its timer is deleted"
    return "" if row.status in REPLAYABLE else f"it is {row.status.value}"


def _as_it_was(letter: DeadLetter) -> Firing:
    return Firing(
        letter.timer_id, letter.fire_at, 0, letter.kind, FiringStatus.FAILED, letter.fire_at, letter.attempt
    )


def _expanded(schedule: Schedule, since: int, until: int) -> list[int]:
    """Return the first `MOST_AT_ONCE` moments in (since, until]; raises `TooMuchWork`."""
    found: list[int] = []
    for page in _moment_pages(schedule, since, until, MOST_AT_ONCE):
        found += page
        refuse_more()
    return found


def _counted(schedule: Schedule, since: int, until: int) -> tuple[list[int], bool]:
    """Return the first `MOST_COUNTED` moments in (since, until], fewer by the budget; and whether these are all."""
    found: list[int] = []
    for page in _moment_pages(schedule, since, until, MOST_COUNTED):
        found += page
        if is_over():
            break
    return found, not found or not schedule.moments(found[-1], until, 1)


def _moment_pages(schedule: Schedule, since: int, until: int, most: int) -> Iterator[list[int]]:
    """Yield the first `most` moments in (since, until], `MOMENTS_A_LOOK` at a time."""
    while most and (page := schedule.moments(since, until, min(most, MOMENTS_A_LOOK))):
        yield page
        since, most = page[-1], most - len(page)


def _refuse_range(since: int, until: int, now: int) -> None:
    if until > now:
        raise InvalidInput("until", "it lies in the future", "only what is past can be backfilled")
    if since >= until:
        raise InvalidInput("since", "it is not before until", "write an earlier moment")
    if until - since > LONGEST_RANGE_MS:
        raise InvalidInput("since", "the range is over 366 days", "ask for one part after another")


def _refuse_late_start(rate: Rate, now: int) -> None:
    if rate.start is not None and rate.start > now + LATEST_START_DAYS * DAY_MS:
        raise InvalidInput(
            "startAt",
            f"it is more than {LATEST_START_DAYS} days ahead",
            "write an earlier moment, or ask later",
        )


def pages_of(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in pages of this size."""
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page
