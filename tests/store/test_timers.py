"""Timers in SQL: names, apps, versions, and the two transactions that plan them."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from tests.buckets import buckets
from tests.store.definitions import CANCELLED, EVERY_MINUTE, NOTIFY, ONCE
from tests.store.members import outcome_of
from tests.store.plain_stores import plain_timers
from tests.store.worlds import SqlWorld
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Conflict, InvalidInput, UnknownTimer
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan, firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.timers.timer import NO_CALL, UNREAD, NewTimer, Notify, Timer, TimerStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.timers import PlanPart, Revision, TimerStore

NOW = 1_799_999_990_000  # 50 s into a minute
FIRST = 1_800_000_000_000
ONE_BUCKET = buckets(1_000, 1)


@pytest.fixture
def timers(sql: SqlWorld) -> TimerStore:
    return sql.timers


def new(name: str = "bill", app: str = "shop", schedule: Schedule = EVERY_MINUTE) -> NewTimer:
    return NewTimer(app, name, schedule, NOTIFY)


def planned(timer: Timer, minutes: int) -> tuple[Plan, list[Firing]]:
    """Return the timer's plan, that many minutes on from where it stands, and its firings."""
    a_plan = plan(timer, timer.planned_until + minutes * MINUTE_MS, 1_000)
    return a_plan, firings_of([a_plan], {}, ONE_BUCKET)


def near(minutes: int = 2) -> PlanPart:
    return lambda timer: planned(timer, minutes)


def enabled(timers: TimerStore, name: str = "bill", schedule: Schedule = EVERY_MINUTE) -> Timer:
    """Return a timer that is enabled, with nothing planned yet."""
    timer = timers.create(new(name, schedule=schedule), NOW)
    timer, _ = timers.enable("shop", timer.id, NOW, near(0))
    return timer


def moments(firings: list[Firing]) -> list[int]:
    return sorted(firing.fire_at for firing in firings)


def rows(sql: SqlWorld, timer: Timer) -> list[int]:
    return moments([record.firing for record in sql.firings.records(timer.id, 1_000)])


# create, get, page


@pytest.mark.parametrize("schedule", [EVERY_MINUTE, ONCE, CANCELLED])
def test_a_created_timer_is_read_as_it_was_returned(timers: TimerStore, schedule: Schedule) -> None:
    timer = timers.create(new(schedule=schedule), NOW)
    assert timers.get("shop", timer.id) == timer
    assert timer.definition.schedule == schedule
    assert timer.definition.notify == NOTIFY


def test_a_created_timer_is_disabled_at_version_1_with_nothing_planned(timers: TimerStore) -> None:
    timer = timers.create(new(), NOW)
    assert (timer.definition.status, timer.definition.version) == (TimerStatus.DISABLED, 1)
    assert (timer.planned_until, timer.next_fire_at) == (NOW, FIRST)
    assert (timer.created_at, timer.updated_at, timer.definition.edited_at) == (NOW, NOW, 0)


def test_a_timer_whose_moment_is_past_has_no_next_moment(timers: TimerStore) -> None:
    timer = timers.create(new(schedule=Once(NOW)), NOW)
    assert timers.get("shop", timer.id).next_fire_at is None


def test_a_request_of_64_kib_is_kept_whole(timers: TimerStore) -> None:
    notify = Notify("http://a", body="中" * 65_536)
    timer = timers.create(replace(new(), notify=notify), NOW)
    assert timers.get("shop", timer.id).definition.notify == notify


def test_a_name_in_use_is_a_conflict(timers: TimerStore) -> None:
    first = timers.create(new(), NOW)
    with pytest.raises(Conflict) as caught:
        timers.create(new(), NOW)
    assert (caught.value.field, caught.value.existing_id) == ("key", first.id)


@pytest.mark.parametrize("other", [("bill", "bank"), ("Bill", "shop"), ("账单", "shop"), ("🙂", "shop")])
def test_another_app_or_another_spelling_is_another_name(timers: TimerStore, other: tuple[str, str]) -> None:
    timers.create(new(), NOW)
    name, app = other
    timer = timers.create(new(name, app), NOW)
    assert timers.get(app, timer.id).name == name


