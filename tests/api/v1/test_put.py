"""PUT: the timer of this key is what the body says; the same body again changes nothing."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any

import pytest

from tests.api.v1.world import ONE, URL, Answered, V1World
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.timers import TimerStore

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
NEWCOMERS = 4
EACH_SECOND = {"cron": "* * * * * *"}


def put(world: V1World, schedule: Any = None, key: str = "expire", **fields: Any) -> Answered:
    body = {"schedule": schedule or EACH_SECOND, "target": {"url": URL}} | fields
    return world.send("PUT", f"/v1/timers/key:{key}", body, rule=ONE)


def kept(world: V1World, timer_id: int) -> Timer:
    return world.wiring.timers.get("shop", timer_id)


EVERYTHING: dict[str, Any] = {
    "schedule": {
        "cron": "*/5 * * * *",
        "timezone": "Asia/Shanghai",
        "startAt": "2190-01-01T00:00:00Z",
        "endAt": "2195-01-01T00:00:00Z",
        "maxFirings": 7,
        "jitter": "5s",
        "excludeCalendar": "weekends",
    },
    "misfire": {"policy": "skip", "grace": "5s", "catchupWindow": "1h"},
    "tags": ["a", "b"],
    "target": {"url": URL, "method": "PUT", "headers": {"A": ["1", "2"]}, "body": "x"},
}
COUNTED = {"schedule": {"cron": "* * * * * *", "maxFirings": 70, "jitter": "300ms"}}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(EVERYTHING, id="everything"),
        pytest.param(COUNTED, id="so many firings, counted since it was enabled"),
        pytest.param(
            {"schedule": {"cron": "0 0 9 ? * 2", "dialect": "quartz"}}, id="a cron of another dialect"
        ),
        pytest.param({"schedule": {"every": "90s"}}, id="an interval counted from now"),
        pytest.param({"schedule": {"every": "90s", "timezone": "Asia/Shanghai"}}, id="an interval in a zone"),
        pytest.param({"schedule": {"at": "2190-01-01T00:00:00Z"}}, id="a moment"),
    ],
)
def test_the_same_body_again_changes_nothing(world: V1World, fields: dict[str, Any]) -> None:
    first = put(world, **fields)
    timer_id = first.json["id"]
    before, rows = kept(world, timer_id), world.stored()
    world.clock.now += 5 * SECOND
    again = put(world, **fields)
    assert (first.status, again.status, again.json["id"]) == (201, 200, timer_id)
    assert (kept(world, timer_id), world.stored()) == (before, rows)


def test_a_dialect_goes_round_and_is_unix_where_none_is_given(world: V1World) -> None:
    cron = "0 0 9 ? * 2"
    put(world, {"cron": cron, "dialect": "quartz"})
    read = world.send("GET", "/v1/timers/key:expire", rule=ONE).json
    assert (read["schedule"]["cron"], read["schedule"]["dialect"]) == (cron, "quartz")
    back = put(world, read["schedule"], target=read["target"]).json
    assert (back["version"], back["schedule"]["dialect"]) == (1, "quartz")
    assert back["preview"]["words"]["en"] == "at 09:00 on Mondays (UTC)"
    without = put(world, {"cron": cron}).json
    assert (without["version"], without["schedule"]["dialect"]) == (2, "unix")
    assert without["preview"]["words"]["en"] == "at 09:00 on Tuesdays (UTC)"


def test_the_same_body_is_taken_when_its_moments_are_past(world: V1World) -> None:
    for schedule in (
        {"cron": "* * * * * *", "endAt": world.clock.now + MINUTE},
        {"at": world.clock.now + MINUTE},
    ):
        key = "-".join(schedule)
        put(world, schedule, key)
        world.clock.now += HOUR
        assert put(world, schedule, key).json["version"] == 1
        world.clock.now -= HOUR


def test_what_is_absent_becomes_its_default(world: V1World) -> None:
    timer_id = put(world, **EVERYTHING).json["id"]
    plain = put(world, {"cron": "0 9 * * *"}).json
    assert (plain["id"], plain["version"]) == (timer_id, 2)
    fresh = put(world, {"cron": "0 9 * * *"}, "fresh").json
    own = {"id", "key", "version", "createdAt", "updatedAt"}
    assert {k: v for k, v in plain.items() if k not in own} == {
        k: v for k, v in fresh.items() if k not in own
    }


def test_an_enabled_timer_stays_enabled_and_its_new_moments_are_planned_at_once(world: V1World) -> None:
    world.made(schedule={"cron": "0 0 1 1 *"})
    replaced = put(world)
    assert replaced.json["status"] == "enabled"
    assert world.broker.moments == [world.clock.now + SECOND]


def test_a_put_jitter_is_the_timer_s_own_as_a_created_one_is(world: V1World) -> None:
    timer_id = world.made(schedule={"cron": "0 0 1 1 *"}).json["id"]
    put(world, {"cron": "* * * * *", "jitter": "30s"})
    schedule = kept(world, timer_id).definition.schedule
    planned = world.wiring.firings.records(timer_id, 9)
    assert sorted(one.firing.fire_at for one in planned) == schedule.moments(
        world.clock.now, world.clock.now + MINUTE, 9
    )


def test_a_delay_counts_from_each_request(world: V1World) -> None:
    for version in (1, 2):
        made = put(world, {"delay": "1h"}).json
        assert (made["schedule"]["at"], made["version"]) == (show_moment(world.clock.now + HOUR), version)
        world.clock.now += SECOND


def test_another_interval_counts_from_now(world: V1World) -> None:
    put(world, {"every": "90s"})
    world.clock.now += SECOND
    other = put(world, {"every": "1m"})
    assert other.json["nextFireAt"] == show_moment(world.clock.now + MINUTE)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_bad_body_changes_nothing(world: V1World, is_there: bool) -> None:
    if is_there:
        put(world, {"delay": "1h"})
    for schedule, pointer in (
        ({"cron": "nonsense"}, "/schedule/cron"),
        ({"cron": "0 0 30 2 *"}, "/schedule/cron"),
        ({"delay": "5s", "cron": "* * * * *"}, "/schedule"),
        ({"cron": "* * * * *", "endAt": 1_700_000_000_000}, "/schedule/endAt"),
        ({"at": 1_700_000_000_000}, "/schedule/at"),
        ({"cron": "* * * * *", "excludeCalendar": "nowhere"}, "/schedule/excludeCalendar"),
    ):
        refused = put(world, schedule)
        assert (refused.status, refused.json["pointer"]) == (400, pointer)
    refused = put(world, id=1)
    assert (refused.status, refused.json["pointer"]) == (400, "/id")
    assert world.stored() == (int(is_there), 0)


def test_one_of_several_at_once_creates_and_the_others_edit(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have looked for the key before the first of them creates it."""
    together = Barrier(NEWCOMERS, timeout=10)
    create = world.wiring.timers.create

    def create_together(*given: Any, **more: Any) -> Timer:
        together.wait()
        return create(*given, **more)

    def send(cron: str) -> Any:
        body = {"schedule": {"cron": cron}, "target": {"url": URL}, "enabled": False}
        headers = {"WangTimer-App": "shop"}
        answer = world.app.test_client().put("/v1/timers/key:expire", json=body, headers=headers)
        return answer.status_code, answer.json

    monkeypatch.setattr(world.wiring.timers, "create", create_together)
    with ThreadPoolExecutor(NEWCOMERS) as pool:
        answers = list(pool.map(send, [f"{minute} * * * *" for minute in range(NEWCOMERS)]))
    assert sorted(status for status, _ in answers) == [200] * (NEWCOMERS - 1) + [201]
    assert {answer["id"] for _, answer in answers} == {answers[0][1]["id"]}
    assert max(answer["version"] for _, answer in answers) == NEWCOMERS


