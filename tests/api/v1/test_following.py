"""A calendar uploaded anew is followed by all timers that name it, however many, whatever dies between."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from tests.api.answered_controls import apply_controls
from tests.api.v1.world import ONE, TIMERS, URL, Answered, V1World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.reply_control import ControlKind, ReplyControl
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import Bounded, Schedule
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.planning import schedule_followers
from wangtimer.store import app_directory
from wangtimer.store.sql.calendar_followers import CalendarFollowers, Page
from wangtimer.store.sql.tables import app_totals, firings, timers
from wangtimer.store.sql.timer_rows import timer_of
from wangtimer.timers.registrar import Registrar

CALENDAR = "/v1/calendars/{name}"


def days(world: V1World, *after: int) -> list[str]:
    now = datetime.fromtimestamp(world.clock.now / 1_000, UTC).date()
    return [(now + timedelta(days=one)).isoformat() for one in after]


def put(world: V1World, name: str, *after: int, app: str = "shop") -> Answered:
    body = {"days": days(world, *after)}
    return world.send("PUT", f"/v1/calendars/{name}", body, rule=CALENDAR, app=app)


def upload(world: V1World, *after: int) -> dict[str, Any]:
    answered = put(world, "plant", *after)
    assert answered.status == 200
    found: dict[str, Any] = answered.json["following"]
    return found


def calendar(world: V1World) -> Any:
    return world.send("GET", "/v1/calendars/plant", rule=CALENDAR).json


def following(world: V1World) -> dict[str, Any]:
    found: dict[str, Any] = calendar(world)["following"]
    return found


def read(world: V1World, timer_id: int) -> dict[str, Any]:
    found: dict[str, Any] = world.send("GET", f"{TIMERS}/{timer_id}", rule=ONE).json
    return found


def made(world: V1World, key: str, cron: str, calendar: str | None = "plant", enabled: bool = True) -> int:
    schedule = {"cron": cron, "excludeCalendar": calendar}
    return int(world.made(key=key, schedule=schedule, enabled=enabled).json["id"])


def closed_days(world: V1World) -> dict[int, list[str]]:
    """Return the days that each timer leaves out, as its row has them."""
    rows = world.wiring.database.read(lambda sql: sql.execute(select(timers)).mappings().all())
    found = {}
    for row in rows:
        schedule = timer_of(row).definition.schedule
        assert isinstance(schedule, Bounded)
        assert schedule.excluded is not None
        found[int(row["id"])] = sorted(day.isoformat() for day in schedule.excluded.days)
    return found


def daily(world: V1World, number: int) -> list[int]:
    return [made(world, f"daily-{one}", f"{one % 60} 9 * * *") for one in range(number)]


def spoil(world: V1World, timer_id: int, **values: Any) -> None:
    change = update(timers).where(timers.c.id == timer_id).values(values)
    world.wiring.database.write(lambda sql: sql.execute(change))


def test_what_a_target_answered_counts_though_its_timer_followed_an_upload(world: V1World) -> None:
    upload(world)
    (timer,) = daily(world, 1)
    version = world.wiring.timers.versions({timer})[timer]
    upload(world, 1)
    world.wiring.calendar_follower.follow_all()
    assert world.wiring.timers.versions({timer}) == {timer: version + 1}
    apply_controls(world.wiring, {timer: ReplyControl(version, ControlKind.STOP).text})
    assert not world.wiring.timers.definitions({timer})[timer].is_enabled


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_followers, "PAGE", 4)


def test_enabled_and_disabled_timers_follow_and_redis_is_told(world: V1World, small_pages: None) -> None:
    upload(world)
    ids = daily(world, 10)
    off = made(world, "off", "0 9 * * *", enabled=False)
    other = made(world, "other", "0 9 * * *", None)
    assert upload(world, 1)["left"] == 11
    assert world.wiring.calendar_follower.follow_all() == 11
    assert following(world) == {"followers": 11, "left": 0, "refused": 0, "refusedIds": []}
    nexts = {one: read(world, one)["nextFireAt"][:10] for one in ids}
    assert set(nexts.values()).isdisjoint(days(world, 1))
    known = world.wiring.definitions.get([*ids, other]).definitions
    assert {known[one].schedule.excluded.name for one in ids} == {"plant"}  # type: ignore[union-attr]
    assert all(known[one].schedule.excluded.days for one in ids)  # type: ignore[union-attr]
    versions = [read(world, one)["version"] for one in (ids[0], off, other)]
    assert versions == [2, 2, 1]
    assert world.wiring.calendar_follower.follow_all() == 0


def limit_bytes(world: V1World, most: int) -> None:
    world.wiring.apps.change("shop", world.clock.now, {"timerBytes": most})


@pytest.fixture
def no_old_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_directory, "BELIEVED_FOR_S", 0)


def bytes_counted(world: V1World) -> list[int]:
    """Return how many bytes the app's timers count as: as moved, and as a count finds."""
    kept = select(func.sum(app_totals.c.bytes)).where(app_totals.c.app == "shop")
    found = []
    for _ in range(2):
        found.append(int(world.wiring.database.read(lambda sql: sql.execute(kept).scalar_one())))
        world.wiring.total_counts.count("shop", int(world.clock.now) + 1)
    return found


