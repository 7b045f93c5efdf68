"""The judge of alerts takes each app in turn, and leaves an app alone that another judge is at."""

import time
from contextlib import ExitStack

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from tests.store.alert_worlds import FAILED, AlertWorld, Statements, rule
from wangtimer.core.alerts.alert_rule import AlertEvent, Per
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.features.alerts import alert_judge
from wangtimer.features.alerts.alert_judge import FORGET_EVERY_S, AlertJudge
from wangtimer.store.sql import alert_troubles
from wangtimer.store.sql.alert_troubles import FIRST_KEY, JudgedNotes, LookedAt, LookKey
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import alert_notes, alert_rules
from wangtimer.testing.doubles import HandClock

FOR_GOOD = AlertEvent.FAILED_FOR_GOOD


@pytest.fixture
def world(database: Database) -> AlertWorld:
    return AlertWorld(database)


def judge_of(world: AlertWorld, told: list[None] | None = None) -> AlertJudge:
    clock, all_told = HandClock(world.now), [] if told is None else told
    pace = Pace(clock, FORGET_EVERY_S)
    return AlertJudge(world.troubles, world.messages, clock, pace, lambda: all_told.append(None))


def left_of(world: AlertWorld, app: str) -> int:
    query = select(alert_notes.c.timer_id).where(alert_notes.c.app == app)
    return len(world.database.read(lambda sql: sql.execute(query).all()))


def test_an_app_with_many_notes_has_a_page_judged_then_each_other_app(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_judge, "PAGE", 5)
    # Time for two pages: the clock is put on by each.
    judge = judge_of(world)
    clock, pages = judge.clock, list[str]()
    real = world.troubles.judge

    def slow(app: str, limit: int, now: int) -> JudgedNotes:
        pages.append(app)
        clock.sleep(alert_judge.LONGEST_JUDGING_S / 2)
        return real(app, limit, now)

    monkeypatch.setattr(world.troubles, "judge", slow)
    world.put(rule("ops", "big", FOR_GOOD), rule("ops", "small", FOR_GOOD))
    for app, number in (("big", 20), ("small", 2)):
        timer_id = world.timer("bill", app)
        for second in range(number):
            world.fire(timer_id, second, FAILED, app=app)
    judge.run()
    assert pages == ["big", "small"]
    assert (left_of(world, "big"), left_of(world, "small")) == (15, 0)
    judge.run()
    judge.run()
    assert pages[2:] == ["big"] * 3
    assert left_of(world, "big") == 0


