from collections.abc import Callable, Sequence

import pytest
from sqlalchemy.exc import DataError

from tests.stages.stored_rows import due, stored
from tests.stages.timeline import Killed
from tests.stages.world import APP, World
from tests.store.members import outcome_of
from wangtimer.base.in_turn import do_in_turn
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.process_marks import GRACE_MS
from wangtimer.store.redis.slices import BacklogRoom
from wangtimer.window.sweeper import Sweeper

SUCCEEDED, PENDING = FiringStatus.SUCCEEDED, FiringStatus.PENDING


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat never ticks, half an hour old."""
    world = make_world(executors=0)
    world.run_for(1_800)
    return world


def sweeper_of(world: World) -> Sweeper:
    return world.beat.sweeper


def test_what_is_over_five_seconds_late_is_added_again(idle: World) -> None:
    stored(idle, -1_500, -60, -5, -4.9, 5)
    assert sweeper_of(idle).sweep() == 3
    assert due(idle) == {1, 2, 3}


def test_a_retry_is_overdue_by_its_own_moment_not_by_its_firing_s(idle: World) -> None:
    (row,) = stored(idle, -600)
    idle.firings.settle([outcome_of(row.member, PENDING, idle.now + 1_000)])
    assert sweeper_of(idle).sweep() == 0


def test_what_has_its_outcome_is_not_added(idle: World) -> None:
    rows = stored(idle, -60, -50)
    idle.firings.settle([outcome_of(rows[0].member)])
    assert sweeper_of(idle).sweep() == 1
    assert due(idle) == {2}


def test_what_somebody_runs_is_left_alone_by_every_repair(idle: World) -> None:
    (row,) = stored(idle, -60)
    idle.beat.hot.add([row])
    idle.slices.turn(row.slice, "trigger", 10, False, BacklogRoom())
    idle.slices.claim(row.slice, "living", [row.member])
    sweeper_of(idle).sweep()
    idle.beat.feeder.feed()
    assert due(idle) == set()
    assert idle.slices.renew({(row.slice, "living"): [row.member]}) == {(row.slice, "living"): {row.member}}


def test_what_is_added_late_waits_one_lease_so_that_who_still_holds_it_is_not_overtaken(
    idle: World,
) -> None:
    (row,) = stored(idle, -60)
    sweeper_of(idle).sweep()
    sets = idle.redis.table("slices")[row.slice]
    assert sets.due == {row.member: row.due_at + 6_000}
    assert sets.suspect == {row.member}


def test_flaw_1_a_repair_puts_a_slice_back_on_the_agenda_though_its_members_are_all_there(
    idle: World,
) -> None:
    overdue, coming = stored(idle, -60, 30)
    idle.beat.hot.add([overdue, coming])
    idle.redis.lose("agenda")
    sweeper_of(idle).sweep()
    assert set(idle.redis.table("agenda")) == {overdue.slice}


def test_a_sweep_is_bounded_and_the_next_goes_on_where_it_stopped(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.window.sweeper.PAGE", 3)
    monkeypatch.setattr("wangtimer.window.sweeper.PAGES_A_SWEEP", 2)
    stored(idle, *(-1_000 + number for number in range(14)))
    assert [sweeper_of(idle).sweep() for _ in range(3)] == [6, 6, 2]
    assert due(idle) == set(range(1, 15))
    assert sweeper_of(idle).sweep() == 6


def test_definitions_changed_in_the_last_minute_are_written_again(idle: World) -> None:
    old = idle.timer("* * * * *")
    idle.run_for(100)
    new = idle.timer("* * * * *")
    idle.redis.lose("definitions")
    sweeper_of(idle).sweep()
    assert set(idle.definitions.get([old.id, new.id]).definitions) == {new.id}


def test_an_older_definition_does_not_replace_a_newer_one(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.registrar.disable(APP, timer.id)
    idle.definitions.put([timer.definition])
    assert not idle.definitions.get([timer.id]).definitions[timer.id].is_enabled


def test_parked_outcomes_are_written_their_retries_added_and_then_forgotten(idle: World) -> None:
    done, again = stored(idle, -60, -60)
    idle.outbox.park([outcome_of(done.member), outcome_of(again.member, PENDING, idle.now + 4_000)])
    assert sweeper_of(idle).flush() == 2
    rows = idle.firings.rows([done.member, again.member])
    assert rows[1, done.fire_at].status is SUCCEEDED
    assert rows[2, again.fire_at].attempt == 2
    assert due(idle) == {2}
    assert idle.outbox.page(10) == {}


def test_a_target_whose_answer_202_was_parked_has_a_minute_to_say_that_it_is_done(idle: World) -> None:
    short, long = stored(idle, -60, -60)
    later = idle.now + 2 * GRACE_MS
    for row, ack_by in ((short, idle.now - 30_000), (long, later)):
        idle.outbox.park([outcome_of(row.member, FiringStatus.ACCEPTED, ack_by)])
    assert sweeper_of(idle).flush() == 2
    rows = idle.firings.rows([short.member, long.member])
    assert [rows[one.member.key].due_at for one in (short, long)] == [idle.now + GRACE_MS, later]


def test_an_outcome_is_forgotten_only_after_sql_has_it(idle: World) -> None:
    (row,) = stored(idle, -60)
    idle.outbox.park([outcome_of(row.member)])
    idle.sql.away = True
    with pytest.raises(StoreAway):
        sweeper_of(idle).flush()
    assert idle.outbox.holds([row.member])
    idle.sql.away = False
    idle.beat.die_at("after firings.settle")
    with pytest.raises(Killed):
        sweeper_of(idle).flush()
    assert idle.outbox.holds([row.member])


def test_an_outcome_parked_anew_while_it_is_flushed_is_not_forgotten(idle: World) -> None:
    (row,) = stored(idle, -60)
    idle.outbox.park([outcome_of(row.member, PENDING, idle.now + 4_000)])
    seen: list[bool] = []

    def park_anew() -> None:
        if not seen:
            idle.outbox.park([outcome_of(row.member, SUCCEEDED)])
            seen.append(True)

    idle.beat.taps["after firings.settle"] = park_anew
    sweeper_of(idle).flush()
    assert idle.firings.rows([row.member])[1, row.fire_at].status is SUCCEEDED


def refuse_outcomes_of(world: World, monkeypatch: pytest.MonkeyPatch, *timer_ids: int) -> list[int]:
    """Let SQL refuse every write with an outcome of these timers; return the sizes of all writes, as they come."""
    settle, sizes = world.firings.settle, []

    def settle_or_refuse(outcomes: Sequence[Outcome]) -> list[Outcome]:
        sizes.append(len(outcomes))
        if any(outcome.member.timer_id in timer_ids for outcome in outcomes):
            raise DataError("INSERT ...", {}, Exception("Incorrect string value"))
        return settle(outcomes)

    monkeypatch.setattr(world.firings, "settle", settle_or_refuse)
    return sizes


def parked(world: World, number: int) -> list[Firing]:
    """Store rows of timers 1, 2, ... that are overdue, and park their outcomes."""
    rows = stored(world, *[-60] * number)
    world.outbox.park([outcome_of(row.member) for row in rows])
    return rows


def test_an_outcome_whose_row_somebody_holds_stays_parked_and_keeps_no_other_from_being_written(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.window.sweeper.FLUSH_PAGE", 3)
    rows = parked(idle, 10)
    held = idle.sql.table("held")
    held |= dict.fromkeys([row.member.key for row in rows[:4]], True)
    assert sweeper_of(idle).flush() == 6
    assert idle.outbox.holds([row.member for row in rows]) == {row.member for row in rows[:4]}
    held.clear()
    assert sweeper_of(idle).flush() == 4
    assert idle.outbox.count() == 0


def test_an_outcome_that_sql_refuses_stays_parked_and_keeps_no_other_from_being_written(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.window.sweeper.FLUSH_PAGE", 3)
    rows = parked(idle, 10)
    refuse_outcomes_of(idle, monkeypatch, 1, 2, 6)
    assert sweeper_of(idle).flush() == 7
    assert set(idle.outbox.page(10)) == {str(rows[number].member) for number in (0, 1, 5)}
    assert len(idle.firings.pending_between(0, idle.now, 10)) == 3
    assert sweeper_of(idle).flush() == 0


def test_where_sql_refuses_a_whole_page_flushing_ends(idle: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.window.sweeper.FLUSH_PAGE", 3)
    parked(idle, 10)
    sizes = refuse_outcomes_of(idle, monkeypatch, *range(1, 11))
    assert sweeper_of(idle).flush() == 0
    assert sizes == [3, 1, 1, 1]
    assert len(idle.outbox.page(10)) == 10


def test_parked_outcomes_are_written_in_pages_a_packet_holds(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    parked(idle, 1_200)
    sizes = refuse_outcomes_of(idle, monkeypatch)
    assert sweeper_of(idle).flush() == 1_200
    assert sizes == [500, 500, 200]


def test_a_sweep_writes_parked_outcomes_for_seconds_only_and_the_next_goes_on(idle: World) -> None:
    rows = parked(idle, 3_000)
    idle.beat.taps["after firings.settle"] = lambda: idle.run_for(0.9)
    began_at = idle.now
    sweeper_of(idle).sweep()
    assert idle.now - began_at < 4_000
    assert due(idle)
    assert 0 < idle.outbox.count() < len(rows)
    sweeper_of(idle).sweep()
    assert idle.outbox.count() == 0


@pytest.mark.parametrize("error", [StoreAway("SQL", "read-only"), ZeroDivisionError()])
def test_what_is_overdue_is_added_though_sql_takes_no_outcomes(idle: World, error: Exception) -> None:
    def refuse() -> None:
        raise error

    done, forgotten = stored(idle, -60, -60)
    idle.outbox.park([outcome_of(done.member)])
    idle.beat.taps["before firings.settle"] = refuse
    sweeper_of(idle).sweep()
    assert forgotten.timer_id in due(idle)
    assert idle.outbox.holds([done.member])


def test_a_flush_that_fails_in_an_unforeseen_way_does_not_end_the_sweep(idle: World) -> None:
    def stumble() -> None:
        raise ZeroDivisionError

    stored(idle, -60)
    idle.beat.taps["before outbox.page"] = stumble
    assert sweeper_of(idle).sweep() == 1
    assert due(idle) == {1}


def test_a_sweep_adds_only_what_is_overdue(idle: World) -> None:
    stored(idle, 1, 30)
    sweeper_of(idle).sweep()
    assert due(idle) == set()


@pytest.mark.parametrize("in_lanes", [False, True])
def test_a_statement_that_is_too_slow_stops_no_other_part_of_the_sweep(
    idle: World, monkeypatch: pytest.MonkeyPatch, in_lanes: bool
) -> None:
    in_slice, in_lane = stored(idle, -60, -50)
    idle.firings.note_lanes({SharedLane("app:shop"): [in_lane.member]})
    pending_between = idle.firings.pending_between

    def slow_for_one(*what: object, **how: object) -> list[Firing]:
        if how["in_lanes"] is in_lanes:
            raise StoreAway("SQL", "Query execution was interrupted (max_statement_time exceeded)")
        return pending_between(*what, **how)

    monkeypatch.setattr(idle.firings, "pending_between", slow_for_one)
    with pytest.raises(StoreAway, match="max_statement_time"):
        sweeper_of(idle).sweep()
    assert due(idle) == {in_slice.timer_id if in_lanes else in_lane.timer_id}


def test_what_changed_not_being_found_stops_no_repair(idle: World) -> None:
    def time_out() -> None:
        raise StoreAway("SQL", "too slow")

    stored(idle, -60)
    idle.beat.taps["before timers.changed_behind"] = time_out
    with pytest.raises(StoreAway, match="too slow"):
        sweeper_of(idle).sweep()
    assert due(idle) == {1}


def test_each_piece_is_done_and_the_first_error_is_raised_at_the_end() -> None:
    done: list[str] = []

    def fail() -> None:
        done.append("fail")
        raise StoreAway("SQL", "first")

    with pytest.raises(StoreAway, match="first"):
        do_in_turn(fail, lambda: done.append("second"), lambda: 1 // 0)
    assert done == ["fail", "second"]
