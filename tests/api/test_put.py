"""PUT: the timer of this name is what the body says; the same body again changes nothing."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any

import pytest

from tests.api.world import DEF, ENABLE, RECORDS, URL, World, definition
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.timers import TimerStore

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
NEWCOMERS = 4


def put(world: World, **fields: Any) -> Any:
    return world.put(DEF, **definition(**fields))


def kept(world: World, timer_id: int) -> Timer:
    return world.wiring.timers.get("shop", timer_id)


def test_a_timer_that_is_not_there_is_created_disabled(world: World) -> None:
    answered = put(world)
    assert (answered.status, answered.json["created"], answered.data["statusName"]) == (200, True, "disabled")
    assert answered.json["id"] == answered.data["id"]
    assert world.get(DEF, app="shop", id=answered.json["id"]).data["name"] == "expire"


EVERYTHING = {
    "cron": "*/5 * * * *",
    "timezone": "Asia/Shanghai",
    "startAt": "2190-01-01T00:00:00Z",
    "endAt": "2195-01-01T00:00:00Z",
    "maxFirings": 7,
    "jitterMs": 5_000,
    "excludeCalendar": "weekends",
    "misfire": "skip",
    "misfireGraceMs": 5_000,
    "catchupWindowMs": HOUR,
    "tags": ["a", "b"],
    "notifyHTTPParam": {"url": URL, "method": "PUT", "header": {"A": ["1", "2"]}, "body": "x"},
}
COUNTED = {"cron": "* * * * * *", "maxFirings": 70, "jitterMs": 300}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(EVERYTHING, id="everything"),
        pytest.param(COUNTED, id="so many firings, counted since it was enabled"),
        pytest.param({"cron": "0 0 9 ? * 2", "cronDialect": "quartz"}, id="a cron of another dialect"),
        pytest.param({"cron": None, "everyMs": 90_000}, id="an interval counted from now"),
        pytest.param(
            {"cron": None, "everyMs": 90_000, "timezone": "Asia/Shanghai"}, id="an interval in a zone"
        ),
        pytest.param({"cron": None, "at": "2190-01-01T00:00:00Z"}, id="a moment"),
    ],
)
def test_the_same_body_again_changes_nothing(world: World, fields: dict[str, Any]) -> None:
    timer_id = put(world, **fields).json["id"]
    world.post("/api/timer/v1/enable", app="shop", id=timer_id)
    before, rows = kept(world, timer_id), world.stored()
    world.clock.now += 5 * SECOND
    again = put(world, **fields)
    assert (again.status, again.json["created"], again.json["id"]) == (200, False, timer_id)
    assert (kept(world, timer_id), world.stored()) == (before, rows)


def test_a_dialect_goes_round_and_is_unix_where_none_is_given(world: World) -> None:
    cron = "0 0 9 ? * 2"
    timer_id = put(world, cron=cron, cronDialect="quartz").json["id"]
    read = world.get(DEF, app="shop", id=timer_id).data
    assert (read["cron"], read["cronDialect"]) == (cron, "quartz")
    back = put(world, **{name: read[name] for name in ("cron", "cronDialect", "timezone", "notifyHTTPParam")})
    assert (back.json["created"], back.data["version"], back.data["cronDialect"]) == (False, 1, "quartz")
    assert back.data["words"]["en"] == "at 09:00 on Mondays (UTC)"
    without = put(world, cron=cron)
    assert (without.data["version"], without.data["cronDialect"]) == (2, "unix")
    assert without.data["words"]["en"] == "at 09:00 on Tuesdays (UTC)"


def test_the_same_body_is_taken_when_its_moments_are_past(world: World) -> None:
    for fields in (
        {"cron": "* * * * * *", "endAt": world.clock.now + MINUTE},
        {"at": world.clock.now + MINUTE},
    ):
        name = "-".join(fields)
        put(world, name=name, **fields)
        world.clock.now += HOUR
        assert put(world, name=name, **fields).data["version"] == 1
        world.clock.now -= HOUR


def test_what_is_absent_becomes_its_default(world: World) -> None:
    timer_id = put(world, **EVERYTHING).json["id"]
    plain = put(world, cron="0 9 * * *")
    assert (plain.json["created"], plain.json["id"], plain.data["version"]) == (False, timer_id, 2)
    fresh = put(world, name="fresh", cron="0 9 * * *")
    own = {"id", "name", "version", "createdAt", "updatedAt"}
    assert {k: v for k, v in plain.data.items() if k not in own} == {
        k: v for k, v in fresh.data.items() if k not in own
    }


def test_an_enabled_timer_stays_enabled_and_its_new_moments_are_planned_at_once(world: World) -> None:
    world.enabled(cron="0 0 1 1 *")
    replaced = put(world, cron="* * * * * *")
    assert replaced.data["statusName"] == "enabled"
    assert world.broker.moments == [world.clock.now + SECOND]


def test_a_put_jitter_is_the_timer_s_own_as_a_created_one_is(world: World) -> None:
    timer_id = world.enabled(cron="0 0 1 1 *")
    put(world, cron="* * * * *", jitterMs=30_000)
    schedule = kept(world, timer_id).definition.schedule
    planned = world.wiring.firings.records(timer_id, 9)
    assert sorted(one.firing.fire_at for one in planned) == schedule.moments(
        world.clock.now, world.clock.now + MINUTE, 9
    )


def test_a_delay_counts_from_each_request(world: World) -> None:
    first = put(world, delayMs=HOUR)
    world.clock.now += SECOND
    again = put(world, delayMs=HOUR)
    assert (again.data["atMs"], again.data["version"]) == (first.data["atMs"] + SECOND, 2)


def test_another_interval_counts_from_now(world: World) -> None:
    put(world, cron=None, everyMs=90_000)
    world.clock.now += SECOND
    other = put(world, cron=None, everyMs=60_000)
    assert other.data["nextMoments"][0]["atMs"] == world.clock.now + MINUTE


def test_a_version_it_is_not_at_is_refused(world: World) -> None:
    absent = put(world, version=1)
    assert (absent.status, absent.code, absent.json["field"]) == (409, 40903, "version")
    put(world)
    assert put(world, version=1, cron="0 9 * * *").data["version"] == 2
    late = put(world, version=1, cron="0 8 * * *")
    assert (late.status, late.code, late.json["field"]) == (409, 40903, "version")


@pytest.mark.parametrize("is_there", [False, True])
def test_a_bad_body_changes_nothing(world: World, is_there: bool) -> None:
    if is_there:
        put(world)
    for fields, field in (
        ({"cron": "nonsense"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"delayMs": 5, "cron": "* * * * *"}, "cron"),
        ({"endAt": 1_700_000_000_000}, "endAt"),
        ({"at": 1_700_000_000_000}, "at"),
        ({"excludeCalendar": "nowhere"}, "excludeCalendar"),
        ({"id": 1}, "id"),
    ):
        refused = put(world, **fields)
        assert (refused.status, refused.json["field"]) == (400, field)
    assert world.stored() == (int(is_there), 0)


def test_one_of_several_at_once_creates_and_the_others_edit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have looked for the name before the first of them creates it."""
    together = Barrier(NEWCOMERS, timeout=10)
    create = world.wiring.timers.create

    def create_together(*given: Any) -> Timer:
        together.wait()
        return create(*given)

    monkeypatch.setattr(world.wiring.timers, "create", create_together)
    crons = [f"{minute} * * * *" for minute in range(NEWCOMERS)]
    with ThreadPoolExecutor(NEWCOMERS) as pool:
        answers = list(
            pool.map(lambda cron: world.app.test_client().put(DEF, json=definition(cron=cron)).json, crons)
        )
    assert sorted(answer["created"] for answer in answers) == [False] * (NEWCOMERS - 1) + [True]
    assert {answer["id"] for answer in answers} == {answers[0]["id"]}
    assert max(answer["data"]["version"] for answer in answers) == NEWCOMERS


@pytest.mark.parametrize("fields", [{"cron": "* * * * *"}, COUNTED])
def test_the_same_body_again_leaves_a_cancelled_firing_cancelled(
    world: World, fields: dict[str, Any]
) -> None:
    timer_id = put(world, **fields).json["id"]
    world.post(ENABLE, app="shop", id=timer_id)
    moment = world.get(RECORDS, app="shop", id=timer_id, pending="true").data[0]["fireAtMs"]
    assert world.cancel(timer_id, moment)["status"] == "skipped"
    before = kept(world, timer_id)
    assert put(world, **fields).json["created"] is False
    assert kept(world, timer_id) == before
    assert before.definition.has_cancelled(moment)


def test_a_put_that_gives_up_says_whose_the_name_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look before the create finds nothing, as if somebody deleted the timer and made it again each time."""
    timer_id = world.made(name="expire")
    looks = count()
    found = TimerStore.id_of

    def blind_at_first(store: TimerStore, app: str, name: str) -> int | None:
        return None if next(looks) % 2 == 0 else found(store, app, name)

    monkeypatch.setattr(TimerStore, "id_of", blind_at_first)
    refused = put(world, name="expire")
    assert (refused.status, refused.code, refused.data) == (409, 40901, {"existingId": timer_id})
