"""Timers whose target answered 410 are disabled by the migrate workers: only as they were called, and repeatably."""

from collections.abc import Sequence
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.api.answered_controls import apply_controls, stop_gone
from tests.api.v1.world import V1World
from wangtimer.core.errors import RowsLocked, StoreAway
from wangtimer.core.flow.reply_control import ControlKind, ReplyControl
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.timer import Timer
from wangtimer.features.controls.control_applier import MOST_AWAY
from wangtimer.store.sql.tables import timers
from wangtimer.store.sql.timer_batches import TimerBatches
from wangtimer.store.sql.timer_lists import TimerLists
from wangtimer.timers.registrar import Registrar

TIMERS = "/v1/timers"
ONE = "/v1/timers/{which}"


def made(world: V1World, key: str = "a") -> tuple[int, int]:
    """Make an enabled timer; return its id and its version."""
    body = {"key": key, "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    answered = world.send("POST", TIMERS, body)
    assert answered.status == 201
    return answered.json["id"], answered.json["version"]


def is_enabled(world: V1World, timer: int) -> bool:
    return world.send("GET", f"{TIMERS}/{timer}", rule=ONE).json["enabled"]


def test_a_timer_is_disabled_as_often_as_it_is_asked_for(small_world: V1World) -> None:
    (gone, version), (other, _) = made(small_world), made(small_world, "b")
    for _ in range(2):
        stop_gone(small_world.wiring, {gone: (version, 0)})
    assert [is_enabled(small_world, one) for one in (gone, other)] == [False, True]


def test_one_that_was_changed_or_enabled_since_is_left_alone(small_world: V1World) -> None:
    changed, version = made(small_world)
    target = {"target": {"url": "http://new.example/"}}
    assert small_world.send("PATCH", f"{TIMERS}/{changed}", target, rule=ONE).status == 200
    stop_gone(small_world.wiring, {changed: (version, 0)})
    assert is_enabled(small_world, changed)
    again, version = made(small_world, "b")
    for action in ("disable", "enable"):
        assert small_world.send("POST", f"{TIMERS}/{again}:{action}", rule=f"{ONE}:{action}").status == 200
    stop_gone(small_world.wiring, {again: (version, 0)})
    assert is_enabled(small_world, again)


def test_what_is_not_there_holds_up_nothing(small_world: V1World) -> None:
    deleted, of_deleted = made(small_world)
    assert small_world.send("DELETE", f"{TIMERS}/{deleted}", rule=ONE).status == 200
    gone, version = made(small_world, "b")
    stop_gone(small_world.wiring, {7_777_777: (1, 0), deleted: (of_deleted, 0), gone: (version, 0)})
    assert not is_enabled(small_world, gone)


def test_one_whose_named_target_was_changed_since_is_left_alone(small_world: V1World) -> None:
    place = {"rule": "/v1/targets/{name}"}
    target = small_world.send("PUT", "/v1/targets/orders", {"url": "http://t.example/"}, **place).json
    body = {"key": "a", "schedule": {"every": "5m"}, "target": {"name": "orders"}}
    timer = small_world.send("POST", TIMERS, body).json
    called = {timer["id"]: (timer["version"], target["version"])}
    patch = {"url": "http://new.example/"}
    changed = small_world.send("PATCH", "/v1/targets/orders", patch, **place).json
    stop_gone(small_world.wiring, called)
    assert is_enabled(small_world, timer["id"])
    stop_gone(small_world.wiring, {timer["id"]: (timer["version"], changed["version"])})
    assert not is_enabled(small_world, timer["id"])


def test_while_sql_is_away_it_says_so(small_world: V1World, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, version = made(small_world)

    def away(*_: object) -> None:
        raise StoreAway("SQL", "it does not answer")

    monkeypatch.setattr(TimerLists, "of_ids", away)
    with pytest.raises(StoreAway):
        stop_gone(small_world.wiring, {gone: (version, 0)})


def test_what_is_asked_for_while_others_are_disabled_is_disabled_by_the_same_thread(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, version), (second, of_second) = made(small_world), made(small_world, "b")
    of_ids, seen = TimerLists.of_ids, []

    def asked_meanwhile(lists: TimerLists, app: str, ids: Sequence[int]) -> Readable[int, Timer]:
        seen.append(list(ids))
        if len(seen) == 1:
            other = Thread(target=stop_gone, args=(small_world.wiring, {second: (of_second, 0)}))
            other.start()
            other.join(10)
            assert not other.is_alive(), "it waits for the first"
        return of_ids(lists, app, ids)

    monkeypatch.setattr(TimerLists, "of_ids", asked_meanwhile)
    stop_gone(small_world.wiring, {first: (version, 0)})
    assert seen == [[first], [second]]
    assert [is_enabled(small_world, one) for one in (first, second)] == [False, False]


def test_where_sql_lets_none_be_disabled_all_are_asked_for_again(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, version), (second, of_second) = made(small_world), made(small_world, "b")

    def locked(*_: object, **__: object) -> None:
        raise RowsLocked("Lock wait timeout exceeded")

    with monkeypatch.context() as patch:
        patch.setattr(TimerBatches, "disable", locked)
        with pytest.raises(StoreAway):
            stop_gone(small_world.wiring, {first: (version, 0), second: (of_second, 0)})
    assert is_enabled(small_world, first)
    small_world.wiring.control_applier.sweep()
    assert [is_enabled(small_world, one) for one in (first, second)] == [False, False]


def test_gone_timers_that_cannot_be_disabled_now_hold_up_no_other_control(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their ids."""
    paced, of_paced = made(small_world)
    gone = [made(small_world, f"gone-{number}") for number in range(MOST_AWAY + 1)]
    controls = {one: ReplyControl(version, ControlKind.GONE).text for one, version in gone}
    controls[paced] = ReplyControl(of_paced, ControlKind.STOP).text

    def locked(*_: object, **__: object) -> None:
        raise RowsLocked("Lock wait timeout exceeded")

    monkeypatch.setattr(TimerBatches, "disable", locked)
    with pytest.raises(StoreAway):
        apply_controls(small_world.wiring, controls)
    assert not is_enabled(small_world, paced)


def test_a_gone_timer_that_cannot_be_read_is_disabled_too(small_world: V1World) -> None:
    gone, version = made(small_world)
    unreadable = update(timers).where(timers.c.id == gone).values(notify="{")
    small_world.wiring.database.write(lambda sql: sql.execute(unreadable))
    stop_gone(small_world.wiring, {gone: (version, 0)})
    status = select(timers.c.status).where(timers.c.id == gone)
    assert small_world.wiring.database.read(lambda sql: sql.execute(status).scalar_one()) == "disabled"


def test_a_gone_timer_does_not_wait_for_the_controls_of_others(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many they are, and whatever their ids."""
    monkeypatch.setattr("wangtimer.features.controls.control_applier.PAGE", 2)
    paced = [made(small_world, f"paced-{number}") for number in range(5)]
    gone, version = made(small_world)
    controls = {one: ReplyControl(of_one, ControlKind.STOP).text for one, of_one in paced}
    controls[gone] = ReplyControl(version, ControlKind.GONE).text
    changed: list[int] = []
    disable, disable_all = Registrar.disable, TimerBatches.disable

    def note(registrar: Registrar, app: str, timer_id: int, *more: Any) -> Timer:
        changed.append(timer_id)
        return disable(registrar, app, timer_id, *more)

    def note_all(batches: TimerBatches, ids: Sequence[int], *more: Any) -> list[Timer]:
        changed.extend(ids)
        return disable_all(batches, ids, *more)

    monkeypatch.setattr(Registrar, "disable", note)
    monkeypatch.setattr(TimerBatches, "disable", note_all)
    apply_controls(small_world.wiring, controls)
    # A page of the others may come first.
    assert gone in changed[:3]
    assert sorted(changed) == sorted(controls)