def test_a_calendar_grows_no_further_than_its_timers_have_bytes(world: V1World, no_old_limits: None) -> None:
    upload(world, 1)
    limit_bytes(world, 20_000)
    daily(world, 5)
    before = bytes_counted(world)[0]
    refused = put(world, "plant", *range(3_990))
    assert (refused.status, refused.json["code"]) == (403, 40304)
    assert "calls and excluded days together, and may take 20,000" in str(refused.json)
    assert following(world)["left"] == 0
    assert len(calendar(world)["days"]) == 1
    upload(world, *range(100))
    assert world.wiring.calendar_follower.follow_all() == 5
    moved, counted = bytes_counted(world)
    assert moved == counted == before + 5 * len(",738000") * 99
    # Those that shrink always fit.
    limit_bytes(world, 1_000)
    upload(world)
    assert world.wiring.calendar_follower.follow_all() == 5
    moved, counted = bytes_counted(world)
    assert moved == counted < before


def test_of_timers_whose_new_days_do_not_fit_any_more_as_many_follow_as_fit(
    world: V1World, no_old_limits: None
) -> None:
    upload(world, 1)
    daily(world, 5)
    limit_bytes(world, 2**40)
    upload(world, *range(501))
    stands, size = bytes_counted(world)[0], len(",738000") * 500
    limit_bytes(world, stands + 3 * size)
    assert world.wiring.calendar_follower.follow_all() == 3
    assert following(world)["refused"] == 2
    moved, counted = bytes_counted(world)
    assert moved == counted == stands + 3 * size
    assert world.wiring.calendar_follower.follow_all() == 0


def test_the_near_moments_of_the_new_days_are_planned_with_them(world: V1World) -> None:
    upload(world, 0)
    timer_id = made(world, "a", "*/20 * * * * *")
    own = select(firings).where(firings.c.timer_id == timer_id)
    assert not world.wiring.database.read(lambda sql: sql.execute(own).all())
    upload(world)
    world.wiring.calendar_follower.follow_all()
    planned = world.wiring.database.read(lambda sql: sql.execute(own).all())
    assert len(planned) == world.wiring.settings.near_s // 20


