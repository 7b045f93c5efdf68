"""Many timers in one transaction, which bears repeating."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, select

from tests.store.definitions import NOTIFY, ONCE
from tests.store.members import outcome_of
from tests.store.plain_stores import plain_batches, plain_timers
from tests.store.test_timers import EVERY_MINUTE, NOW, ONE_BUCKET
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan, firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.schedules.schedule import Ending, Schedule
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import FiringStore, insert_missing
from wangtimer.store.sql.tables import timer_tags
from wangtimer.store.sql.timer_batches import Created, Draft, NameTaken, TimerBatches, draft
from wangtimer.store.sql.timers import TimerStore


@pytest.fixture
def batches(database: Database) -> TimerBatches:
    return plain_batches(database)


@pytest.fixture
def timers(database: Database) -> TimerStore:
    return plain_timers(database)


@pytest.fixture
def forgetful(database: Database, monkeypatch: pytest.MonkeyPatch) -> TimerBatches:
    """A store that applies each write, loses the answer and so repeats it."""
    write = database.write
    monkeypatch.setattr(database, "write", lambda work, *more: (write(work, *more), write(work, *more))[1])
    return plain_batches(database)


def many(*names: str, schedule: Schedule = EVERY_MINUTE) -> list[NewTimer]:
    return [NewTimer("shop", name, schedule, NOTIFY, tags=("t",)) for name in names]


def stored(batches: TimerBatches, new: list[NewTimer]) -> list[Timer | NameTaken]:
    """Store disabled timers."""
    return batches.create(
        "shop", [draft(one, batches.ids.next(NOW), NOW, NO_KEYS) for one in new], NOW, firings_of_plans
    ).timers


def created(batches: TimerBatches, *names: str, schedule: Schedule = EVERY_MINUTE) -> list[Timer]:
    made = stored(batches, many(*names, schedule=schedule))
    return [timer for timer in made if isinstance(timer, Timer)]


def firings_of_plans(plans: list[Plan]) -> list[Firing]:
    return firings_of(plans, {}, ONE_BUCKET)


def enabled_drafts(batches: TimerBatches, new: list[NewTimer]) -> list[Draft]:
    drafts = [draft(one, batches.ids.next(NOW), NOW, NO_KEYS) for one in new]
    return [one.enabled_by(plan(one.timer, NOW + 2 * MINUTE_MS, 1_000)) for one in drafts]


def create_enabled(batches: TimerBatches, new: list[NewTimer]) -> Created:
    return batches.create("shop", enabled_drafts(batches, new), NOW, firings_of_plans)


def planned(timers: list[Timer], minutes: int = 2) -> tuple[list[Plan], list[Firing]]:
    # As they are when they are enabled some time after they were read.
    plans = [plan(timer.planned_from(NOW + 1), NOW + minutes * MINUTE_MS, 1_000) for timer in timers]
    return plans, firings_of_plans(plans)


def test_timers_are_read_as_they_were_returned(batches: TimerBatches, timers: TimerStore) -> None:
    made = created(batches, "b", "a", "c")
    assert [timer.name for timer in made] == ["b", "a", "c"]
    assert [timers.get("shop", timer.id) for timer in made] == made


def test_a_batch_of_large_bodies_fits_into_what_the_server_takes(batches: TimerBatches) -> None:
    """A quote is written in four bytes: 8 MB of them would be 32, twice what MariaDB takes at once."""
    call = NOTIFY._replace(body='"' * 60_000)
    new = [NewTimer("shop", f"large-{i}", ONCE, call) for i in range(140)]
    made = stored(batches, new)
    assert [one.definition.notify for one in made if isinstance(one, Timer)] == [call] * 140


def test_a_name_in_use_or_given_twice_is_left_out(batches: TimerBatches, timers: TimerStore) -> None:
    taken = timers.create(NewTimer("shop", "b", ONCE, NOTIFY), NOW)
    made, *rest = stored(batches, many("a", "b", "a"))
    assert isinstance(made, Timer)
    assert (made.name, rest) == ("a", [NameTaken(taken.id), NameTaken(made.id)])


def test_a_create_whose_answer_was_lost_returns_what_it_made(
    forgetful: TimerBatches, timers: TimerStore
) -> None:
    assert [timer.name for timer in created(forgetful, "a", "b")] == ["a", "b"]
    assert len(timers.page("shop", 0, 9)) == 2


def test_timers_made_enabled_are_committed_with_their_firings(
    database: Database, batches: TimerBatches, timers: TimerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = NewTimer("shop", "counted", EVERY_MINUTE, NOTIFY, ending=Ending(most=3))
    taken = created(batches, "taken")
    steps: list[FailPoint | None] = []
    write = database.write

    def noted(work: Callable[[Connection], Any], step: FailPoint | None = None) -> Any:
        steps.append(step)
        return write(work, step)

    monkeypatch.setattr(database, "write", noted)
    made = create_enabled(batches, [*many("b", "a", "taken", "b"), counted])
    b, a, *refused, last = made.timers
    assert steps == [FailPoint.SQL_CREATE_MANY]
    assert refused == [NameTaken(taken[0].id), NameTaken(timers.id_of("shop", "b") or 0)]
    for timer in (a, b, last):
        assert isinstance(timer, Timer)
        assert timers.get("shop", timer.id) == timer
        assert (timer.definition.is_enabled, timer.definition.version) == (True, 1)
        assert len(FiringStore(database).records(timer.id, 9)) == 2
    assert len({one.timer_id for one in made.pending}) == 3
    assert FiringStore(database).records(taken[0].id, 9) == []


def test_timers_made_enabled_whose_answer_was_lost_are_made_once_and_wait(
    forgetful: TimerBatches, timers: TimerStore
) -> None:
    made = create_enabled(forgetful, many("a", "b"))
    assert made.timers == timers.page("shop", 0, 9)
    assert len(made.pending) == 4


def test_after_a_clash_of_ids_the_firings_are_those_of_the_new_ids(
    database: Database, batches: TimerBatches, timers: TimerStore
) -> None:
    other = created(batches, "other")[0]
    (of_a,) = enabled_drafts(batches, many("a"))
    made = batches.create("shop", [of_a.of_id(other.id, NO_KEYS)], NOW, firings_of_plans)
    (timer,) = made.timers
    assert isinstance(timer, Timer)
    assert timer.id != other.id
    assert timers.get("shop", timer.id) == timer
    assert {one.timer_id for one in made.pending} == {timer.id}
    assert FiringStore(database).records(other.id, 9) == []


def test_enabled_timers_are_read_as_they_were_returned(batches: TimerBatches, timers: TimerStore) -> None:
    made = created(batches, *(f"{i}" for i in range(450))) + created(batches, "once", schedule=ONCE)
    plans, firings = planned(made)
    enabled = batches.enable(plans, firings, NOW + 1)
    assert enabled.timers == [timers.get("shop", timer.id) for timer in made]
    assert {(timer.definition.version, timer.definition.is_enabled) for timer in enabled.timers} == {
        (2, True)
    }
    assert sorted(enabled.pending, key=lambda one: (one.fire_at, one.timer_id)) == firings


def test_one_that_was_changed_meanwhile_is_left_out_whole(
    database: Database, batches: TimerBatches, timers: TimerStore
) -> None:
    a, b, c = made = created(batches, "a", "b", "c")
    plans, firings = planned(made)
    timers.delete("shop", a.id, NOW)
    timers.enable("shop", b.id, NOW, lambda read: (plan(read, NOW, 1), []))
    enabled = batches.enable(plans, firings, NOW)
    assert [timer.id for timer in enabled.timers] == [c.id]
    assert {firing.timer_id for firing in enabled.pending} == {c.id}
    assert FiringStore(database).records(b.id, 9) == []


def test_one_whose_last_moment_has_its_outcome_stays_disabled(
    database: Database, batches: TimerBatches, timers: TimerStore
) -> None:
    done, other = made = created(batches, "done", "other", schedule=ONCE)
    plans, firings = planned(made)
    database.write(lambda sql: insert_missing(sql, [one for one in firings if one.timer_id == done.id]))
    FiringStore(database).settle([outcome_of(one.member) for one in firings if one.timer_id == done.id])
    enabled = batches.enable(plans, firings, NOW)
    assert (enabled.used_up, [timer.id for timer in enabled.timers]) == ({done.id}, [other.id])
    assert not timers.get("shop", done.id).definition.is_enabled


def test_enabling_again_after_a_lost_answer_returns_what_stands(
    forgetful: TimerBatches, timers: TimerStore
) -> None:
    plans, firings = planned(made := created(forgetful, "a", "b"))
    enabled = forgetful.enable(plans, firings, NOW)
    assert enabled.timers == [timers.get("shop", timer.id) for timer in made]
    assert {timer.definition.version for timer in enabled.timers} == {2}
    assert sorted(enabled.pending, key=lambda one: (one.fire_at, one.timer_id)) == firings


def test_one_at_another_version_than_was_read_is_left_as_it_is(
    batches: TimerBatches, timers: TimerStore
) -> None:
    changed, same = made = created(batches, "changed", "same")
    versions = {timer.id: timer.definition.version for timer in made}
    timers.enable("shop", changed.id, NOW, lambda read: (plan(read, NOW, 1), []))
    timers.disable("shop", changed.id, NOW)
    assert [timer.id for timer in batches.delete(list(versions), NOW, versions)] == [same.id]
    assert timers.get("shop", changed.id).name == "changed"


def test_disabled_and_deleted_timers_are_returned_as_they_stand(
    database: Database, batches: TimerBatches, timers: TimerStore
) -> None:
    a, b, c = made = created(batches, "a", "b", "c")
    batches.enable(*planned([a, b]), NOW)
    disabled = batches.disable([timer.id for timer in made], NOW + 1)
    assert disabled == [timers.get("shop", timer.id) for timer in (a, b)]
    deleted = batches.delete([b.id, c.id, 99], NOW + 2)
    assert [timer.id for timer in timers.page("shop", 0, 9)] == [a.id]
    assert timers.definitions({b.id, c.id}) == {timer.id: timer.definition.stored for timer in deleted}
    assert [row.timer_id for row in database.read(lambda sql: sql.execute(select(timer_tags)).all())] == [
        a.id
    ]


def test_one_of_which_something_came_due_unplanned_is_left_as_it_is(
    batches: TimerBatches, timers: TimerStore
) -> None:
    made = created(batches, "late", "fine")
    batches.enable(*planned(made[:1]), NOW)
    batches.enable(*planned(made[1:], minutes=90), NOW)
    ids, then = [timer.id for timer in made], NOW + 60 * MINUTE_MS
    assert [timer.name for timer in batches.disable(ids, then)] == ["fine"]
    assert [timer.name for timer in batches.delete(ids, then)] == ["fine"]
    assert timers.get("shop", ids[0]).definition.is_enabled


def test_a_delete_whose_answer_was_lost_returns_what_it_deleted(forgetful: TimerBatches) -> None:
    made = created(forgetful, "a", "b")
    assert [timer.name for timer in forgetful.delete([timer.id for timer in made], NOW)] == ["a", "b"]