def test_xtimer_fault_deleting_does_not_free_the_name(timers: TimerStore) -> None:
    for _ in range(3):
        timer = timers.create(new(), NOW)
        timers.delete("shop", timer.id, NOW)
    assert timers.get("shop", timers.create(new(), NOW).id).name == "bill"


@pytest.mark.parametrize("verb", ["get", "enable", "disable", "delete"])
def test_xtimer_fault_app_is_not_checked(timers: TimerStore, verb: str) -> None:
    timer = timers.create(new(), NOW)
    with pytest.raises(UnknownTimer):
        call(timers, verb, "bank", timer.id)
    assert timers.get("shop", timer.id) == timer


@pytest.mark.parametrize("verb", ["get", "enable", "disable", "delete"])
def test_a_deleted_or_missing_timer_is_unknown(timers: TimerStore, verb: str) -> None:
    timer = timers.create(new(), NOW)
    timers.delete("shop", timer.id, NOW)
    for timer_id in (timer.id, timer.id + 1):
        with pytest.raises(UnknownTimer):
            call(timers, verb, "shop", timer_id)


def call(timers: TimerStore, verb: str, app: str, timer_id: int) -> None:
    arguments = {"get": (), "enable": (NOW, near()), "disable": (NOW,), "delete": (NOW,)}[verb]
    getattr(timers, verb)(app, timer_id, *arguments)


def test_a_page_holds_the_living_timers_of_one_app_by_id(timers: TimerStore) -> None:
    ids = [timers.create(new(f"t{number}"), NOW).id for number in range(5)]
    timers.create(new("t0", "bank"), NOW)
    timers.delete("shop", ids[1], NOW)
    assert [timer.id for timer in timers.page("shop", 0, 2)] == [ids[0], ids[2]]
    assert [timer.id for timer in timers.page("shop", ids[2], 9)] == [ids[3], ids[4]]
    assert timers.page("shop", ids[4], 9) == []


# enable, disable, delete


def test_enabling_inserts_the_near_firings_and_moves_marks_and_version_together(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(), NOW)
    after, pending = sql.timers.enable("shop", timer.id, NOW + 5, near(2))
    assert moments(pending) == rows(sql, timer) == [FIRST, FIRST + MINUTE_MS]
    assert sql.timers.get("shop", timer.id) == after
    assert (after.definition.status, after.definition.version) == (TimerStatus.ENABLED, 2)
    assert (after.planned_until, after.next_fire_at) == (NOW + 2 * MINUTE_MS, FIRST + 2 * MINUTE_MS)
    assert after.updated_at == NOW + 5


def test_enabling_sends_three_statements_however_many_firings_it_plans(mariadb: Database) -> None:
    """A look, a change, one insert: beside the commit, what a request costs."""
    store = plain_timers(mariadb)
    timer = store.create(new(), NOW)
    sent: list[str] = []
    event.listen(
        mariadb.engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text.split()[0])
    )
    store.enable("shop", timer.id, NOW, near(60))
    assert sent == ["SELECT", "UPDATE", "INSERT"]


def test_a_timer_made_enabled_has_its_first_version_its_marks_and_its_near_firings(sql: SqlWorld) -> None:
    made, pending = sql.timers.create_enabled(new(), NOW, near(2))
    assert moments(pending) == rows(sql, made) == [FIRST, FIRST + MINUTE_MS]
    assert sql.timers.get("shop", made.id) == made
    assert (made.definition.status, made.definition.version) == (TimerStatus.ENABLED, 1)
    assert (made.planned_until, made.next_fire_at) == (NOW + 2 * MINUTE_MS, FIRST + 2 * MINUTE_MS)
    assert [one.id for one in sql.timers.to_plan(FIRST + 2 * MINUTE_MS, 9).values()] == [made.id]


def test_making_an_enabled_timer_is_one_commit_of_two_statements(mariadb: Database) -> None:
    store, sent = plain_timers(mariadb), list[str]()
    event.listen(
        mariadb.engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text.split()[0])
    )
    event.listen(mariadb.engine, "commit", lambda _sql: sent.append("COMMIT"))
    store.create_enabled(new(), NOW, near(60))
    assert sent == ["INSERT", "INSERT", "COMMIT"]