def test_a_transaction_ends_by_time_and_the_next_goes_on(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 timers whose next moment is dear to find held their rows, and on SQLite all there are, for 17 s."""
    upload(world)
    daily(world, 3)
    upload(world, 1)
    follow, sizes = CalendarFollowers.follow, []

    def noting(*given: Any) -> Page:
        page = follow(*given)
        sizes.append(len(page.changed))
        return page

    monkeypatch.setattr(CalendarFollowers, "follow", noting)
    monkeypatch.setattr(schedule_followers, "LONGEST_HELD_S", 0)
    assert world.wiring.calendar_follower.follow_all() == 3
    assert sizes[:3] == [1, 1, 1]
    assert following(world)["left"] == 0


def test_one_that_cannot_follow_is_skipped_and_reported_and_the_others_follow(
    world: V1World, small_pages: None
) -> None:
    upload(world)
    ids = daily(world, 10)
    spoil(world, ids[2], timezone="Mars/Phobos")
    spoil(world, ids[5], bounds='{"excluded":{"name":"plant"}}')
    upload(world, 1)
    assert world.wiring.calendar_follower.follow_all() == 8
    bad = sorted([ids[2], ids[5]])
    assert following(world) == {"followers": 10, "left": 0, "refused": 2, "refusedIds": bad}
    reasons = {one.timer_id: one.reason for one in world.wiring.bad_timers.latest(9)}
    assert set(reasons) == set(bad)
    assert "cannot follow calendar 'plant'" in reasons[ids[2]]
    assert world.wiring.calendar_follower.follow_all() == 0, "it is not tried for ever"
    spoil(world, ids[2], timezone="UTC")
    upload(world, 1)
    world.wiring.calendar_follower.follow_all()
    assert following(world)["refusedIds"] == [ids[5]]


def test_a_timer_that_somebody_holds_keeps_no_other_from_following_and_no_other_upload_from_being_followed(
    world: V1World, small_pages: None
) -> None:
    database = world.wiring.database
    if database.is_sqlite:
        pytest.skip("it has no rows that others hold")
    upload(world)
    ids = daily(world, 5)
    put(world, "other")
    made(world, "other", "0 9 * * *", "other")
    upload(world, 1)
    put(world, "other", 1)
    with database.engine.connect() as session, session.begin():
        session.execute(select(timers.c.id).where(timers.c.id == ids[1]).with_for_update()).one()
        assert world.wiring.calendar_follower.follow_all() == 5
        assert following(world)["left"] == 1
        (left,) = world.wiring.calendar_followers.uploads_to_follow(9)
        assert left.name == "plant"
    assert world.wiring.calendar_follower.follow_all() == 1
    assert following(world)["left"] == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_died_half_way_is_gone_on_with(
    world: V1World, monkeypatch: pytest.MonkeyPatch, small_pages: None, moment: str
) -> None:
    upload(world)
    ids = daily(world, 10)
    upload(world, 1)
    followers = type(world.wiring.calendar_followers)
    follow, calls = followers.follow, []

    def dying(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2 and moment == "before":
            raise StoreAway("SQL", "it died")
        done = follow(self, *arguments)
        if len(calls) == 2:
            raise StoreAway("SQL", "it died after the commit")
        return done

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(followers, "follow", dying)
        with pytest.raises(StoreAway):
            world.wiring.calendar_follower.follow_all()
    left = 6 if moment == "before" else 2
    assert following(world)["left"] == left
    world.broker.follows = 0
    world.wiring.calendar_follower.ask()
    assert world.broker.follows == 1, "each sweep looks for what is left"
    assert world.wiring.calendar_follower.follow_all() == left
    assert following(world)["left"] == 0
    assert set(map(tuple, closed_days(world).values())) == {tuple(days(world, 1))}
    assert len(ids) == 10


@pytest.mark.every_run
def test_two_at_once_follow_each_timer_once(world: V1World, small_pages: None) -> None:
    upload(world)
    ids = daily(world, 30)
    upload(world, 1)
    threads = [Thread(target=world.wiring.calendar_follower.follow_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert following(world)["left"] == 0
    assert {read(world, one)["version"] for one in ids} == {2}


def stale(world: V1World) -> Schedule:
    """Return a schedule as a request has it that read the calendar before it was uploaded anew."""
    return Bounded(Cron("0 9 * * *", "UTC"), excluded=Calendar("plant"))


@pytest.mark.parametrize("how", ["create", "create many", "edit"])
def test_a_timer_made_or_edited_with_days_read_before_the_upload_has_the_new_ones(
    world: V1World, how: str
) -> None:
    upload(world)
    timer_id = made(world, "a", "0 8 * * *", None, enabled=False)
    upload(world, 1)
    world.wiring.calendar_follower.follow_all()
    registrar: Registrar = world.wiring.registrar
    new = NewTimer("shop", "late", stale(world), Notify(URL))
    if how == "create":
        registrar.create(new)
    elif how == "create many":
        world.wiring.batches.create("shop", [new], enable=[False])
    else:
        registrar.edit("shop", timer_id, lambda one: _with(one, stale(world)))
    assert following(world)["left"] == 1
    assert world.wiring.calendar_follower.follow_all() == 1
    shown = [found for found in rows_of(world) if found]
    assert shown == [days(world, 1)]


def _with(timer: Any, schedule: Schedule) -> Any:
    return replace(timer, definition=timer.definition._replace(schedule=schedule))


def rows_of(world: V1World) -> list[list[str]]:
    rows = world.wiring.database.read(lambda sql: sql.execute(select(timers)).mappings().all())
    found = []
    for row in rows:
        schedule = timer_of(row).definition.schedule
        excluded = schedule.excluded if isinstance(schedule, Bounded) else None
        found.append([] if excluded is None else sorted(day.isoformat() for day in excluded.days))
    return found


def test_a_timer_made_after_the_upload_is_no_work(world: V1World) -> None:
    upload(world, 1)
    world.wiring.calendar_follower.follow_all()
    daily(world, 3)
    assert following(world) == {"followers": 3, "left": 0, "refused": 0, "refusedIds": []}
    assert world.wiring.calendar_followers.uploads_to_follow(9) == []


def test_what_came_due_unplanned_is_planned_by_the_days_it_had(world: V1World) -> None:
    upload(world)
    timer_id = made(world, "a", "* * * * *")
    world.clock.now += 10 * 60_000
    upload(world, 0)
    assert world.wiring.calendar_follower.follow_all() == 1
    own = select(firings.c.fire_at).where(firings.c.timer_id == timer_id)
    planned = world.wiring.database.read(lambda sql: list(sql.execute(own).scalars()))
    assert len([one for one in planned if one <= world.clock.now]) >= 10
    assert not [one for one in planned if one > world.clock.now]
    assert following(world)["left"] == 0


def test_a_calendar_whose_content_cannot_be_read_keeps_no_other_from_being_followed(world: V1World) -> None:
    upload(world)
    (timer_id,) = daily(world, 1)
    put(world, "broken", app="aaaa")
    spoilt = "UPDATE calendar SET content = '{\"name\":\"broken\"}' WHERE name = 'broken'"
    world.wiring.database.write(lambda sql: sql.execute(text(spoilt)))
    upload(world, 1)
    assert world.wiring.calendar_follower.follow_all() == 1
    assert closed_days(world) == {timer_id: days(world, 1)}


def test_two_uploads_within_one_millisecond_are_two(world: V1World) -> None:
    upload(world)
    (timer_id,) = daily(world, 1)
    upload(world, 1)
    world.wiring.calendar_follower.follow_all()
    upload(world, 2)
    assert following(world)["left"] == 1
    world.wiring.calendar_follower.follow_all()
    assert closed_days(world) == {timer_id: days(world, 2)}