@pytest.mark.parametrize("fields", [{"schedule": {"cron": "* * * * *"}}, COUNTED])
def test_the_same_body_again_leaves_a_cancelled_firing_cancelled(
    world: V1World, fields: dict[str, Any]
) -> None:
    timer_id = put(world, **fields).json["id"]
    moment = max(one.firing.fire_at for one in world.wiring.firings.records(timer_id, 99))
    firing = "/v1/firings/{firing_id}:cancel"
    assert world.send("POST", firing.format(firing_id=f"{timer_id}-{moment}"), rule=firing).status == 200
    before = kept(world, timer_id)
    assert put(world, **fields).status == 200
    assert kept(world, timer_id) == before
    assert before.definition.has_cancelled(moment)


def test_a_put_that_gives_up_says_whose_the_key_is(world: V1World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look before the create finds nothing, as if somebody deleted the timer and made it again each time."""
    timer_id = world.made().json["id"]
    looks = count()
    found = TimerStore.id_of

    def blind_at_first(store: TimerStore, app: str, name: str) -> int | None:
        return None if next(looks) % 2 == 0 else found(store, app, name)

    monkeypatch.setattr(TimerStore, "id_of", blind_at_first)
    refused = put(world)
    assert (refused.status, refused.json["code"], refused.json["existingId"]) == (409, 40901, timer_id)