def test_a_refusal_to_plan_makes_no_timer(sql: SqlWorld) -> None:
    def refuse(_timer: Timer) -> tuple[Plan, list[Firing]]:
        raise InvalidInput("at", "long past", "give another")

    with pytest.raises(InvalidInput):
        sql.timers.create_enabled(new(), NOW, refuse)
    assert sql.timers.id_of("shop", "bill") is None


def test_a_name_in_use_makes_no_firing(sql: SqlWorld) -> None:
    first = sql.timers.create(new(), NOW)
    with pytest.raises(Conflict) as caught:
        sql.timers.create_enabled(new(), NOW, near(2))
    assert (caught.value.field, caught.value.existing_id) == ("key", first.id)
    assert rows(sql, first) == []


def test_enabling_twice_changes_nothing(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(), NOW)
    once, _ = sql.timers.enable("shop", timer.id, NOW, near(2))
    assert sql.timers.enable("shop", timer.id, NOW + 1, near(9)) == (once, [])
    assert sql.timers.get("shop", timer.id) == once
    assert len(rows(sql, timer)) == 2


def test_a_refusal_to_plan_rolls_everything_back(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(), NOW)

    def refuse(_timer: Timer) -> tuple[Plan, list[Firing]]:
        raise InvalidInput("at", "long past", "give another")

    with pytest.raises(InvalidInput):
        sql.timers.enable("shop", timer.id, NOW, refuse)
    assert sql.timers.get("shop", timer.id) == timer


def test_a_one_shot_with_an_outcome_is_not_enabled_again(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(schedule=Once(FIRST)), NOW)
    _, (firing,) = sql.timers.enable("shop", timer.id, NOW, near())
    sql.firings.settle([outcome_of(firing.member)])
    off = sql.timers.disable("shop", timer.id, NOW)
    again = planned(timer, 2)
    with pytest.raises(Conflict):
        sql.timers.enable("shop", timer.id, NOW, lambda _: again)
    assert sql.timers.get("shop", timer.id) == off


def test_a_one_shot_that_still_waits_is_enabled_again(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(schedule=Once(FIRST)), NOW)
    _, before = sql.timers.enable("shop", timer.id, NOW, near())
    sql.timers.disable("shop", timer.id, NOW)
    again = planned(timer, 2)
    assert sql.timers.enable("shop", timer.id, NOW, lambda _: again)[1] == before


def test_enabling_plans_only_what_the_table_holds_as_pending(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(), NOW)
    _, (first, second) = sql.timers.enable("shop", timer.id, NOW, near(2))
    sql.firings.settle([outcome_of(first.member)])
    sql.timers.disable("shop", timer.id, NOW)
    again = planned(timer, 3)
    _, pending = sql.timers.enable("shop", timer.id, NOW, lambda _: again)
    assert moments(pending) == [second.fire_at, second.fire_at + MINUTE_MS]


def test_disabling_raises_the_version_once(timers: TimerStore) -> None:
    timer = enabled(timers)
    off = timers.disable("shop", timer.id, NOW + 7)
    assert (off.definition.status, off.definition.version, off.updated_at) == (
        TimerStatus.DISABLED,
        timer.definition.version + 1,
        NOW + 7,
    )
    assert timers.disable("shop", timer.id, NOW + 8) == off
    assert timers.get("shop", timer.id) == off


def test_deleting_raises_the_version_and_keeps_the_definition_but_for_its_call(timers: TimerStore) -> None:
    timer = enabled(timers)
    gone = timers.delete("shop", timer.id, NOW)
    assert gone.definition.version == timer.definition.version + 1
    assert timers.definitions({timer.id, timer.id + 1}) == {timer.id: gone.definition.stored}
    assert gone.definition.status is TimerStatus.DELETED
    assert (gone.definition.notify, gone.definition.stored.notify) == (timer.definition.notify, NO_CALL)
    assert timers.versions({timer.id, timer.id + 1}) == {timer.id: gone.definition.version}
    assert timers.versions(set()) == {}


# planning


