"""One timer that cannot be read, judged or planned harms no other, and is not lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import UnopenedSecrets
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.timer import Definition, Notify, Timer
from wangtimer.executor.unread import (
    GIVEN_UP_AFTER_MS,
    LONGEST_PAUSE_MS,
    SHORTEST_PAUSE_MS,
    Unread,
)
from wangtimer.executor.verdicts import Fail, PutBack

MINUTE_S = 60
UNKNOWN_ZONE = Cron("*/10 * * * * *", "Mars/Phobos")


def spoil(
    world: World, timer: Timer, schedule: Schedule = UNKNOWN_ZONE, notify: Notify | None = None
) -> None:
    """Let a timer, edited by a node that knows more, be one that this node cannot judge."""
    timers = world.sql.table("timers")
    held = timers[timer.id]
    definition = held.definition._replace(
        version=held.definition.version + 1,
        schedule=schedule,
        edited_at=world.now,
        notify=notify or held.definition.notify,
    )
    timers[timer.id] = replace(held, definition=definition, updated_at=world.now)
    world.definitions.put([definition])


def mend(world: World, timer: Timer) -> None:
    spoil(world, timer, Cron("*/10 * * * * *", "UTC"))


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    return make_world(executors=1).start()


def test_the_neighbours_of_a_timer_that_cannot_be_judged_are_on_time(lone: World) -> None:
    neighbours = [lone.timer("*/10 * * * * *") for _ in range(20)]
    bad = lone.timer("*/10 * * * * *")
    lone.run_for(5)
    spoil(lone, bad)
    lone.run_for(120)
    for one in neighbours:
        arrivals = lone.target.of(one.id)
        assert len(arrivals) >= 12
        assert max(arrival.late_ms for arrival in arrivals) == 0


def test_what_cannot_be_judged_here_is_sent_once_it_can_be(lone: World) -> None:
    bad = lone.timer("*/10 * * * * *")
    lone.run_for(7)
    spoil(lone, bad)
    since = lone.now
    lone.run_for(60)
    waiting = [one.firing.fire_at for one in lone.records(bad) if since < one.firing.fire_at <= lone.now]
    assert len(waiting) == 6
    assert not [one for one in lone.settled(bad) if one.firing.fire_at > since]
    mend(lone, bad)
    lone.run_for(180)
    assert set(waiting) <= {arrival.fire_at for arrival in lone.target.of(bad.id)}


def test_what_nobody_could_judge_for_ten_minutes_has_failed_and_says_why(lone: World) -> None:
    once = lone.once_in(20)
    spoil(lone, once, UNKNOWN_ZONE)
    moment = lone.record(once).firing.fire_at
    claims = lone.executor_nodes[0].taps
    looks: list[int] = []
    claims["before timers.definitions"] = lambda: looks.append(lone.now)
    lone.run_for(20 + GIVEN_UP_AFTER_MS / 1_000 - 30)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    lone.run_for(60)
    record = lone.record(once)
    assert record.firing.status is FiringStatus.FAILED
    assert "Mars/Phobos" in record.error
    assert not lone.target.of(once.id)
    assert len(looks) < 15, "pauses grow"
    assert moment + GIVEN_UP_AFTER_MS <= lone.now


def test_a_row_that_sql_has_and_nobody_here_can_read_waits_and_then_fails(lone: World) -> None:
    once = lone.once_in(20)
    lone.sql.table("unreadable")[once.id] = "its row cannot be read: KeyError: 'days'"
    lone.redis.table("definitions").clear()
    lone.run_for(40)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    lone.run_for(GIVEN_UP_AFTER_MS / 1_000 + 20)
    assert lone.record(once).firing.status is FiringStatus.FAILED
    assert "its row cannot be read" in lone.record(once).error


def test_a_call_that_cannot_be_made_of_a_definition_waits_and_then_fails_and_harms_no_other(
    lone: World,
) -> None:
    bad = lone.once_in(20)
    good = lone.timer(Once(lone.record(bad).firing.fire_at))
    notify = bad.definition.notify._replace(body=None)  # type: ignore[arg-type]
    spoil(lone, bad, bad.definition.schedule, notify)
    lone.run_for(30)
    assert [arrival.late_ms for arrival in lone.target.of(good.id)] == [0]
    lone.run_for(GIVEN_UP_AFTER_MS / 1_000 + 20)
    assert lone.record(bad).firing.status is FiringStatus.FAILED


def has_no_key(definition: Definition, _target: object) -> Notify:
    """Open the secrets of a definition, in a process that has not their key."""
    raise UnopenedSecrets(definition.timer_id, "this process has no key 'k2'")


def test_what_a_process_without_its_key_has_put_back_is_sent_by_one_with_the_key_however_late(
    lone: World,
) -> None:
    lone.executor_nodes[0].request_maker.call_of = has_no_key
    once = lone.once_in(20)
    lone.run_for(20 + 2 * GIVEN_UP_AFTER_MS / 1_000)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    lone.executor_nodes[0].process.kill()
    lone.start_executor("with the key")
    lone.run_for(2 * LONGEST_PAUSE_MS / 1_000)
    assert lone.record(once).firing.status is FiringStatus.SUCCEEDED
    assert len(lone.target.of(once.id)) == 1


def test_what_redis_still_has_under_a_key_that_was_rotated_away_is_read_anew_and_sent(lone: World) -> None:
    opened = Notify("http://shop.test/due")

    def has_the_new_key(definition: Definition, _target: object) -> Notify:
        return opened if definition.notify.sealed == "1.new.text" else has_no_key(definition, None)

    lone.executor_nodes[0].request_maker.call_of = has_the_new_key
    once = lone.once_in(20)
    timers = lone.sql.table("timers")
    new, old = (
        once.definition._replace(notify=opened._replace(sealed=f"1.{key}.text")) for key in ("new", "old")
    )
    timers[once.id] = replace(timers[once.id], definition=new)
    lone.run_for(15)
    lone.definitions.put([old])
    lone.run_for(6)
    (arrival,) = lone.target.of(once.id)
    assert arrival.late_ms < 100
    assert lone.definitions.get([once.id]).definitions[once.id].notify == new.notify


def test_where_sql_has_the_same_seal_redis_keeps_it_and_the_firing_waits(lone: World) -> None:
    lone.executor_nodes[0].request_maker.call_of = has_no_key
    once = lone.once_in(20)
    reads: list[int] = []
    lone.executor_nodes[0].taps["before timers.definitions"] = lambda: reads.append(lone.now)
    lone.run_for(60)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    assert 0 < len(reads) < 10
    assert once.id in lone.definitions.get([once.id]).definitions


def test_a_firing_that_waited_long_is_looked_at_for_ten_minutes_though_its_timer_is_known_as_bad() -> None:
    unread, moment = Unread(BadTimers()), 1_800_000_000_000
    assert isinstance(unread.verdict(Member(7, moment, 1), moment, "bad", moment), PutBack)
    later = moment + 6 * GIVEN_UP_AFTER_MS
    member, first_look = Member(7, later, 1), later + GIVEN_UP_AFTER_MS + 60_000
    assert unread.verdict(member, later, "bad", first_look) == PutBack(first_look + SHORTEST_PAUSE_MS)
    assert isinstance(unread.verdict(member, later, "bad", first_look + GIVEN_UP_AFTER_MS - 1), PutBack)
    assert unread.verdict(member, later, "bad", first_look + GIVEN_UP_AFTER_MS) == Fail("bad")


def test_a_retry_that_is_put_back_again_and_again_fails_too() -> None:
    unread, now = Unread(BadTimers()), 1_800_000_000_000
    due_at = last = now
    for _ in range(100):
        verdict = unread.verdict(Member(7, now, 2), due_at, "bad", due_at)
        if isinstance(verdict, Fail):
            break
        last, due_at = due_at, verdict.until
    assert isinstance(verdict, Fail)
    assert last < due_at == now + GIVEN_UP_AFTER_MS


def test_firings_beyond_those_that_are_remembered_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.executor.unread.MOST_MET", 1)
    unread, now = Unread(BadTimers()), 1_800_000_000_000
    first, second = Member(7, now, 1), Member(8, now, 1)
    looks = now, now + GIVEN_UP_AFTER_MS
    assert [type(unread.verdict(first, now, "bad", at)) for at in looks[:1]] == [PutBack]
    assert [type(unread.verdict(second, now, "bad", at)) for at in looks] == [PutBack, PutBack]
    assert unread.verdict(second, now, "bad", looks[1]) == PutBack(looks[1] + LONGEST_PAUSE_MS)
    assert isinstance(unread.verdict(first, now, "bad", looks[1]), Fail)
    second_looks = looks[1], looks[1] + GIVEN_UP_AFTER_MS
    assert [type(unread.verdict(second, now, "bad", at)) for at in second_looks] == [PutBack, Fail]


def test_a_page_full_of_timers_that_cannot_be_read_does_not_stop_planning(
    make_world: Callable[..., World],
) -> None:
    world = make_world(plan_page_timers=20)
    bad = [world.timer("* * * * *") for _ in range(100)]
    good = world.timer("30 * * * * *")
    world.sql.table("unreadable").update({timer.id: "another version wrote it" for timer in bad})
    world.run_for(1)
    world.beat.migrator.plan_due()
    assert len(world.records(good)) >= 119
    reads: list[int] = []
    world.beat.taps["before timers.to_plan"] = lambda: reads.append(1)
    world.beat.migrator.plan_due()
    assert len(reads) <= 2, "bad ones rest"


def test_a_page_full_of_timers_that_cannot_be_planned_does_not_stop_planning(
    make_world: Callable[..., World],
) -> None:
    world = make_world(plan_page_timers=20)
    bad = [world.timer("* * * * *") for _ in range(100)]
    good = world.timer("30 * * * * *")
    for timer in bad:
        spoil(world, timer)
    world.beat.migrator.plan_due()
    assert len(world.records(good)) >= 119


def test_a_plan_that_sql_refuses_keeps_no_other_from_being_made(make_world: Callable[..., World]) -> None:
    world = make_world()
    good, bad = [world.timer("* * * * *") for _ in range(7)], world.timer("* * * * *")
    commit = world.timers.commit_plans

    def refusing(plans, firings):
        if any(one.timer.id == bad.id for one in plans):
            raise ValueError("a moment that no column holds")
        return commit(plans, firings)

    world.timers.commit_plans = refusing  # type: ignore[method-assign]
    world.beat.migrator.plan_due()
    assert all(len(world.records(timer)) >= 119 for timer in good)
    assert len(world.records(bad)) < 3


def test_a_change_to_a_row_that_cannot_be_read_leaves_no_older_definition_to_fire_by(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.run_for(5)
    lone.redis.away = True
    lone.registrar.disable(APP, timer.id)
    lone.redis.away = False
    lone.sql.table("unreadable")[timer.id] = "another version wrote it"
    lone.beat.sweeper.sweep()
    assert lone.definitions.get([timer.id]).definitions == {}
