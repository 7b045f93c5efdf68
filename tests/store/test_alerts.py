"""Alerts, as SQL has them: what is noted, which of it is told, when it is over, and who sends it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import Connection, event, select, update
from sqlalchemy.exc import OperationalError

from tests.store.alert_worlds import (
    FAILED,
    NOW,
    PENDING,
    SECOND,
    SUCCEEDED,
    AlertWorld,
    Statements,
    rule,
)
from tests.store.members import outcome_of
from wangtimer.core.alerts.alert_message import MOST_NAMED
from wangtimer.core.alerts.alert_place import AlertedApps
from wangtimer.core.alerts.alert_rule import MOST_RULES, AlertEvent, Destination, DestinationKind, Per
from wangtimer.core.errors import Conflict, StoreAway, UnknownAlertRule
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.misfire import COALESCED, MISSED
from wangtimer.features.alerts.alert_teller import LONGEST_WAIT_MS, MessageEnd, again_at
from wangtimer.store.sql import alert_troubles
from wangtimer.store.sql.alert_messages import BETWEEN_MS, TakenMessage
from wangtimer.store.sql.alert_troubles import DELETED_AFTER_MS, FIRST_KEY, MOST_LOOKED_BACK, Look
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import alert_messages, alert_notes, alerts, firings, timers

E = AlertEvent
FIRST, ROW, FOR_GOOD, RECOVERED = E.FIRST_FAILURE, E.FAILURES_IN_A_ROW, E.FAILED_FOR_GOOD, E.RECOVERED


@pytest.fixture
def world(database: Database) -> AlertWorld:
    return AlertWorld(database)


# what is told


def test_the_first_failure_is_told_once_until_it_is_back_to_normal(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, RECOVERED))
    bill = world.timer()
    world.fire(bill, 0, SUCCEEDED)
    assert world.told() == []
    world.fire(bill, 60, PENDING, PENDING)
    assert world.told() == [("ops", FIRST, bill, 2)]
    world.fire(bill, 120, PENDING)
    assert world.told() == []
    world.fire(bill, 180, SUCCEEDED)
    assert world.told() == [("ops", RECOVERED, bill, 3)]
    world.fire(bill, 240, PENDING)
    assert world.told() == [("ops", FIRST, bill, 1)]


def test_failures_in_a_row_are_told_once_there_are_as_many(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", ROW, in_a_row=3))
    bill = world.timer()
    world.fire(bill, 0, PENDING, PENDING)
    assert world.told() == []
    world.fire(bill, 60, PENDING)
    assert world.told() == [("ops", ROW, bill, 3)]
    world.fire(bill, 120, PENDING)
    assert world.told() == []


def test_a_success_between_begins_the_row_anew_though_nobody_looked_meanwhile(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", ROW, in_a_row=3))
    bill = world.timer()
    world.fire(bill, 0, PENDING, PENDING, SUCCEEDED)
    world.fire(bill, 60, PENDING)
    assert world.told() == []
    world.fire(bill, 120, PENDING)
    assert world.told() == []
    world.fire(bill, 180, PENDING)
    assert world.told() == [("ops", ROW, bill, 3)]


def test_firings_that_were_skipped_between_hide_no_failures_in_a_row(world: AlertWorld) -> None:
    """A timer of each second with overlap `skip`: each run takes a minute, and fails."""
    world.put(rule("ops", "shop", ROW, in_a_row=5))
    bill, told = world.timer(), []
    for number in range(5):
        _fire_many(world, bill, range(number * 60 + 1, number * 60 + 60), FiringStatus.SKIPPED)
        world.fire(bill, number * 60, FAILED)
        told += world.told()
    assert told == [("ops", ROW, bill, 5)]


def test_a_row_of_failures_for_which_sql_has_too_little_time_holds_up_nothing_else_of_the_app(
    world: AlertWorld,
) -> None:
    over_time = OperationalError("", {}, Exception(1969, "Query execution was interrupted"))

    def be_slow(_sql: object, _cursor: object, _text: str, given: object, *_: object) -> None:
        if str(MOST_LOOKED_BACK) in str(given):
            looked_back.append(given)
            raise over_time

    looked_back: list[object] = []
    world.put(rule("ops", "shop", ROW, FOR_GOOD, in_a_row=5))
    bill, other = world.timer(), world.timer("other")
    for engine in world.database.engines:
        event.listen(engine, "before_cursor_execute", be_slow)
    for number in range(5):
        _fire_many(world, bill, range(number * 60 + 1, number * 60 + 60), FiringStatus.SKIPPED)
        world.fire(bill, number * 60, FAILED)
    world.fire(other, 300, FAILED)
    told = {(what, timer_id) for _, what, timer_id, _ in world.told()}
    assert told == {(FOR_GOOD, bill), (FOR_GOOD, other)}
    assert looked_back


def test_a_success_behind_very_many_skipped_or_accepted_firings_is_seen(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, RECOVERED))
    skipped, accepted = world.timer("skipped"), world.timer("accepted")
    for one in (skipped, accepted):
        world.fire(one, 0, FAILED)
    assert len(world.told()) == 2
    for one, status in ((skipped, FiringStatus.SKIPPED), (accepted, FiringStatus.ACCEPTED)):
        world.fire(one, 1, SUCCEEDED)
        _fire_many(world, one, range(2, 402), status)
    assert sorted(world.told()) == sorted(("ops", RECOVERED, one, 1) for one in (skipped, accepted))
    world.fire(skipped, 402, FAILED)
    assert world.told() == [("ops", FIRST, skipped, 1)]


def test_a_look_back_for_which_sql_has_too_little_time_costs_no_other_look(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that came before it are told, and the order is another one each time."""

    def slow_for_one(sql: Connection, asked: Sequence[Look], now: int, most: int) -> object:
        if most == MOST_LOOKED_BACK and asked[0][1] == slow:
            raise StoreAway("SQL", "the statement took too long")
        return looked(sql, asked, now, most)

    looked = alert_troubles._succeeded_among
    world.put(rule("ops", "shop", FIRST, RECOVERED))
    slow, far, near = world.timer("slow"), world.timer("far"), world.timer("near")
    for one in (slow, far, near):
        world.fire(one, 0, FAILED)
    assert len(world.told()) == 3
    for one in (slow, far, near):
        world.fire(one, 1, SUCCEEDED)
    for one in (slow, far):
        _fire_many(world, one, range(2, 402), FiringStatus.SKIPPED)
    with monkeypatch.context() as patched:
        patched.setattr(alert_troubles, "_succeeded_among", slow_for_one)
        patched.setattr("random.sample", lambda ones, _number: sorted(ones, key=lambda one: one[1] == slow))
        assert sorted(world.told()) == sorted(("ops", RECOVERED, one, 1) for one in (far, near))
    assert world.told() == [("ops", RECOVERED, slow, 1)]