def test_only_enabled_timers_that_come_due_are_to_plan_nearest_first(timers: TimerStore) -> None:
    hourly = _without_call(enabled(timers, "a", Cron("0 * * * *", "UTC")))
    minutely = _without_call(enabled(timers, "b"))
    enabled(timers, "c", Once(NOW - 1))
    timers.create(new("d"), NOW)
    timers.delete("shop", enabled(timers, "e").id, NOW)
    assert hourly.next_fire_at is not None
    assert list(timers.to_plan(FIRST - 1, 9).values()) == []
    assert list(timers.to_plan(FIRST, 9).values()) == (
        [minutely] if hourly.next_fire_at > FIRST else [hourly, minutely]
    )
    assert list(timers.to_plan(hourly.next_fire_at, 9).values()) == sorted([minutely, hourly], key=_by_next)
    assert (
        list(timers.to_plan(hourly.next_fire_at, 1).values()) == sorted([minutely, hourly], key=_by_next)[:1]
    )


def test_the_first_marks_are_those_of_the_enabled_timer_that_is_planned_next(timers: TimerStore) -> None:
    timers.create(new("disabled"), NOW)
    assert (timers.first_unplanned(), timers.first_plan_by()) == (None, None)
    enabled(timers, "past", Once(NOW - 1))
    assert (timers.first_unplanned(), timers.first_plan_by()) == (None, None)
    hourly = enabled(timers, "hourly", Cron("0 * * * *", "UTC"))
    assert (timers.first_unplanned(), timers.first_plan_by()) == (hourly.next_fire_at, hourly.next_fire_at)
    minutely = enabled(timers, "minutely")
    assert (timers.first_unplanned(), timers.first_plan_by()) == (minutely.next_fire_at, FIRST)
    timers.disable("shop", minutely.id, NOW)
    assert (timers.first_unplanned(), timers.first_plan_by()) == (hourly.next_fire_at, hourly.next_fire_at)


def _without_call(timer: Timer) -> Timer:
    return replace(timer, definition=timer.definition._replace(notify=UNREAD))


def _by_next(timer: Timer) -> tuple[int, int]:
    return timer.next_fire_at or 0, timer.id


def test_committed_plans_are_rows_and_move_the_marks(sql: SqlWorld) -> None:
    timers = [enabled(sql.timers, f"t{number}") for number in range(3)]
    plans = [planned(timer, 2)[0] for timer in timers]
    held, pending, _ = sql.timers.commit_plans(plans, firings_of(plans, {}, ONE_BUCKET))
    assert held == plans
    assert len(pending) == 6
    for timer in timers:
        after = sql.timers.get("shop", timer.id)
        assert after == replace(timer, planned_until=NOW + 2 * MINUTE_MS, next_fire_at=FIRST + 2 * MINUTE_MS)
        assert rows(sql, timer) == [FIRST, FIRST + MINUTE_MS]


def test_timers_with_different_marks_are_moved_each_to_its_own(sql: SqlWorld) -> None:
    one, two = enabled(sql.timers, "a"), enabled(sql.timers, "b", Cron("*/2 * * * *", "UTC"))
    plans = [planned(one, 1)[0], planned(two, 3)[0]]
    sql.timers.commit_plans(plans, firings_of(plans, {}, ONE_BUCKET))
    for timer, a_plan in zip((one, two), plans, strict=True):
        after = sql.timers.get("shop", timer.id)
        assert (after.planned_until, after.next_fire_at) == (a_plan.planned_until, a_plan.next_fire_at)


def test_planning_one_shots_sends_three_statements_for_two_hundred_of_them(mariadb: Database) -> None:
    """None has another's marks: one UPDATE each took longer than all else."""
    store = plain_timers(mariadb)
    timers = [enabled(store, f"t{number}", Once(FIRST + number)) for number in range(200)]
    plans = [Plan(timer, (FIRST + number,), FIRST + number, None) for number, timer in enumerate(timers)]
    sent: list[str] = []
    event.listen(
        mariadb.engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text.split()[0])
    )
    held, pending, _ = store.commit_plans(plans, firings_of(plans, {}, ONE_BUCKET))
    assert (len(held), len(pending), sent) == (200, 200, ["SELECT", "INSERT", "UPDATE"])
    marks = [store.get("shop", timer.id).planned_until for timer in timers]
    assert marks == [FIRST + number for number in range(200)]


