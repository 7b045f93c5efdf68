"""Every method of the SQL stores, called as the product calls it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from tests.buckets import buckets
from tests.plans.big_tables import DAY_MS, LANE, LARGE_APP, NOW, SMALL_APP, BigTables
from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.members import outcome_of
from tests.store.plain_stores import plain_batches, plain_timers, without_limits
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind
from wangtimer.core.apps.audited_change import AuditedKind
from wangtimer.core.flow.firing import TO_BE_NUMBERED, Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.planning import Plan, firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane, Slice
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import new_key
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.overlap import Overlap
from wangtimer.core.timers.schedule_edits import without
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.store.app_total import Total
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.accepted_firings import AcceptedFirings
from wangtimer.store.sql.alert_messages import AlertMessages, TakenMessage
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.alert_troubles import AlertTroubles
from wangtimer.store.sql.app_totals import AppTotals, TotalCounts
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.calendar_followers import CalendarFollowers, Following
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.continuities import ContinuityStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.dead_letters import DeadLetterFilter, DeadLetterStore
from wangtimer.store.sql.demands import DemandStore, Replay
from wangtimer.store.sql.finished_timers import FinishedTimers
from wangtimer.store.sql.firing_lists import AttemptStore, FiringFilter, FiringLists
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.firings_to_cancel import FiringsToCancel, ToCancel
from wangtimer.store.sql.kept_answers import Asked, KeptAnswers, ToKeep
from wangtimer.store.sql.planned_load import PlannedLoad
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_batches import Created, draft
from wangtimer.store.sql.timer_lists import ListedStatus, Order, SortKey, TimerFilter, TimerLists
from wangtimer.store.sql.timers import Revision, TimerStore
from wangtimer.store.sql.ways_out import ClientCertificates
from wangtimer.testing.doubles import HandClock
from wangtimer.window.lane_feeder import MOST_NAMED

HOUR_MS = 3_600_000
# As many as one statement names.
LANES = [LANE, *(SharedLane.of_app(f"app-{number}") for number in range(MOST_NAMED - 1))]


@dataclass(frozen=True, slots=True)
class Case:
    """One way a store is used: `use` is a method's name and, behind a colon, what is special."""

    use: str
    work: Callable[[], Any]