def _fire_many(world: AlertWorld, timer_id: int, seconds: range, status: FiringStatus) -> None:
    ones = [Firing.planned(timer_id, NOW + second * SECOND, 0) for second in seconds]
    world.sql.insert(ones)
    world.sql.firings.settle([outcome_of(one.member, status, NOW + DAY_MS) for one in ones])
    world.now = max(world.now, NOW + seconds.stop * SECOND)


def test_what_failed_for_good_is_told_and_what_is_tried_again_is_not(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, PENDING, PENDING)
    assert world.told() == []
    world.fire(bill, 60, PENDING, FAILED)
    assert world.told() == [("ops", FOR_GOOD, bill, 1)]


@pytest.mark.parametrize(("error", "event"), [(MISSED, E.MISSED), (COALESCED, E.SKIPPED)])
def test_what_the_misfire_policy_left_out_is_told(world: AlertWorld, error: str, event: AlertEvent) -> None:
    world.put(rule("ops", "shop", E.MISSED, E.SKIPPED))
    bill = world.timer()
    world.fire(bill, 0, FiringStatus.SKIPPED, error=error)
    world.fire(bill, 60, FiringStatus.SKIPPED, error="disabled")
    assert world.told() == [("ops", event, bill, 1)]


def test_late_is_what_was_first_sent_later_than_the_rule_says_and_over_when_one_is_not(
    world: AlertWorld,
) -> None:
    world.put(rule("ops", "shop", E.LATE, RECOVERED, late_ms=5_000))
    bill = world.timer()
    world.fire(bill, 0, SUCCEEDED, lateness_ms=5_000, first_sent_at=NOW + 5_000)
    assert world.told() == []
    world.fire(bill, 60, SUCCEEDED, lateness_ms=5_001, first_sent_at=NOW + 65_001)
    assert world.told() == [("ops", E.LATE, bill, 1)]
    world.fire(bill, 120, SUCCEEDED, lateness_ms=9_000, first_sent_at=NOW + 129_000)
    assert world.told() == []
    world.fire(bill, 180, SUCCEEDED, lateness_ms=3, first_sent_at=NOW + 180_003)
    assert world.told() == [("ops", RECOVERED, bill, 2)]