def test_committing_a_plan_twice_leaves_the_second_out(sql: SqlWorld) -> None:
    a_plan, firings = planned(enabled(sql.timers), 2)
    sql.timers.commit_plans([a_plan], firings)
    assert sql.timers.commit_plans([a_plan], firings) == ([], [], set())


def _disable(timers: TimerStore, timer: Timer) -> None:
    timers.disable("shop", timer.id, NOW)


def _delete(timers: TimerStore, timer: Timer) -> None:
    timers.delete("shop", timer.id, NOW)


def _plan_meanwhile(timers: TimerStore, timer: Timer) -> None:
    a_plan, firings = planned(timer, 1)
    timers.commit_plans([a_plan], firings)


def _change_and_back(timers: TimerStore, timer: Timer) -> None:
    """The same marks and status as were read, but another version: ABA."""
    timers.disable("shop", timer.id, NOW)
    after, _ = timers.enable("shop", timer.id, NOW, near(0))
    assert (after.planned_until, after.next_fire_at) == (timer.planned_until, timer.next_fire_at)


@pytest.mark.parametrize("change", [_disable, _delete, _plan_meanwhile, _change_and_back])
def test_a_plan_whose_timer_changed_meanwhile_is_left_out_whole(sql: SqlWorld, change: object) -> None:
    changed, steady = enabled(sql.timers, "a"), enabled(sql.timers, "b")
    plans = [planned(timer, 2)[0] for timer in (changed, steady)]
    change(sql.timers, changed)
    before = rows(sql, changed), sql.timers.definitions({changed.id})
    held, pending, _ = sql.timers.commit_plans(plans, firings_of(plans, {}, ONE_BUCKET))
    assert held == [plans[1]]
    assert {firing.timer_id for firing in pending} == {steady.id}
    assert (rows(sql, changed), sql.timers.definitions({changed.id})) == before


def test_a_plan_of_a_timer_that_is_not_there_is_left_out(sql: SqlWorld) -> None:
    timer = enabled(sql.timers)
    ghost = replace(timer, definition=timer.definition._replace(timer_id=timer.id + 1))
    a_plan, firings = planned(ghost, 2)
    assert sql.timers.commit_plans([a_plan], firings) == ([], [], {ghost.id})
    assert rows(sql, ghost) == []


def test_a_plan_without_moments_still_moves_the_marks(sql: SqlWorld) -> None:
    timer = enabled(sql.timers)
    a_plan = Plan(timer, (), FIRST - 1, FIRST)
    assert sql.timers.commit_plans([a_plan], []) == ([a_plan], [], set())
    assert sql.timers.get("shop", timer.id).planned_until == FIRST - 1


def test_a_plan_returns_what_the_table_holds_not_what_was_planned(sql: SqlWorld) -> None:
    timer = enabled(sql.timers)
    a_plan, firings = planned(timer, 3)
    settled, elsewhere = firings[0], firings[1]._replace(bucket=7)
    sql.insert([settled, elsewhere])
    sql.firings.settle([outcome_of(settled.member)])
    _, pending, _ = sql.timers.commit_plans([a_plan], firings)
    assert sorted(pending, key=lambda one: one.fire_at) == [elsewhere, firings[2]]


def test_xtimer_fault_a_multi_row_insert_fails_whole_on_one_duplicate(sql: SqlWorld) -> None:
    """Its planner lost 25 of 70 firings of this very expression."""
    timer = enabled(sql.timers, schedule=Cron("5,15,25,35,45,55 * * * *", "UTC"))
    for stretch in range(6):
        a_plan, firings = planned(timer, 120)
        overlap = [firings[-1]._replace(fire_at=moment, due_at=moment) for moment in a_plan.moments[::3]]
        sql.insert(overlap)
        held, pending, _ = sql.timers.commit_plans([a_plan], firings)
        assert len(held) == 1, stretch
        assert moments(pending) == list(a_plan.moments)
        timer = sql.timers.get("shop", timer.id)
    assert len(rows(sql, timer)) == 72


