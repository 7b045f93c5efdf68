from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, Node, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import DueMember, Firing, FiringKind, FiringStatus
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Definition, NewTimer, Notify, Timer
from wangtimer.executor.case import Case
from wangtimer.executor.claim import Claim
from wangtimer.executor.shared import SigningsAndTargets
from wangtimer.executor.verdicts import Drop, PutBack, Send, Skip, Verdict
from wangtimer.executor.wanted import Wanted


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    return make_world(executors=1)


def wanted_of(world: World) -> Wanted:
    return Node(world, "wanted").wanted


def edit(world: World, timer: Timer, cron: str) -> None:
    """Give a timer another schedule, in SQL, as an edit would."""
    timers = world.sql.table("timers")
    held = timers[timer.id]
    definition = held.definition._replace(
        version=held.definition.version + 1,
        schedule=Cron.parse(cron),
        edited_at=world.now,
    )
    timers[timer.id] = replace(held, definition=definition, updated_at=world.now)


def first_row(world: World, timer: Timer) -> Firing:
    return world.records(timer)[0].firing


def believed(world: World, *timers: Timer) -> dict[int, Definition]:
    wanted = wanted_of(world)
    return wanted.current(wanted.read(timer.id for timer in timers))


def opinion(world: World, row: Firing) -> tuple[bool, str, Verdict]:
    """Return whether SQL clears the row, why it refuses it, and the verdict that then stands."""
    case = judged(world, row, Send(row))
    verdict = case.verdicts[row.member]
    return row.timer_id in case.definitions, verdict.reason if isinstance(verdict, Skip) else "", verdict


def judged(world: World, row: Firing, verdict: Verdict) -> Case:
    """Return the case of a firing that seems unwanted, with what SQL says of it."""
    claim = Claim(row.slice, "claim", [row.member], 0.0, 0.0)
    dues = [DueMember(row.member, row.due_at)]
    case = Case(claim, dues, dues, {}, SigningsAndTargets())
    case.verdicts[row.member] = verdict
    wanted_of(world).rule(case)
    return case


def test_what_redis_does_not_know_counts_if_sql_wants_it(lone: World) -> None:
    row = first_row(lone, lone.timer("*/10 * * * * *"))
    assert opinion(lone, row) == (True, "", Send(row))


def test_a_disabled_timer_s_firing_is_refused_as_disabled(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.registrar.disable(APP, timer.id)
    assert opinion(lone, first_row(lone, timer))[:2] == (False, "disabled")


def test_a_deleted_timer_s_firing_is_refused_as_deleted(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.registrar.delete(APP, timer.id)
    assert opinion(lone, first_row(lone, timer))[:2] == (False, "deleted")


def test_a_timer_that_sql_does_not_know_counts_as_deleted(lone: World) -> None:
    row = first_row(lone, lone.timer("*/10 * * * * *"))._replace(timer_id=77)
    assert opinion(lone, row)[:2] == (False, "deleted")


def test_a_moment_that_the_edited_schedule_does_not_contain_is_refused_as_superseded(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    edit(lone, timer, "5 * * * * *")
    assert opinion(lone, first_row(lone, timer))[:2] == (False, "superseded")


def test_a_moment_that_the_edited_schedule_still_contains_is_wanted(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    edit(lone, timer, "*/5 * * * * *")
    assert opinion(lone, first_row(lone, timer))[0]


def test_flaw_3_fire_now_is_wanted_though_no_schedule_contains_it(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    edit(lone, timer, "5 * * * * *")
    manual = first_row(lone, timer)._replace(kind=FiringKind.MANUAL)
    assert opinion(lone, manual)[0]


def test_a_retry_is_judged_by_enabled_alone(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    edit(lone, timer, "5 * * * * *")
    retry = first_row(lone, timer)._replace(attempt=2)
    assert opinion(lone, retry)[0]
    lone.registrar.disable(APP, timer.id)
    assert opinion(lone, retry)[:2] == (False, "disabled")


def test_flaw_3_without_sql_nothing_is_skipped_it_waits(lone: World) -> None:
    row = first_row(lone, lone.timer("*/10 * * * * *"))
    lone.sql.away = True
    clears, reason, verdict = opinion(lone, row)
    assert (clears, reason) == (False, "")
    assert isinstance(verdict, PutBack)


def test_what_is_over_or_waits_anyway_is_not_asked_about(lone: World) -> None:
    row = first_row(lone, lone.timer("*/10 * * * * *"))
    lone.sql.away = True
    for verdict in (Drop(None), PutBack(lone.now)):
        case = judged(lone, row, verdict)
        assert (case.verdicts, case.definitions) == ({row.member: verdict}, {})


def test_a_redis_that_is_away_knows_no_definition(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.run_for(1)
    lone.beat.sweeper.sweep()
    assert believed(lone, timer, timer) == {timer.id: timer.definition}
    lone.redis.away = True
    assert believed(lone, timer) == {}


def test_a_redis_that_was_away_is_not_believed_until_it_knows_what_changed_meanwhile(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.run_for(1)
    lone.beat.sweeper.sweep()
    lone.redis.away = True
    lone.registrar.disable(APP, timer.id)
    lone.redis.away = False
    assert believed(lone, timer) == {}
    lone.run_for(1)
    lone.beat.sweeper.sweep()
    assert not believed(lone, timer)[timer.id].is_enabled


def test_a_one_shot_that_is_tried_for_hours_is_found_in_sql_once_redis_has_it_no_more(
    make_world: Callable[..., World],
) -> None:
    """Each attempt after a quarter of an hour then costs two more statements."""
    world = make_world(executors=1).start()
    reads: list[int] = []
    world.executor_nodes[0].taps["before timers.definitions"] = lambda: reads.append(world.now)
    pauses = RetryPolicy(pauses=(60_000, 3_600_000, 7_200_000))
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt < 4 else 200)
    new = NewTimer(APP, "long", Once(world.now + 10_000), Notify("http://a.test/"), retry=pauses)
    timer = world.registrar.enable(APP, world.registrar.create(new).id)
    world.run_for(900)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2]
    assert not reads
    world.run_for(11_000)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2, 3, 4]
    assert all(arrival.late_ms < 1_000 for arrival in world.target.of(timer.id)[:1])
    assert world.statuses(timer) == {FiringStatus.SUCCEEDED}
    assert len(reads) <= 2
    assert world.definitions.get([timer.id]).definitions == {}