def test_an_alert_of_a_retry_has_the_lateness_on_record_that_of_the_first_attempt(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, PENDING, lateness_ms=4, first_sent_at=NOW + 4)
    world.fire(bill, 0, FAILED, since=2, lateness_ms=600_004, first_sent_at=NOW + 600_004)
    world.judge()
    (one,) = world.take()
    assert [alert.lateness_ms for alert in one.message.alerts] == [4]


def test_what_was_late_and_accepted_and_then_failed_is_told_of_both(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD), rule("late", "shop", late_ms=1_000))
    bill = world.timer()
    world.fire(bill, 0, FiringStatus.ACCEPTED, lateness_ms=60_000)
    # As `:nack` ends it, before anybody has judged.
    world.database.write(lambda sql: sql.execute(update(firings).values(status=PENDING.value)))
    world.fire(bill, 0, FAILED, lateness_ms=60_000)
    assert ("ops", FOR_GOOD, bill, 1) in world.told()


def test_a_retry_of_an_old_firing_is_no_new_failure_where_a_later_one_succeeded(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, RECOVERED))
    bill = world.timer()
    world.fire(bill, 0, PENDING)
    world.fire(bill, 60, SUCCEEDED)
    assert world.told() == [("ops", FIRST, bill, 1), ("ops", RECOVERED, bill, 1)]
    world.fire(bill, 0, PENDING, since=2)
    assert world.told() == []


def test_trouble_that_goes_on_is_told_again_after_the_rules_time_and_not_before(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD, repeat_ms=3_600 * SECOND))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    assert world.told() == [("ops", FOR_GOOD, bill, 1)]
    world.fire(bill, 3_590, FAILED)
    assert world.told() == []
    world.fire(bill, 3_700, FAILED)
    assert world.told() == [("ops", FOR_GOOD, bill, 3)]


def test_each_rule_is_told_of_its_own_app_and_its_own_timers(world: AlertWorld) -> None:
    world.put(
        rule("all", "shop", FOR_GOOD),
        rule("bills", "shop", FOR_GOOD, key_prefix="bill-"),
        rule("all", "bank", FOR_GOOD),
    )
    bill, order = world.timer("bill-1"), world.timer("order-1")
    world.fire(bill, 0, FAILED)
    world.fire(order, 0, FAILED)
    assert sorted(world.told()) == [
        ("all", FOR_GOOD, bill, 1),
        ("all", FOR_GOOD, order, 1),
        ("bills", FOR_GOOD, bill, 1),
    ]


def test_a_recovery_is_told_only_where_the_rule_says_so_and_trouble_was_told(world: AlertWorld) -> None:
    world.put(rule("quiet", "shop", FIRST), rule("row", "shop", ROW, RECOVERED, in_a_row=5))
    bill = world.timer()
    world.fire(bill, 0, PENDING)
    assert world.told() == [("quiet", FIRST, bill, 1)]
    world.fire(bill, 60, SUCCEEDED)
    assert world.told() == []
    assert world.standing() == []