def test_an_error_of_one_apps_judging_holds_up_neither_others_nor_the_look(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, real, looked = judge_of(world), world.troubles.judge, list[object]()

    def stumbles(app: str, limit: int, now: int) -> JudgedNotes:
        if app == "bank":
            raise KeyError(app)
        return real(app, limit, now)

    monkeypatch.setattr(world.troubles, "judge", stumbles)
    look = world.troubles.look
    monkeypatch.setattr(world.troubles, "look", lambda *asked: looked.append(asked) or look(*asked))
    for app in ("bank", "shop"):
        world.put(rule("ops", app, FOR_GOOD))
        world.fire(world.timer("bill", app), 0, FAILED, app=app)
    with capture_logs() as logs:
        assert judge.run() == 1
    assert (left_of(world, "bank"), left_of(world, "shop"), len(looked)) == (1, 0, 1)
    assert [one["app"] for one in logs if one["event"] == "alerts_not_judged"] == ["bank"]


def test_an_app_with_many_troubles_has_a_page_looked_at_then_each_other_app(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_judge, "PAGE", 5)
    world.put(rule("ops", "big", FOR_GOOD), rule("ops", "small", FOR_GOOD))
    for app, number in (("big", 12), ("small", 2)):
        for one in range(number):
            world.fire(world.timer(f"t{one}", app), 0, FAILED, app=app)
    judge = judge_of(world)
    clock, pages = judge.clock, list[str]()
    real = world.troubles.look

    def slow(app: str, *rest: object) -> LookedAt:
        pages.append(app)
        clock.sleep(alert_judge.LONGEST_LOOK_S / 2)
        return real(app, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(world.troubles, "look", slow)
    judge.run()
    assert pages == ["big", "small"]
    judge.run()
    # The next run goes on behind the first page, and begins anew at the end.
    assert pages[2:] == ["big", "small"]
    judge.run()
    judge.run()
    assert pages[4:] == ["big", "small", "big", "small"]


def test_a_look_goes_on_at_the_page_where_sql_went_away(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    judge, seen, is_away = judge_of(world), list[LookKey](), [False, True, False]
    behind = ("ops", 7, "failed_for_good", "")

    def look(_app: str, after: LookKey, *_: object) -> LookedAt:
        seen.append(after)
        judge.clock.sleep(alert_judge.LONGEST_LOOK_S)
        if is_away.pop(0):
            raise StoreAway("SQL", "switched off by the test")
        return LookedAt(0, behind)

    monkeypatch.setattr(world.troubles, "look", look)
    judge.run()
    with pytest.raises(StoreAway):
        judge.run()
    judge.run()
    assert seen == [FIRST_KEY, behind, behind]


def test_an_app_that_another_judge_is_at_is_left_to_it_and_others_are_not(world: AlertWorld) -> None:
    if world.database.is_sqlite:
        pytest.skip("one writer at a time")
    for app in ("bank", "shop"):
        world.put(rule("ops", app, FOR_GOOD))
        world.fire(world.timer("bill", app), 0, FAILED, app=app)
    with ExitStack() as stack:
        other = stack.enter_context(world.database.engine.connect())
        stack.enter_context(other.begin())
        held = select(alert_rules).where(alert_rules.c.app == "bank").with_for_update()
        other.execute(held).all()
        judge_of(world).run()
        assert (left_of(world, "bank"), left_of(world, "shop")) == (1, 0)
    judge_of(world).run()
    assert left_of(world, "bank") == 0


def test_an_app_that_cannot_be_judged_holds_up_no_other_and_nothing_else(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put(rule("ops", "bad", FOR_GOOD), rule("ops", "shop", FOR_GOOD), rule("ops", "slow", FOR_GOOD))
    for app in ("bad", "shop", "slow"):
        world.fire(world.timer("bill", app), 0, FAILED, app=app)
    bill = world.timer("paid")
    world.fire(bill, 1, FAILED)
    test = world.messages.ask_test("shop", "ops", 0)
    real, looked = world.troubles.judge, list[str]()

    def judge_page(app: str, limit: int, now: int) -> JudgedNotes:
        if app == "shop":
            return real(app, limit, now)
        raise ZeroDivisionError if app == "bad" else StoreAway("SQL", "it hangs")

    monkeypatch.setattr(world.troubles, "judge", judge_page)
    monkeypatch.setattr(
        world.troubles, "look", lambda app, *_rest: (looked.append(app), LookedAt(0, None))[1]
    )
    told: list[None] = []
    with pytest.raises(StoreAway):
        judge_of(world, told).run()
    assert (left_of(world, "bad"), left_of(world, "shop"), left_of(world, "slow")) == (1, 0, 1)
    assert looked == ["shop"]
    assert world.messages.answer_of(test) is None
    assert [one.is_test for one in world.take()] == [False]


def test_a_page_has_fewer_notes_where_each_may_be_of_many_troubles(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_troubles, "MOST_KEYS", 60)
    events = (FOR_GOOD, AlertEvent.FIRST_FAILURE)
    world.put(*(rule(f"r{number}", "shop", *events) for number in range(10)))
    for number in range(5):
        world.fire(world.timer(f"t{number}"), 0, FAILED)
    page = world.troubles.judge("shop", 500, world.now)
    assert (page.notes, page.are_left) == (3, True)
    page = world.troubles.judge("shop", 500, world.now)
    assert (page.notes, page.are_left) == (2, False)


def test_the_end_of_a_message_does_not_wait_for_a_judge_that_is_at_its_rule(world: AlertWorld) -> None:
    if world.database.is_sqlite:
        pytest.skip("one writer at a time")
    world.put(rule("ops", "shop", FOR_GOOD))
    world.fire(world.timer(), 0, FAILED)
    world.judge()
    (one,) = world.take()
    with ExitStack() as stack:
        other = stack.enter_context(world.database.engine.connect())
        stack.enter_context(other.begin())
        other.execute(select(alert_rules).with_for_update()).all()
        began_at = time.monotonic()
        assert not world.messages.end(one, world.now)
        assert not world.messages.put_off(one, world.now, "HTTP 503", was_tried=True)
        assert time.monotonic() - began_at < 2
    assert world.messages.end(one, world.now)
    assert world.take() == []


def test_callback_processes_are_told_when_a_host_comes_into_trouble_and_when_it_is_over(
    world: AlertWorld,
) -> None:
    told: list[None] = []
    judge = judge_of(world, told)
    world.put(rule("ops", "shop", FOR_GOOD, per=Per.HOST))
    world.fire(world.timer(), 0, FAILED)
    judge.run()
    assert len(told) == 1
    judge.clock.sleep(5)
    world.fire(world.timer("other"), 0, FAILED)
    judge.run()
    assert len(told) == 1


def test_while_nothing_is_noted_a_run_asks_twice_if_sql_may_have_changed(world: AlertWorld) -> None:
    judge = judge_of(world)
    judge.run()
    with Statements(world.database) as asked:
        judge.run()
    may_have_changed = world.database.changes() is None
    assert len([one for one in asked.seen if "SELECT" in one]) == (2 if may_have_changed else 0)


def test_a_page_of_many_rules_takes_few_statements(world: AlertWorld) -> None:
    for number in range(20):
        world.put(rule(f"r{number}", "shop", FOR_GOOD, per=Per.TIMER if number % 2 else Per.HOST))
    timers = [world.timer(f"t{number}") for number in range(20)]
    for one in timers:
        world.fire(one, 0, FAILED)
    with Statements(world.database) as asked:
        assert world.troubles.judge("shop", 500, world.now).notes == 20
    assert len(asked.seen) <= 15, asked.seen


@pytest.mark.parametrize("per", list(Per))
def test_in_a_storm_a_trouble_is_read_and_written_once_for_many_notes(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch, per: Per
) -> None:
    """20 rules make 40 troubles of each note: page by page that was over two statements a note."""
    monkeypatch.setattr(alert_troubles, "MOST_KEYS", 400)
    events = (FOR_GOOD, AlertEvent.FIRST_FAILURE)
    world.put(*(rule(f"r{number}", "shop", *events, per=per) for number in range(20)))
    timers = [world.timer(f"t{number}") for number in range(20)]
    for second in range(12):
        for one in timers:
            world.fire(one, second, FAILED)
    with Statements(world.database) as asked:
        pages = [world.troubles.judge("shop", 500, world.now) for _ in range(2)]
    assert sum(page.notes for page in pages) == 240
    assert len(asked.seen) <= 50, asked.seen
    assert {row.times for row in world.standing()} == ({12} if per is Per.TIMER else {240})


def test_notes_of_a_rule_of_hosts_are_judged_in_their_order_though_other_rules_are_of_timers(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A success of one timer ends the row of all timers of its host."""
    monkeypatch.setattr(alert_troubles, "MOST_KEYS", 3)
    world.put(rule("hosts", "shop", FOR_GOOD, per=Per.HOST), rule("timers", "shop", FOR_GOOD))
    timers = [world.timer(f"t{number}") for number in range(3)]
    for second in range(2):
        for one in timers:
            world.fire(one, second, FAILED)
    assert [world.troubles.judge("shop", 500, world.now).notes for _ in range(3)] == [2, 2, 2]
    assert {(row.timer_id, row.times) for row in world.standing()} == {(0, 6), *((one, 2) for one in timers)}