class Stores:
    """All SQL stores on one database of big tables."""

    def __init__(self, database: Database, tables: BigTables) -> None:
        clock = HandClock(NOW)
        self.tables = tables
        self.totals = TotalCounts(database)
        self.timers = plain_timers(database)
        limited = AppTotals(lambda _: Total(10**9, 10**9, 10**12), self.totals)
        self.limited = plain_timers(database, totals=limited)
        self.batches = plain_batches(database)
        self.timer_lists = TimerLists(database, clock, BadTimers())
        self.firings = FiringStore(database)
        self.firing_lists = FiringLists(database, clock)
        self.demands = DemandStore(database)
        self.letters = DeadLetterStore(database, clock)
        self.accepted = AcceptedFirings(database)
        self.begun = BegunFirings(database)
        self.to_cancel = FiringsToCancel(database)
        self.continuities = ContinuityStore(database, time.monotonic)
        self.attempts = AttemptStore(database)
        self.answers = KeptAnswers(database)
        self.audit = AuditLog(database, clock)
        self.calendars = CalendarStore(database)
        self.followers = CalendarFollowers(database, BadTimers(), limited)
        self.finished = FinishedTimers(database, without_limits(database))
        self.load = PlannedLoad(database, clock)
        self.signing = SigningStore(database, NO_KEYS)
        self.targets = TargetStore(database, NO_KEYS)
        self.rules, self.messages = AlertRuleStore(database, NO_KEYS), AlertMessages(database)
        self.troubles = AlertTroubles(database, NO_KEYS)
        self.certificates = ClientCertificates(database, Seals({"a": b"a" * 32}))
        self._number, self._mark = 0, f"{time.time_ns():x}"
        # Ids follow from the moment, those of a thousand timers from eight ms: what is made meets no other.
        self._moments = count(NOW + time.time_ns() // 1_000_000 % DAY_MS, 20)

    def cases(self) -> list[Case]:
        """Return every use, each to be run once."""
        return [
            *self._of_timers(),
            *self._of_batches(),
            *self._of_timer_lists(),
            *self._of_firings(),
            *self._of_firing_lists(),
            *self._of_demands(),
            *self._of_dead_letters(),
            *self._of_accepted(),
            *self._of_begun(),
            *self._of_continuities(),
            *self._of_finished(),
            *self._of_followers(),
            *self._of_signing(),
            *self._of_targets(),
            *self._of_certificates(),
            *self._of_alerts(),
            *self._of_the_rest(),
        ]

    def made(self, app: str = SMALL_APP, *tags: str, by: TimerStore | None = None) -> Timer:
        """Return a new timer."""
        self._number += 1
        return (by or self.timers).create(
            NewTimer(app, f"made {self._number} {self._mark}", EVERY_MINUTE, NOTIFY, tags=tags),
            next(self._moments),
        )

    def new(self, number: int) -> list[NewTimer]:
        self._number += number
        names = range(self._number - number, self._number)
        return [
            NewTimer(LARGE_APP, f"many {one} {self._mark}", EVERY_MINUTE, NOTIFY, tags=("t1",))
            for one in names
        ]

    def waiting(self, number: int = 1_000, stride: int = 1) -> list[Firing]:
        """Return pending firings, some or all of those that come next."""
        return self.firings.pending_between(NOW + 1, NOW + HOUR_MS, number * stride)[::stride]

    def _of_timers(self) -> list[Case]:
        timers = self.timers
        made = [self.made(SMALL_APP, "t1", "t2") for _ in range(6)]
        enabled = self._enabled(made[0])
        answer = ToKeep(Asked(SMALL_APP, f"asked {self._mark}", ""), lambda _timer: "")
        new = NewTimer(SMALL_APP, f"kept {self._mark}", EVERY_MINUTE, NOTIFY, tags=("t1", "t2"))
        on = replace(new, name=f"on {self._mark}")
        plans = [plan(self._enabled(one), NOW + HOUR_MS, 100) for one in made[3:6]]
        rows = _rows_of(plans)
        with_numbers = [self.made(SMALL_APP) for _ in range(3)]
        numbered = [plan(self._enabled(one), NOW + HOUR_MS, 100) for one in with_numbers]
        numbered_rows = _rows_of(numbered, TO_BE_NUMBERED)
        return [
            Case("TimerStore.create", lambda: timers.create(new, next(self._moments), answer)),
            Case(
                "TimerStore.create_enabled",
                lambda: timers.create_enabled(on, next(self._moments), self._near),
            ),
            Case(
                "TimerStore.create: with a limit",
                # First the total is divided by this limit, then a slot moved.
                lambda: [self.made(SMALL_APP, by=self.limited) for _ in range(2)],
            ),
            Case("TimerStore.get", lambda: timers.get(SMALL_APP, 3)),
            Case("TimerStore.id_of", lambda: timers.id_of(SMALL_APP, "name3")),
            Case("TimerStore.page", lambda: timers.page(SMALL_APP, 5, 100)),
            Case("TimerStore.page: large", lambda: timers.page(LARGE_APP, 5, 100)),
            Case("TimerStore.enable", lambda: timers.enable(SMALL_APP, made[1].id, NOW, self._near)),
            Case(
                "TimerStore.edit",
                lambda: timers.edit(
                    SMALL_APP,
                    made[1].id,
                    NOW,
                    lambda read: Revision(replace(read, tags=("t3",)), [], [], read.definition.status),
                ),
            ),
            Case(
                "TimerStore.disable", lambda: timers.disable(SMALL_APP, enabled.id, NOW + HOUR_MS, self._near)
            ),
            Case("TimerStore.delete", lambda: timers.delete(SMALL_APP, made[2].id, NOW)),
            Case("TimerStore.to_plan", lambda: timers.to_plan(NOW + HOUR_MS, 2_000)),
            Case("TimerStore.first_unplanned", timers.first_unplanned),
            Case("TimerStore.first_plan_by", timers.first_plan_by),
            Case("TimerStore.unplanned", lambda: timers.unplanned(NOW + HOUR_MS, 2_000)),
            Case(
                "TimerStore.unplanned: without some",
                lambda: timers.unplanned(NOW + HOUR_MS, 2_000, NOW - HOUR_MS, range(1, 501)),
            ),
            Case("TimerStore.commit_plans", lambda: timers.commit_plans(plans, rows)),
            Case("TimerStore.commit_plans: numbered", lambda: timers.commit_plans(numbered, numbered_rows)),
            Case("TimerStore.definitions", lambda: timers.definitions(set(range(1, 1_001)))),
            Case("TimerStore.versions", lambda: timers.versions(set(range(1, 1_001)))),
            Case("TimerStore.refuse_unknown", lambda: timers.refuse_unknown(SMALL_APP, 3)),
            Case("TimerStore.known", lambda: timers.known(range(1, 1_001))),
            Case(
                "TimerStore.changed_behind",
                lambda: timers.changed_behind((self.tables.settled_since + 80_000, 5), 1_000),
            ),
            Case("TimerStore.purge", lambda: timers.purge(self.tables.settled_since + 4_000_000, 100)),
        ]

    def _of_batches(self) -> list[Case]:
        batches = self.batches
        made = [one for one in self._created().timers if isinstance(one, Timer)]
        plans = [plan(one.planned_from(NOW + 1), NOW + MINUTE_MS, 10) for one in made]
        rows = sorted(
            (Firing.planned(one.timer.id, at, 0) for one in plans for at in one.moments),
            key=lambda row: (row.fire_at, row.timer_id),
        )
        ids = [one.id for one in made]
        return [
            Case("TimerBatches.create", lambda: self._created(is_enabled=True)),
            Case("TimerBatches.enable", lambda: batches.enable(plans, rows, NOW)),
            Case("TimerBatches.disable", lambda: batches.disable(ids[:500], NOW)),
            Case("TimerBatches.disable_unread", lambda: batches.disable_unread(ids[500:600], NOW)),
            Case("TimerBatches.delete", lambda: batches.delete(ids, NOW)),
            Case("TimerBatches.stop_demands", lambda: batches.stop_demands(SMALL_APP, NOW, NOW, 0, 500)),
        ]

    def _created(self, is_enabled: bool = False) -> Created:
        now, ids = next(self._moments), self.batches.ids
        drafts = [draft(one, ids.next(now), now, NO_KEYS) for one in self.new(1_000)]
        if is_enabled:
            drafts = [one.enabled_by(plan(one.timer, now + MINUTE_MS, 10)) for one in drafts]
        return self.batches.create(LARGE_APP, drafts, now, lambda plans: firings_of(plans, {}, buckets(9, 1)))

    def _of_timer_lists(self) -> list[Case]:
        lists = self.timer_lists
        small, large = TimerFilter(SMALL_APP), TimerFilter(LARGE_APP)
        cases = [
            Case(
                f"TimerLists.page: {app}, by {order.key}", lambda w=wanted, o=order: lists.page(w, o, 50, NOW)
            )
            for app, wanted in (("small", small), ("large", large))
            for order in map(Order, SortKey)
        ]
        narrowed = {
            "name": replace(large, name="name107"),
            "prefix": replace(large, prefix="name1"),
            "prefix that few have": replace(large, prefix="name10"),
            "tag and prefix": replace(large, prefix="name1", tag="t7"),
            "names": replace(large, names=("name107", "name207")),
            "contains": replace(large, contains="10"),
            "host": replace(large, host="shop.example"),
            "status": replace(large, status=ListedStatus.FINISHED),
            "tag": replace(large, tag="t7"),
            "next moment": replace(large, next_before=NOW + HOUR_MS),
        }
        cases += [
            Case(f"TimerLists.page: {name}", lambda w=wanted: lists.page(w, Order(), 50, NOW))
            for name, wanted in narrowed.items()
        ]
        by_name, changed = Order(SortKey.NAME), Order(SortKey.UPDATED_AT, descending=True)
        cases += [
            Case(f"TimerLists.page: {name}", lambda w=wanted, o=order: lists.page(w, o, 50, NOW))
            for name, wanted, order in (
                ("prefix, by name", replace(large, prefix="name1"), by_name),
                ("tag, by name", replace(large, tag="t7"), by_name),
                ("tag, by change", replace(large, tag="t7"), changed),
                ("status, by change", replace(large, status=ListedStatus.FINISHED), changed),
                ("all apps", TimerFilter(None), Order()),
            )
        ]
        return [
            *cases,
            Case("TimerLists.page: numbered", lambda: lists.page(large, Order(), 50, NOW, skipped=100)),
            Case("TimerLists.count: status", lambda: lists.count(narrowed["status"], NOW)),
            Case(
                "TimerLists.page: by change, next page",
                lambda: lists.page(large, changed, 50, NOW, after=(NOW, 5)),
            ),
            Case(
                "TimerLists.page: next page",
                lambda: lists.page(large, Order(), 50, NOW, after=(self.tables.rows // 2,) * 2),
            ),
            Case("TimerLists.count", lambda: lists.count(large, NOW)),
            Case("TimerLists.chosen", lambda: lists.chosen(small, 100, NOW, 5)),
            Case("TimerLists.chosen: large", lambda: lists.chosen(large, 100, NOW, 5)),
            Case("TimerLists.unknown", lambda: lists.unknown(LARGE_APP, [f"name{n}" for n in range(1_000)])),
            Case("TimerLists.of_ids", lambda: lists.of_ids(LARGE_APP, range(1, 1_001))),
            Case("TimerLists.apps_of", lambda: lists.apps_of(range(1, 1_001))),
            Case("TimerLists.labels_of", lambda: lists.labels_of(range(1, 1_001))),
            Case("TimerLists.known", lambda: lists.known(LARGE_APP, range(1, 1_001))),
        ]

    def _of_firings(self) -> list[Case]:
        firings, settled = self.firings, self.tables.settled_since
        waiting, scattered = self.waiting(), self.waiting(500, 3)
        last = waiting[500]
        return [
            Case("FiringStore.rows", lambda: firings.rows(row.member for row in waiting)),
            Case("FiringStore.rows: scattered", lambda: firings.rows(row.member for row in scattered)),
            Case("FiringStore.rows: one", lambda: firings.rows([waiting[0].member])),
            Case("FiringStore.pending_of", lambda: firings.pending_of(Slice.at(NOW + MINUTE_MS, 3))),
            Case("FiringStore.tallies", lambda: firings.tallies(NOW + MINUTE_MS, NOW + MINUTE_MS + 9_999)),
            Case("FiringStore.pending_between", lambda: firings.pending_between(0, NOW, 1_000)),
            Case(
                "FiringStore.pending_between: next page",
                lambda: firings.pending_between(NOW, NOW + HOUR_MS, 1_000, last),
            ),
            Case(
                "FiringStore.pending_between: in lanes",
                lambda: firings.pending_between(0, NOW, 1_000, in_lanes=True),
            ),
            Case(
                "FiringStore.pending_between: in lanes, next page",
                lambda: firings.pending_between(0, NOW + HOUR_MS, 1_000, last, in_lanes=True),
            ),
            Case(
                "FiringStore.pending_between: of some lanes, next page",
                lambda: firings.pending_between(0, NOW + HOUR_MS, 1_000, last, in_lanes=True, of_lanes=LANES),
            ),
            Case(
                "FiringStore.pending_between: past those in lanes",
                lambda: firings.pending_between(0, NOW, 1_000, in_lanes=False),
            ),
            Case(
                "FiringStore.pending_between: in none",
                lambda: firings.pending_between(NOW, NOW + HOUR_MS, 1_000, last, in_lanes=False),
            ),
            Case(
                "FiringStore.note_lanes",
                lambda: firings.note_lanes({LANE: [row.member for row in scattered]}),
            ),
            Case("FiringStore.note_lanes: one", lambda: firings.note_lanes({LANE: [waiting[0].member]})),
            Case("FiringStore.overdue", lambda: firings.overdue(NOW - 60_000, 10_000)),
            Case("FiringStore.records", lambda: firings.records(5, 50)),
            Case("FiringStore.records: before", lambda: firings.records(5, 50, NOW - HOUR_MS, NOW, 5)),
            Case("FiringStore.settle", lambda: firings.settle(_outcomes(waiting[:500]))),
            Case("FiringStore.oldest_moment", firings.oldest_moment),
            Case("FiringStore.oldest_settled", lambda: firings.oldest_settled(settled + 100_000, 10_000)),
            Case("FiringStore.purge", lambda: firings.purge(settled + 200_000, 300)),
            Case(
                "FiringStore.purge: a part",
                lambda: firings.purge(settled + 400_000, 300, since=settled + 200_000),
            ),
        ]

    def _of_firing_lists(self) -> list[Case]:
        lists = self.firing_lists
        small, large = FiringFilter(SMALL_APP), FiringFilter(LARGE_APP)
        recent = {"first": NOW - 60_000, "last": NOW}
        of_one = FiringFilter(SMALL_APP, timer_id=5)
        failed = (FiringStatus.FAILED,)
        narrowed = {
            "small app": small,
            "large app": large,
            "one timer": of_one,
            "large app, failed": replace(large, statuses=failed),
            "small app, failed": replace(small, statuses=failed),
            "one timer, failed": replace(of_one, statuses=failed),
            "large app, late": replace(large, later_than_ms=2, **recent),
            "tag of few": replace(small, tag="t5"),
            "tag of many": replace(large, tag="t7", **recent),
        }
        after = (NOW - 30_000, 5)
        return [
            *(Case(f"FiringLists.page: {one}", lambda w=w: lists.page(w, 50)) for one, w in narrowed.items()),
            Case("FiringLists.page: next page", lambda: lists.page(large, 50, after)),
            Case("FiringLists.one", lambda: lists.one(*self._a_settled())),
            Case("FiringLists.count", lambda: lists.count(replace(large, **recent))),
            Case("FiringLists.count: failed", lambda: lists.count(replace(large, statuses=failed, **recent))),
            Case("FiringLists.oldest", lambda: lists.oldest(replace(small, statuses=failed), 50)),
            Case("FiringLists.living", lambda: lists.living(SMALL_APP, range(1, 20))),
            Case("FiringLists.last_outcomes", lambda: lists.last_outcomes(range(1, 51), NOW)),
            Case("FiringLists.latest_scheduled", lambda: lists.latest_scheduled(range(1, 51), NOW)),
            Case("FiringLists.by_status", lambda: self.firing_lists.by_status(replace(large, **recent))),
        ]

    def _of_demands(self) -> list[Case]:
        demands = self.demands
        timer = self.made()
        moments = [NOW + number * 1_000 for number in range(1, 61)]
        replays = [Replay(row, NOW, NOW) for row in self._settled()]
        arrange = lambda left: [Firing.planned(timer.id, at, 0) for at in left]  # noqa: E731
        return [
            Case("DemandStore.fire_now", lambda: demands.fire_now(SMALL_APP, timer.id, NOW, 0)),
            Case("DemandStore.replay", lambda: demands.replay(SMALL_APP, replays)),
            Case(
                "DemandStore.cancel",
                lambda: demands.cancel(
                    SMALL_APP,
                    timer.id,
                    NOW + MINUTE_MS,
                    NOW,
                    lambda read: without(read, NOW + MINUTE_MS, NOW, 0),
                ),
            ),
            Case("DemandStore.missing", lambda: demands.missing(timer.id, moments)),
            Case(
                "DemandStore.backfill", lambda: demands.backfill(SMALL_APP, timer.id, moments, NOW, arrange)
            ),
        ]

    def _of_dead_letters(self) -> list[Case]:
        letters = self.letters
        large = DeadLetterFilter(LARGE_APP, first=NOW - 30 * DAY_MS)
        found = letters.oldest(large, 50)
        key = (found[-1].failed_at, found[-1].timer_id, found[-1].fire_at)
        return [
            Case("DeadLetterStore.page", lambda: letters.page(large, 50)),
            Case("DeadLetterStore.page: next page", lambda: letters.page(large, 50, key)),
            Case(
                "DeadLetterStore.page: a reason", lambda: letters.page(replace(large, reason="http_403"), 50)
            ),
            Case("DeadLetterStore.page: all apps", lambda: letters.page(replace(large, app=None), 50, key)),
            Case(
                "DeadLetterStore.count: all apps",
                lambda: letters.count(DeadLetterFilter(None, first=NOW - 60_000, last=NOW)),
            ),
            Case("DeadLetterStore.oldest", lambda: letters.oldest(large, 50)),
            Case(
                "DeadLetterStore.oldest: living", lambda: letters.oldest(replace(large, is_living=True), 50)
            ),
            Case("DeadLetterStore.number_after", lambda: letters.number_after(large, found[-1])),
            Case("DeadLetterStore.of", lambda: letters.of(LARGE_APP, [one.key for one in found])),
            Case("DeadLetterStore.count", lambda: letters.count(large)),
            Case("DeadLetterStore.discard", lambda: letters.discard(found[:20], NOW)),
            Case("DeadLetterStore.purge", lambda: letters.purge(NOW + 99 * DAY_MS, DAY_MS, 100)),
        ]

    def _of_accepted(self) -> list[Case]:
        accepted = self.accepted
        members = [one.member for one in self.waiting() if one.attempt == 1][-5:]
        taken = [
            Outcome(member, 0, FiringStatus.ACCEPTED, NOW - 9, NOW - 99, 0, 5, 202) for member in members
        ]
        self.firings.settle(taken)
        held = [found for _, found in map(accepted.find, members) if found is not None]
        late = {"status": FiringStatus.PENDING, "due_at": NOW + 9, "error": "late"}
        ends = [(one, one._replace(**late)) for one in held[:2]]
        return [
            Case("AcceptedFirings.find", lambda: accepted.find(members[0])),
            Case("AcceptedFirings.overdue", lambda: accepted.overdue(NOW, 100)),
            Case("AcceptedFirings.end", lambda: accepted.end(ends)),
            Case("AcceptedFirings.prolong", lambda: accepted.prolong(members[2], NOW)),
            Case("AcceptedFirings.acknowledge", lambda: accepted.acknowledge(members[3], NOW)),
        ]

    def _of_begun(self) -> list[Case]:
        begun, to_cancel, at = self.begun, self.to_cancel, next(self._moments)
        moments = [at + number * MINUTE_MS for number in range(3)]
        ids = [self._due(policy, moments) for policy in Overlap for _ in range(4)]
        first, second, third = ([Member(one, moment, 1) for one in ids] for moment in moments)
        done = [Outcome(one, 0, FiringStatus.SUCCEEDED, at) for one in first]
        late = at + HOUR_MS
        begun.judge(first, late)
        self.firings.settle([Outcome(one, 0, FiringStatus.ACCEPTED, late + 9, at) for one in first[-2:]])
        return [
            Case("BegunFirings.judge", lambda: begun.judge(second, late)),
            Case("BegunFirings.judge: one", lambda: begun.judge(third[:1], late)),
            Case(
                "BegunFirings.end",
                lambda: (self.firings.settle(done), begun.end([one.key for one in first], late)),
            ),
            Case("BegunFirings.page", lambda: begun.page((0, 0), 100)),
            Case("FiringsToCancel.page", lambda: to_cancel.page((0, 0))),
            Case(
                "FiringsToCancel.cancel",
                lambda: to_cancel.cancel([ToCancel(one.key, late) for one in first], lambda one: one),
            ),
        ]

    def _of_continuities(self) -> list[Case]:
        rows = [Firing.planned(timer_id, NOW, 0, 9) for timer_id in range(1, 301)]
        failed = self._due(Overlap.ALLOW, [NOW - DAY_MS - number * MINUTE_MS for number in range(30, 0, -1)])
        return [
            Case("ContinuityStore.before", lambda: self.continuities.before(rows)),
            Case(
                "ContinuityStore.before: none succeeded",
                lambda: self.continuities.before([Firing.planned(failed, NOW, 0, 9)]),
            ),
        ]

    def _due(self, policy: Overlap, moments: list[int]) -> int:
        """Return a timer with firings of these moments."""
        self._number += 1
        name = f"overlaps {self._number} {self._mark}"
        new = NewTimer(SMALL_APP, name, EVERY_MINUTE, NOTIFY, overlap=policy)
        timer = self.timers.create(new, next(self._moments))
        rows = [Firing.planned(timer.id, at, 0) for at in moments]
        before = moments[0] - MINUTE_MS
        self.timers.enable(SMALL_APP, timer.id, before, lambda read: (plan(read, moments[0], 9), rows))
        return timer.id

    def _of_finished(self) -> list[Case]:
        finished = self.finished
        page = lambda days, upto: finished.delete_page(days, upto, (0, 0), 100, NOW)  # noqa: E731
        failed_at = self._failed_at()
        return [
            Case("FinishedTimers.kept_days", lambda: finished.kept_days()),
            Case("FinishedTimers.delete_page", lambda: page(None, NOW - 1)),
            Case("FinishedTimers.delete_page: of some days", lambda: page(7, NOW - 1)),
            Case("FinishedTimers.delete_page: failed", lambda: page(0, failed_at)),
            Case("FinishedTimers.delete_page: none", lambda: page(7, NOW - 30 * DAY_MS)),
        ]

    def _failed_at(self) -> int:
        """Have a timer that is not kept fail at its one moment; return that."""
        at = next(self._moments)
        new = NewTimer(SMALL_APP, f"fails {self._mark}", Once(at), NOTIFY, keep_days=0)
        timer = self.timers.create(new, at - MINUTE_MS)
        firing = Firing.planned(timer.id, at, 0)
        self.timers.enable(SMALL_APP, timer.id, at - MINUTE_MS, lambda read: (plan(read, at, 9), [firing]))
        self.firings.settle([Outcome(firing.member, firing.bucket, FiringStatus.FAILED, at)])
        return at

    def _of_signing(self) -> list[Case]:
        signing, app, since = self.signing, f"signs {self._mark}", NOW - 30 * DAY_MS
        key = self._mark.encode().ljust(32)
        return [
            Case("SigningStore.needed", lambda: signing.needed([app, "app7"], NOW)),
            Case("SigningStore.present", lambda: signing.present("app7", NOW)),
            Case("SigningStore.get", lambda: signing.get("app7")),
            Case("SigningStore.to_show", lambda: signing.to_show("app7")),
            Case(
                "SigningStore.change", lambda: signing.change(app, lambda one: one.rotated(key, 0, NOW), NOW)
            ),
            Case("SigningStore.change: the first", lambda: signing.change(f"{app}!", _signs_first, NOW)),
            Case("SigningStore.seal_anew", lambda: signing.seal_anew("app7")),
            Case("SigningStore.apps_behind", lambda: signing.apps_behind("app7", 1_000)),
            Case("SigningStore.changed_behind", lambda: signing.changed_behind((since, ""), 1_000)),
        ]

    def _of_targets(self) -> list[Case]:
        targets, name, since = self.targets, f"target {self._mark}", NOW - 30 * DAY_MS

        def put(name: str, url: str) -> object:
            made = NamedTarget("app7", name, 0, Notify(url))
            return targets.change(
                "app7", name, lambda was: made if was is None else was.changed_to(made.call), NOW
            )

        return [
            Case("TargetStore.change: made", lambda: put(name, "http://a.example/")),
            Case("TargetStore.change: to another host", lambda: put(name, "http://b.example/")),
            Case("TargetStore.change", lambda: put(name, "http://b.example/path")),
            Case("TargetStore.get", lambda: targets.get("app7", name)),
            Case("TargetStore.page", lambda: targets.page("app7", "", 50)),
            Case("TargetStore.stored", lambda: targets.stored([("app7", name), ("app8", name)])),
            Case("TargetStore.timers_of", lambda: targets.timers_of("app7", "target3")),
            Case("TargetStore.changed_behind", lambda: targets.changed_behind((since, "", ""), 1_000)),
            Case("TargetStore.keys_behind", lambda: targets.keys_behind(("app7", "x"), 1_000)),
            Case("TargetStore.seal_anew", lambda: targets.seal_anew(("app7", name))),
            Case("TargetStore.remove", lambda: targets.remove("app7", name, NOW)),
        ]

    def _of_certificates(self) -> list[Case]:
        certificates, app = self.certificates, f"shows {self._mark}"
        put = lambda: certificates.put(app, "chain", "key", NOW, NOW)  # noqa: E731
        return [
            Case("ClientCertificates.put: the first", put),
            Case("ClientCertificates.put", put),
            Case("ClientCertificates.chain_of", lambda: certificates.chain_of(app)),
            Case("ClientCertificates.ending", lambda: certificates.ending(NOW + DAY_MS, 20)),
            Case("ClientCertificates.seal_anew", lambda: certificates.seal_anew(app)),
            Case("ClientCertificates.apps_behind", lambda: certificates.apps_behind("app7", 1_000)),
            Case("ClientCertificates.remove", lambda: certificates.remove(app, NOW)),
        ]

    def _of_alerts(self) -> list[Case]:
        rules, messages, troubles = self.rules, self.messages, self.troubles
        app, events = f"alerted {self._mark}", frozenset([AlertEvent.FAILED_FOR_GOOD])
        told = AlertRule(app, "ops", events, destination=Destination(DestinationKind.MAIL, "a@b.example"))
        rules.put(app, "ops", lambda _held: told, NOW)
        other = replace(told, name="other")
        moved = replace(told, destination=Destination(DestinationKind.MAIL, "c@d.example"))
        taken: list[TakenMessage] = []
        return [
            Case("AlertRuleStore.page", lambda: rules.page("app7", "", 20)),
            Case("AlertRuleStore.get", lambda: rules.get(app, "ops")),
            Case("AlertRuleStore.put", lambda: rules.put(app, "other", lambda _held: other, NOW)),
            Case("AlertRuleStore.put:moved", lambda: rules.put(app, "ops", lambda _held: moved, NOW)),
            Case("AlertRuleStore.remove", lambda: rules.remove(app, "other", NOW)),
            Case("AlertRuleStore.alerted", rules.alerted),
            Case("AlertRuleStore.keys_behind", lambda: rules.keys_behind(("app7", ""), 1_000)),
            Case("AlertRuleStore.seal_anew", lambda: rules.seal_anew((app, "ops"))),
            Case("AlertMessages.ask_test", lambda: messages.ask_test(app, "ops", NOW)),
            Case("AlertMessages.take", lambda: taken.extend(messages.take(20, NOW, NOW + MINUTE_MS))),
            Case("AlertMessages.put_off", lambda: messages.put_off(taken[0], NOW, "", was_tried=True)),
            Case("AlertMessages.end", lambda: messages.end(taken[1], NOW)),
            Case("AlertMessages.answer", lambda: messages.answer(taken[2], "{}")),
            Case("AlertMessages.answer_of", lambda: messages.answer_of(taken[2].id)),
            Case("AlertMessages.overdue", lambda: messages.overdue(NOW, 60_000, 1_000)),
            Case("AlertMessages.forget_tests", lambda: messages.forget_tests(NOW)),
            Case("AlertTroubles.next_app", lambda: troubles.next_app("app7")),
            Case("AlertTroubles.judge", lambda: troubles.judge("app7", 500, NOW)),
            Case("AlertTroubles.next_troubled", lambda: troubles.next_troubled("app7")),
            Case("AlertTroubles.look", lambda: troubles.look("app7", ("", 0, "", ""), 500, NOW + HOUR_MS)),
        ]

    def _of_followers(self) -> list[Case]:
        followers = self.followers
        self.calendars.put(LARGE_APP, Calendar("ours"), NOW)
        (upload,) = followers.uploads_to_follow(1)
        same = lambda _timer, _calendar: None  # noqa: E731
        follow = lambda way, most=300: followers.follow(upload, most, NOW, way, lambda _plans: [])  # noqa: E731
        return [
            Case("CalendarFollowers.uploads_to_follow", lambda: followers.uploads_to_follow(9)),
            Case("CalendarFollowers.calendar", lambda: followers.calendar(upload)),
            Case(
                "CalendarFollowers.refuse_growth",
                lambda: followers.refuse_growth(LARGE_APP, Calendar("ours", frozenset({6})), NOW),
            ),
            Case("CalendarFollowers.progress", lambda: followers.progress(LARGE_APP, "ours")),
            Case("CalendarFollowers.follow", lambda: follow(self._followed)),
            Case("CalendarFollowers.follow: refused", lambda: follow(_refused)),
            Case("CalendarFollowers.follow: the same days", lambda: follow(same)),
            Case(
                "CalendarFollowers.follow: the last",
                lambda: follow(same, self.tables.large_app_timers),
            ),
        ]

    def _followed(self, timer: Timer, _calendar: Calendar) -> Following:
        return Following(timer, plan(timer, NOW, 1))

    def _of_the_rest(self) -> list[Case]:
        calendar = Calendar("ours")
        last = self.tables.rows - 1
        return [
            Case("TotalCounts.to_count", lambda: self.totals.to_count(NOW, 100)),
            Case("TotalCounts.count", lambda: self.totals.count(LARGE_APP, NOW)),
            Case("TotalCounts.forget", lambda: self.totals.forget("app7")),
            Case("AttemptStore.history", lambda: self.attempts.history(*self._a_settled())),
            Case("KeptAnswers.find", lambda: self.answers.find(f"app{last // 10}", f"key{last}", NOW)),
            Case("KeptAnswers.claim", lambda: self.answers.claim(self._asked(), "mine", NOW)),
            Case("KeptAnswers.claim: held", self._claimed_twice),
            Case("KeptAnswers.end_claim", lambda: self._claimed(None)),
            Case("KeptAnswers.end_claim: kept", lambda: self._claimed("{}")),
            Case("KeptAnswers.purge", lambda: self.answers.purge(NOW, 1_000)),
            Case("AuditLog.page", lambda: self.audit.page(AuditFilter(), 100)),
            Case("AuditLog.page: next page", lambda: self.audit.page(AuditFilter(), 100, (NOW, last))),
            Case("AuditLog.page: app", lambda: self.audit.page(AuditFilter(app=LARGE_APP, since=1), 100)),
            Case("AuditLog.page: key", lambda: self.audit.page(AuditFilter(key_id="key7"), 100)),
            Case("AuditLog.page: kind", lambda: self.audit.page(AuditFilter(kind=AuditedKind.KEY), 100)),
            Case(
                "AuditLog.page: app's kind",
                lambda: self.audit.page(AuditFilter(app=LARGE_APP, kind=AuditedKind.KEY), 100),
            ),
            Case(
                "AuditLog.page: app's timers",
                lambda: self.audit.page(AuditFilter(app=LARGE_APP, kind=AuditedKind.FIRING), 100),
            ),
            Case(
                "AuditLog.page: key's kind",
                lambda: self.audit.page(AuditFilter(key_id="key7", kind=AuditedKind.KEY), 100),
            ),
            Case("AuditLog.page: subject", lambda: self.audit.page(AuditFilter(subject=str(last)), 100)),
            Case("AuditLog.purge", lambda: self.audit.purge(NOW, 1_000)),
            Case("CalendarStore.put", lambda: self.calendars.put(SMALL_APP, calendar, NOW)),
            Case("CalendarStore.get", lambda: self.calendars.get(SMALL_APP, "ours")),
            Case("CalendarStore.all_of", lambda: self.calendars.all_of(SMALL_APP)),
            Case("CalendarStore.timers_of", lambda: self.calendars.timers_of(LARGE_APP, "ours")),
            Case("CalendarStore.named", self.calendars.named),
            Case("CalendarStore.is_of_enabled", lambda: self.calendars.is_of_enabled(LARGE_APP, "ours")),
            Case("CalendarStore.remove", lambda: self.calendars.remove(SMALL_APP, "ours", NOW)),
            Case("PlannedLoad.minutes", lambda: self.load.minutes(NOW // MINUTE_MS + 1, 1)),
            Case("PlannedLoad.first_unplanned", lambda: self.load.first_unplanned()),
        ]

    def _near(self, timer: Timer) -> Any:
        near = plan(timer, NOW + HOUR_MS, 10)
        return near, [Firing.planned(timer.id, at, 0) for at in near.moments]

    def _enabled(self, timer: Timer) -> Timer:
        return self.timers.enable(SMALL_APP, timer.id, NOW, lambda one: (plan(one, NOW, 1), []))[0]

    def _settled(self) -> list[Firing]:
        wanted = FiringFilter(SMALL_APP, statuses=(FiringStatus.SUCCEEDED,), first=NOW - DAY_MS, last=NOW)
        found = [one.firing for one in self.firing_lists.page(wanted, 20)]
        return sorted(found, key=lambda row: (row.fire_at, row.timer_id))

    def _asked(self) -> Asked:
        self._number += 1
        return Asked(SMALL_APP, f"claimed {self._mark} {self._number}", "")

    def _claimed(self, answer: str | None) -> None:
        asked = self._asked()
        self.answers.claim(asked, "mine", NOW)
        self.answers.end_claim(asked, "mine", answer)

    def _claimed_twice(self) -> None:
        asked = self._asked()
        self.answers.claim(asked, "mine", NOW)
        self.answers.claim(asked, "another", NOW)

    def _a_settled(self) -> tuple[int, int]:
        number = self.tables.rows // 2
        return 1 + number % self.tables.large_app_timers, self.tables.settled_since + number * 100


def _signs_first(one: AppSigning) -> AppSigning:
    return one.with_a_secret(new_key(), NOW)


def _refused(timer: Timer, _calendar: Calendar) -> None:
    raise ValueError(f"{timer.id} is not to follow")


def _outcomes(rows: list[Firing]) -> list[Outcome]:
    """Most succeeded, some wait for a retry."""
    return [
        outcome_of(
            row.member,
            FiringStatus.SUCCEEDED if number % 10 else FiringStatus.PENDING,
            row.due_at + 5_000,
            first_sent_at=row.due_at,
            output="",
            error="",
        )
        for number, row in enumerate(rows)
    ]


def _rows_of(plans: list[Plan], seq: int | None = None) -> list[Firing]:
    rows = [Firing.planned(one.timer.id, at, 0, seq) for one in plans for at in one.moments]
    return sorted(rows, key=lambda row: (row.fire_at, row.timer_id))