def test_what_a_row_does_not_bear_out_changes_nothing(world: AlertWorld) -> None:
    """An outcome that comes after the firing has another one is noted, for the note asks nothing."""
    world.put(rule("ops", "shop", FIRST, FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, SUCCEEDED)
    world.fire(bill, 0, FAILED)
    assert world.judge() == 1
    assert world.standing() == []


def test_a_deleted_timers_failures_are_told_to_nobody(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    world.sql.timers.delete("shop", bill, world.now, lambda _timer: (None, []))
    assert world.told() == []


# what it costs


def test_an_app_without_rules_costs_no_statement_and_one_with_a_rule_one_for_many(world: AlertWorld) -> None:
    world.put(rule("ops", "bank", FIRST))
    bill, loan = world.timer(), world.timer("loan", "bank")

    def statements(timer_id: int, second: int, app: str) -> list[str]:
        with Statements(world.database) as asked:
            world.fire(timer_id, second, PENDING, FAILED, app=app)
        return [one for one in asked.seen if "alert_note" in one]

    assert statements(bill, 0, "shop") == []
    assert len(statements(loan, 0, "bank")) == 2
    with Statements(world.database) as asked:
        world.fire(loan, 60, SUCCEEDED, app="bank")
    assert [one for one in asked.seen if "alert_note" in one] == []


def test_while_nothing_is_noted_a_sweep_asks_twice(world: AlertWorld) -> None:
    with Statements(world.database) as asked:
        world.judge()
    assert len([one for one in asked.seen if "SELECT" in one]) == 2


def test_a_storm_is_one_message_that_names_some_and_counts_the_others(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    for number in range(3 * MOST_NAMED):
        world.fire(world.timer(f"bill-{number}"), 0, FAILED)
    world.judge()
    world.fire(world.timer("one-more"), 1, FAILED)
    world.judge()
    (one,) = world.take()
    assert (len(one.message.alerts), one.message.more) == (MOST_NAMED, 2 * MOST_NAMED + 1)


def test_while_a_message_is_on_its_way_the_next_one_gathers_and_waits_for_it(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    first, second, third = (world.timer(name) for name in ("a", "b", "c"))
    world.fire(first, 0, FAILED)
    world.judge()
    (on_its_way,) = world.take()
    for timer_id in (second, third):
        world.fire(timer_id, 1, FAILED)
        world.judge()
    assert world.take() == []
    world.messages.put_off(on_its_way, world.now + SECOND, "HTTP 500", was_tried=True)
    world.now += SECOND
    (again,) = world.take()
    assert (again.id, again.attempt, again.message) == (on_its_way.id, 2, on_its_way.message)
    world.messages.end(again, world.now)
    assert world.take() == []
    world.now += BETWEEN_MS
    (gathered,) = world.take()
    assert [one.timer_id for one in gathered.message.alerts] == [second, third]


def test_messages_of_a_rule_keep_a_distance(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, RECOVERED))
    bill = world.timer()
    world.fire(bill, 0, PENDING)
    world.judge()
    (one,) = world.take()
    world.messages.end(one, world.now)
    world.fire(bill, 1, SUCCEEDED)
    world.judge()
    assert world.take() == []
    world.now += BETWEEN_MS
    assert [alert.event for one in world.take() for alert in one.message.alerts] == [RECOVERED]


# deaths


def test_who_dies_with_a_message_leaves_it_to_another_once_and_it_says_the_same(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    (dead,) = world.take()
    assert world.take() == []
    world.now += 60 * SECOND
    (living,) = world.take()
    assert (living.id, living.message, living.attempt) == (dead.id, dead.message, 2)
    world.messages.end(living, world.now)
    world.now += 600 * SECOND
    assert world.take() == []


def test_what_is_noted_but_not_judged_is_judged_by_another_process(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    other = AlertWorld(world.database)
    other.now = world.now
    assert other.told() == [("ops", FOR_GOOD, bill, 1)]
    assert world.judge() == 0


def test_a_judge_that_dies_before_its_commit_leaves_the_notes(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    with monkeypatch.context() as patched:
        patched.setattr("wangtimer.store.sql.alert_troubles.delete_rows", _die)
        with pytest.raises(RuntimeError):
            world.judge()
    assert world.take() == []
    assert world.told() == [("ops", FOR_GOOD, bill, 1)]


def _die(*_: object, **__: object) -> None:
    raise RuntimeError


def test_what_this_version_cannot_read_holds_up_nothing_else(world: AlertWorld) -> None:
    """A trouble of an event of another version, and a message that names one."""
    world.put(rule("ops", "shop", FIRST, FOR_GOOD, RECOVERED))
    world.put(rule("other", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    world.judge()
    strange = {"event": "of_another_version"}
    is_first = alerts.c.event == FIRST.value
    world.database.write(lambda sql: sql.execute(update(alerts).where(is_first).values(strange)))
    of_ops = update(alert_messages).where(alert_messages.c.rule == "ops")
    told = '{"alerts": [["of_another_version", 1, "", 1, 1, 1, "", null, null, null]], "more": 2}'
    world.database.write(lambda sql: sql.execute(of_ops.values(content=told)))
    taken = {one.message.rule: one.message for one in world.take()}
    assert [one.event for one in taken["other"].alerts] == [FOR_GOOD]
    assert (taken["ops"].alerts, taken["ops"].more) == ((), 1)
    world.fire(bill, 60, SUCCEEDED)
    assert world.look() == 2


# rules


def test_a_rule_is_made_replaced_listed_and_deleted_with_what_hangs_on_it(world: AlertWorld) -> None:
    made, is_new = world.rules.put("shop", "ops", lambda _held: rule("ops", "shop", FOR_GOOD), NOW)
    assert (is_new, made.created_at) == (True, NOW)
    world.rules.put("shop", "ops", lambda held: replace(held, in_a_row=4), NOW + 1)
    (found,) = world.rules.page("shop", "", 10)
    assert (found.in_a_row, found.created_at, found.updated_at) == (4, NOW, NOW + 1)
    assert world.rules.page("bank", "", 10) == []
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    world.rules.remove("shop", "ops", NOW)
    assert world.standing() == []
    assert world.take() == []
    with pytest.raises(UnknownAlertRule):
        world.rules.remove("shop", "ops", NOW)


def test_an_app_has_so_many_rules_and_no_more(world: AlertWorld) -> None:
    world.put(*(rule(f"r{number}", "shop", FIRST) for number in range(MOST_RULES)))
    with pytest.raises(Conflict):
        world.put(rule("more", "shop", FIRST))
    world.put(rule("r1", "shop", FOR_GOOD), rule("other", "bank", FIRST))


@pytest.mark.parametrize("page", [1, 2, 4, 1_000])
def test_apps_with_rules_are_told_by_their_least_lateness(
    world: AlertWorld, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.store.sql.alert_rules._PAGE", page)
    world.put(
        rule("a", "shop", FIRST),
        rule("b", "shop", E.LATE, late_ms=9_000),
        rule("c", "shop", E.LATE, late_ms=4_000),
        rule("a", "bank", FIRST),
    )
    assert world.rules.alerted() == AlertedApps({"shop": 4_000, "bank": None})


# housekeeping


@pytest.mark.parametrize("per", Per)
def test_trouble_of_a_timer_that_has_ended_is_forgotten_and_of_another_it_is_kept(
    world: AlertWorld, per: Per
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD, RECOVERED, per=per))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    assert [event for _, event, *_ in world.told()] == [FOR_GOOD]
    runs_again = update(timers).where(timers.c.id == bill).values(next_fire_at=NOW + DAY_MS)
    world.database.write(lambda sql: sql.execute(runs_again))
    (one,) = world.standing()
    a_month_later = one.last_at + 31 * DAY_MS
    world.look(a_month_later, a_month_later)
    assert world.standing() == [one]
    finished = update(timers).where(timers.c.id == bill).values(next_fire_at=None, status="enabled")
    world.database.write(lambda sql: sql.execute(finished))
    world.look(world.now, one.last_at)
    assert world.standing() == [one]
    world.look(world.now, one.last_at + 1)
    assert world.standing() == []
    assert world.told() == []


def test_a_timer_that_runs_once_a_month_is_told_of_its_failures_in_a_row_and_of_their_end(
    world: AlertWorld,
) -> None:
    world.put(rule("ops", "shop", ROW, RECOVERED, in_a_row=3))
    bill, month = world.timer(), 31 * DAY_MS // SECOND
    for number in range(3):
        world.fire(bill, number * month, PENDING)
        told = world.told()
        world.look(world.now, world.now + 8 * DAY_MS)
    assert told == [("ops", ROW, bill, 3)]
    world.fire(bill, 3 * month, SUCCEEDED)
    assert world.told() == [("ops", RECOVERED, bill, 3)]


def test_trouble_of_deleted_timers_ends(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    world.told()
    world.sql.timers.delete("shop", bill, world.now, lambda _timer: (None, []))
    world.look(world.now, world.now)
    assert world.standing() == []


def test_trouble_of_a_deleted_timer_ends_within_minutes_and_of_another_and_of_its_host_it_stays(
    world: AlertWorld,
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD), rule("host", "shop", FOR_GOOD, per=Per.HOST))
    bill, other = world.timer(), world.timer("other")
    for one in (bill, other):
        world.fire(one, 0, FAILED)
    world.judge()
    world.sql.timers.delete("shop", bill, world.now, lambda _timer: (None, []))
    judged_at = world.standing()[0].last_at
    world.look(judged_at + DELETED_AFTER_MS - 1, NOW)
    assert len(world.standing()) == 3
    world.look(judged_at + DELETED_AFTER_MS, NOW)
    assert sorted(one.timer_id for one in world.standing()) == [0, other]


def test_troubles_are_looked_at_page_by_page(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD, RECOVERED))
    timers = [world.timer(f"t{number}") for number in range(5)]
    for one in timers:
        world.fire(one, 0, FAILED)
    world.judge()
    world.fire(timers[-1], 60, SUCCEEDED)
    over, after = 0, FIRST_KEY
    pages = 0
    while after is not None:
        looked = world.troubles.look("shop", after, 2, world.now)
        over, after, pages = over + looked.over, looked.next_key, pages + 1
    assert (over, pages) == (1, 3)


def test_an_app_has_so_many_open_troubles_and_a_further_one_is_not_told(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_troubles, "MOST_TROUBLES", 3)
    world.put(rule("ops", "shop", FOR_GOOD), rule("ops", "bank", FOR_GOOD))
    ids = [world.timer(f"t{number}") for number in range(5)]
    for one in ids:
        world.fire(one, 0, FAILED)
    world.fire(world.timer("loan", "bank"), 0, FAILED, app="bank")
    assert world.troubles.judge("shop", 10, world.now).without_room == 2
    assert len([one for one in world.told() if one[2] in ids]) == 3
    assert sorted(one.app for one in world.standing()) == ["bank", "shop", "shop", "shop"]


def test_a_host_in_trouble_by_many_rules_is_looked_up_once_for_each_timer(world: AlertWorld) -> None:
    rules = [rule(f"r{number}", "shop", FIRST, FOR_GOOD, per=Per.HOST) for number in range(10)]
    world.put(*rules)
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    world.now += 60 * SECOND
    with Statements(world.database) as asked:
        world.look()
    assert len(world.standing()) == 20
    assert sum(one.count("FROM firing") for one in asked.seen) == 1


def test_a_test_is_answered_and_forgotten_and_holds_up_no_message(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    number = world.messages.ask_test("shop", "ops", world.now)
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    taken = {one.is_test: one for one in world.take()}
    assert set(taken) == {True, False}
    assert world.messages.answer_of(number) is None
    world.messages.answer(taken[True], "{}")
    assert world.messages.answer_of(number) == "{}"
    world.now += 120 * SECOND
    assert [one.is_test for one in world.take()] == [False]
    assert world.messages.forget_tests(world.now) == 1
    with pytest.raises(UnknownAlertRule):
        world.messages.ask_test("bank", "ops", world.now)


def test_tests_of_a_rule_keep_a_distance_though_it_is_made_anew_and_those_of_an_app_have_a_number(
    world: AlertWorld,
) -> None:
    one = rule("ops", "shop", FOR_GOOD)
    world.put(one, rule("ops", "bank", FOR_GOOD))
    number = world.messages.ask_test("shop", "ops", world.now)
    assert number is not None
    (taken,) = world.take()
    world.messages.answer(taken, "{}")
    assert world.messages.ask_test("shop", "ops", world.now + BETWEEN_MS - 1) is None
    world.rules.remove("shop", "ops", world.now)
    world.put(one)
    assert world.messages.ask_test("shop", "ops", world.now + 1) is None
    assert world.messages.answer_of(number) == "{}"
    for again in range(1, MOST_RULES):
        world.rules.remove("shop", one.name, world.now)
        one = replace(one, name=f"r{again}")
        world.put(one)
        assert world.messages.ask_test("shop", one.name, world.now) is not None
    world.put(rule("more", "shop", FOR_GOOD))
    assert world.messages.ask_test("shop", "more", world.now) is None
    assert world.messages.ask_test("bank", "ops", world.now) is not None
    assert world.messages.ask_test("shop", "more", world.now + BETWEEN_MS) is not None


def test_a_message_that_could_not_be_tried_is_given_up_a_day_after_the_last_alert_it_gathered(
    world: AlertWorld,
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer("first"), 0, FAILED)
    world.judge()
    began_at = world.now
    (one,) = world.take()
    world.messages.put_off(one, world.now, "no place", was_tried=False)
    world.fire(world.timer("late"), (LONGEST_WAIT_MS - 5 * SECOND) // SECOND, FAILED)
    world.judge()
    gathered_at = world.now
    (again,) = world.take()
    assert (again.id, again.created_at) == (one.id, began_at)
    ended = MessageEnd(again, "no place", was_tried=False)
    assert again_at(ended, began_at + LONGEST_WAIT_MS) is not None
    assert again_at(ended, gathered_at + LONGEST_WAIT_MS - 1) is not None
    assert again_at(ended, gathered_at + LONGEST_WAIT_MS) is None


def test_a_message_that_could_not_be_tried_has_used_no_attempt(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    (one,) = world.take()
    world.messages.put_off(one, world.now, "no place", was_tried=False)
    (again,) = world.take()
    assert again.attempt == 1
    assert world.rules.page("shop", "", 1)[0].error == "no place"


OTHER_ADDRESS = Destination(DestinationKind.WEBHOOK, "http://127.0.0.1:9/new")


@pytest.mark.parametrize("error", ["", "HTTP 500", "given up: timeout"])
def test_what_a_process_has_in_hand_while_the_rule_is_changed_is_told_at_the_new_destination(
    world: AlertWorld, error: str
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    bill = world.timer()
    world.fire(bill, 0, FAILED)
    world.judge()
    (one,) = world.take()
    world.now += SECOND
    world.put(rule("ops", "shop", FOR_GOOD, destination=OTHER_ADDRESS))
    world.now += SECOND
    if error == "HTTP 500":
        assert world.messages.put_off(one, world.now + DAY_MS, error, was_tried=True)
    else:
        assert world.messages.end(one, world.now, error, is_taken=not error)
    (again,) = world.take()
    assert (again.attempt, [alert.timer_id for alert in again.message.alerts]) == (1, [bill])
    assert world.rules.page("shop", "", 1)[0].error == ""
    world.messages.end(again, world.now, is_taken=True)
    world.now += DAY_MS
    assert world.take() == []


def _taken_again_at_a_new_destination(world: AlertWorld) -> tuple[TakenMessage, TakenMessage]:
    """Have a process hold a message for too long, then change the rule's destination; return it as each one took it."""
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    (held,) = world.take()
    world.now += DAY_MS
    world.put(rule("ops", "shop", FOR_GOOD, destination=OTHER_ADDRESS))
    (again,) = world.take()
    return held, again


def test_what_a_dead_process_had_in_hand_has_all_its_attempts_at_the_new_destination(
    world: AlertWorld,
) -> None:
    held, again = _taken_again_at_a_new_destination(world)
    assert (again.id, again.attempt) == (held.id, 1)


def test_the_late_word_of_a_process_that_held_a_message_for_too_long_changes_nothing(
    world: AlertWorld,
) -> None:
    """Though the new destination begins with the first attempt, as that process did."""
    held, again = _taken_again_at_a_new_destination(world)
    world.messages.end(held, world.now, is_taken=True)
    world.messages.end(again, world.now, is_taken=True)
    assert world.rules.page("shop", "", 1)[0].told_at == world.now
    world.now += DAY_MS
    assert world.take() == []


def test_nothing_is_left_once_all_is_told(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, FOR_GOOD))
    world.fire(world.timer(), 0, PENDING, FAILED)
    assert len(world.told()) == 2
    for table in (alert_notes, alert_messages):
        query = select(table)
        assert world.database.read(lambda sql, query=query: sql.execute(query).all()) == []
    assert world.rules.page("shop", "", 1)[0].told_at == world.now


def test_a_new_destination_is_told_again_of_what_the_rule_still_tells_alone(world: AlertWorld) -> None:
    world.put(rule("ops", "shop", FIRST, FOR_GOOD))
    old, new = world.timer("old-1"), world.timer("new-1")
    for one in (old, new):
        world.fire(one, 0, FAILED)
    assert len(world.told()) == 4
    world.put(rule("ops", "shop", FOR_GOOD, key_prefix="new-", destination=OTHER_ADDRESS))
    assert world.told() == [("ops", FOR_GOOD, new, 1)]