# what changed


def test_changes_come_oldest_first_each_timer_once(timers: TimerStore) -> None:
    ids = [timers.create(new(name), NOW).id for name in "abc"]
    timers.enable("shop", ids[2], NOW + 10, near(0))
    timers.delete("shop", ids[0], NOW + 20)
    assert timers.changed_behind((NOW, 0), 9) == [
        (NOW, ids[1], 1),
        (NOW + 10, ids[2], 2),
        (NOW + 20, ids[0], 2),
    ]
    assert timers.changed_behind((NOW, ids[1]), 1) == [(NOW + 10, ids[2], 2)]
    assert timers.changed_behind((NOW + 20, ids[0]), 9) == []
    assert [one.status for one in timers.definitions({ids[0]}).values()] == [TimerStatus.DELETED]
    assert timers.definitions(set()) == {}


# an edit


@pytest.fixture
def forgetful(mariadb: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A database that applies each write, loses the answer and so repeats it."""
    write = mariadb.write

    def write_twice(*arguments: Any, **named: Any) -> Any:
        write(*arguments, **named)
        return write(*arguments, **named)

    monkeypatch.setattr(mariadb, "write", write_twice)
    return mariadb


def test_an_edit_whose_answer_was_lost_is_not_refused_for_its_own_version(forgetful: Database) -> None:
    timers = plain_timers(forgetful)
    timer = timers.create(new(), NOW)

    def rename(read: Timer) -> Revision:
        if read.definition.version != timer.definition.version:
            raise Conflict("version", "somebody changed it", "read it again")
        return Revision(
            replace(read, name="new"), [], [Firing.planned(read.id, FIRST, 0)], read.definition.status
        )

    edited, pending = timers.edit("shop", timer.id, NOW, rename)
    assert (edited.name, edited.definition.version) == ("new", timer.definition.version + 1)
    assert moments(pending) == [FIRST]


def test_a_timer_made_enabled_whose_answer_was_lost_is_made_once(forgetful: Database) -> None:
    timers = plain_timers(forgetful)
    made, pending = timers.create_enabled(new(), NOW, near(2))
    assert timers.get("shop", made.id) == made
    assert moments(pending) == [FIRST, FIRST + MINUTE_MS]


def test_an_edit_enables_a_timer_with_its_near_firings(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(), NOW)
    a_plan, firings = planned(timer, 2)
    tagged = replace(
        timer, tags=("new",), planned_until=a_plan.planned_until, next_fire_at=a_plan.next_fire_at
    )
    on, pending = sql.timers.edit(
        "shop", timer.id, NOW, lambda _: Revision(tagged, [], firings, TimerStatus.ENABLED)
    )
    assert sql.timers.get("shop", timer.id) == on
    assert (on.tags, on.definition.status, on.definition.version) == (("new",), TimerStatus.ENABLED, 2)
    assert moments(pending) == [FIRST, FIRST + MINUTE_MS]


def test_an_edit_that_disables_says_when(sql: SqlWorld) -> None:
    timer = enabled(sql.timers)
    off, _ = sql.timers.edit(
        "shop", timer.id, NOW + 7, lambda _: Revision(timer, [], [], TimerStatus.DISABLED)
    )
    assert sql.timers.get("shop", timer.id) == off
    assert (off.definition.status, off.definition.disabled_at) == (TimerStatus.DISABLED, NOW + 7)


def test_an_edit_enables_no_one_shot_with_an_outcome(sql: SqlWorld) -> None:
    timer = sql.timers.create(new(schedule=Once(FIRST)), NOW)
    _, (firing,) = sql.timers.enable("shop", timer.id, NOW, near())
    sql.firings.settle([outcome_of(firing.member)])
    off = sql.timers.disable("shop", timer.id, NOW)
    _, again = planned(timer, 2)
    used_up = replace(off, next_fire_at=None)
    with pytest.raises(Conflict):
        sql.timers.edit("shop", timer.id, NOW, lambda _: Revision(used_up, [], again, TimerStatus.ENABLED))
    assert sql.timers.get("shop", timer.id) == off
