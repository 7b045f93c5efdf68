"""What an app may have and ask for: over HTTP, with keys."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.test import TestResponse

from benchmarks.redis_figures import CommandCounter
from tests.api.keyed_world import KeyedWorld
from tests.api.v1.test_firings import settled
from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import present
from wangtimer.api.v1.apps.app_routes import AppLimitsBody, ShownLimits
from wangtimer.client.app_types import AppLimits, ShownAppLimits
from wangtimer.core.apps.described_limits import DESCRIBED, AppLimit
from wangtimer.core.errors import StoreAway

TARGET = {"url": URL}
SECONDLY = {"cron": "* * * * * *"}


@pytest.fixture
def keyed(database_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(database_url, redis_url, present() // 60_000 * 60_000)
    yield world
    world.close()


def limited(world: KeyedWorld, **limits: int) -> str:
    """Make an app with limits; return a key of it."""
    key = world.app_of("shop")
    world.wiring.apps.change("shop", world.clock.now, limits)
    return key


def timers(world: KeyedWorld, key: str | None, **query: Any) -> TestResponse:
    return world.ask("GET", TIMERS, key, query_string=query)


def make(world: KeyedWorld, key: str, name: str, **fields: Any) -> TestResponse:
    body = {"key": name, "schedule": SECONDLY, "target": TARGET} | fields
    return world.ask("POST", TIMERS, key, json=body)


def problem(answer: TestResponse) -> tuple[int, str]:
    told = json.loads(answer.data)
    assert told["code"] // 100 == told["status"] == answer.status_code
    return told["code"], told["detail"]


def test_one_description_of_the_limits_serves_requests_answers_and_the_client() -> None:
    names = [limit.value for limit in AppLimit]
    assert list(DESCRIBED) == list(AppLimit)
    assert [one.alias for one in AppLimitsBody.model_fields.values()] == names
    shown = ShownLimits.model_json_schema(mode="serialization", by_alias=True)["properties"]
    assert list(shown) == names
    assert list(AppLimits.__annotations__) == list(ShownAppLimits.__annotations__) == names


def test_a_limit_is_set_shown_and_taken_out_again(keyed: KeyedWorld) -> None:
    operator = keyed.key(None)
    made = keyed.ask("POST", "/v1/apps", operator, json={"name": "shop", "limits": {"timers": 5}})
    assert made.json is not None
    assert made.json["limits"]["timers"] == 5
    patch = {"limits": {"timers": None, "requestsPerSecond": 7}}
    changed = keyed.ask("PATCH", "/v1/apps/shop", operator, json=patch).json
    assert changed is not None
    assert {name: value for name, value in changed["limits"].items() if value} == {"requestsPerSecond": 7}
    refused = keyed.ask("PATCH", "/v1/apps/shop", operator, json={"limits": {"timers": 0}})
    assert refused.status_code == 400


def test_over_its_requests_an_app_gets_429_and_when_to_ask_again(keyed: KeyedWorld) -> None:
    key = limited(keyed, requestsPerSecond=2, requestsAtOnce=3)
    answers = [timers(keyed, key) for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert [one.headers["RateLimit"] for one in answers] == [
        '"requests";r=2;t=2',
        '"requests";r=1;t=2',
        '"requests";r=0;t=2',
        '"requests";r=0;t=2',
    ]
    assert {one.headers["RateLimit-Policy"] for one in answers} == {'"requests";q=3;w=2'}
    assert answers[-1].headers["Retry-After"] == "2"
    code, text = problem(answers[-1])
    assert (code, "has sent 3 requests within 1.5 s" in text, text[-18:]) == (
        42901,
        True,
        "; repeat it in 2 s",
    )
    keyed.clock.now += 1_500
    assert timers(keyed, key).status_code == 200


def test_the_compatible_paths_count_in_the_same_quota(keyed: KeyedWorld) -> None:
    key = limited(keyed, requestsPerSecond=1, requestsAtOnce=1)
    assert keyed.ask("GET", "/api/timer/v1/defs", key).status_code == 200
    refused = keyed.ask("GET", "/api/timer/v1/defs", key)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.json is not None
    assert refused.json["code"] == 42901


def test_another_app_and_operators_are_not_in_its_way(keyed: KeyedWorld) -> None:
    key = limited(keyed, requestsPerSecond=1, requestsAtOnce=1)
    other, operator = keyed.app_of("bank"), keyed.key(None)
    assert [timers(keyed, key).status_code for _ in range(2)] == [200, 429]
    assert timers(keyed, other).status_code == 200
    answers = [timers(keyed, operator, app="shop") for _ in range(3)]
    assert all("RateLimit" not in one.headers for one in answers)


def test_while_redis_is_away_requests_go_on_uncounted(
    keyed: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = limited(keyed, requestsPerSecond=1, requestsAtOnce=1)

    def away(*_: Any) -> Any:
        raise StoreAway("Redis", "no answer")

    monkeypatch.setattr(keyed.wiring.redis, "command", away)
    answers = [timers(keyed, key) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 200]
    assert "RateLimit" not in answers[0].headers


def test_without_keys_no_request_is_counted(world: V1World, redis_url: str) -> None:
    world.get("/api/timer/v1/defs", app="shop")
    counter = CommandCounter(redis_url)
    world.get("/api/timer/v1/defs", app="shop")
    assert counter.stop() == 0


def test_a_timer_too_many_is_refused_with_the_figure(keyed: KeyedWorld) -> None:
    key = limited(keyed, timers=2)
    made = [make(keyed, key, name) for name in "abc"]
    assert [one.status_code for one in made] == [201, 201, 403]
    code, text = problem(made[-1])
    assert (code, "would have 3 timers, and may have 2" in text) == (40304, True)
    keyed.ask("DELETE", f"{TIMERS}/key:a", key)
    assert make(keyed, key, "c").status_code == 201


def test_a_batch_answers_item_by_item(keyed: KeyedWorld) -> None:
    key = limited(keyed, timers=2)
    body = {"timers": [{"key": name, "schedule": SECONDLY, "target": TARGET} for name in "abc"]}
    answer = keyed.ask("POST", f"{TIMERS}:batchCreate", key, json=body)
    assert answer.json is not None
    problems = [one["problem"] for one in answer.json["items"]]
    assert [one and one["code"] for one in problems] == [None, None, 40304]


def test_too_many_planned_firings_are_refused_at_enable_and_edit(keyed: KeyedWorld) -> None:
    key = limited(keyed, firingsPerSecond=2)
    assert make(keyed, key, "a").status_code == make(keyed, key, "b").status_code == 201
    code, text = problem(make(keyed, key, "c"))
    assert (code, "would plan 3 firings a second, and may plan 2" in text) == (40305, True)
    assert make(keyed, key, "c", schedule={"cron": "0 9 * * *"}, enabled=False).status_code == 201
    patched = keyed.ask("PATCH", f"{TIMERS}/key:c", key, json={"schedule": SECONDLY, "enabled": True})
    assert problem(patched)[0] == 40305
    enabled = keyed.ask("POST", f"{TIMERS}/key:c:enable", key)
    assert problem(enabled)[0] == 40305
    assert "2.00001 firings a second" in problem(enabled)[1]
    put = {"schedule": {"every": "2s"}, "target": TARGET}
    assert problem(keyed.ask("PUT", f"{TIMERS}/key:d", key, json=put))[0] == 40305
    assert make(keyed, key, "e", schedule={"delay": "1h"}).status_code == 201


def test_many_are_enabled_as_far_as_they_fit(keyed: KeyedWorld) -> None:
    key = limited(keyed, firingsPerSecond=2)
    for name in "abc":
        make(keyed, key, name, enabled=False)
    answer = keyed.ask("POST", f"{TIMERS}:batchEnable", key, json={"all": True}).json
    assert answer is not None
    assert answer["done"] == 2
    assert [one["problem"]["code"] for one in answer["failed"]] == [40305]


def test_calendars_take_no_more_bytes_than_they_may(keyed: KeyedWorld) -> None:
    key = limited(keyed, calendarBytes=150)
    days = {"days": ["2027-01-01", "2027-05-01"]}
    put = [keyed.ask("PUT", f"/v1/calendars/{name}", key, json=days) for name in ("a", "b", "b", "c", "d")]
    assert [one.status_code for one in put] == [200, 200, 200, 403, 403]
    code, text = problem(put[-1])
    assert (code, "bytes, and may take 150" in text) == (40306, True)
    # In its place, as large as it was.
    assert keyed.ask("PUT", "/v1/calendars/a", key, json=days).status_code == 200


@pytest.fixture
def native(database_url: str, redis_url: str) -> Iterator[V1World]:
    world = V1World(database_url, redis_url, present(), app_most_replays_per_h=3)
    world.wiring.database.create_tables()
    yield world
    world.close()


def test_replays_and_backfills_of_an_hour_are_bounded_and_what_is_left_is_told(native: V1World) -> None:
    timer_id, firing_id = settled(native)
    replayed = native.send("POST", "/v1/firings:replay", {"ids": [firing_id]}).json
    assert (replayed["replayed"], replayed["remaining"]) == (1, 0)
    until = native.clock.now - 100_000
    body = {"since": until - 5_000, "until": until}
    rule = "/v1/timers/{which}:backfill"
    first = native.send("POST", f"/v1/timers/{timer_id}:backfill", body, rule=rule).json
    assert (first["matched"], first["planned"], first["remaining"]) == (2, 2, 3)
    body["since"] = first["nextSince"]
    refused = native.send("POST", f"/v1/timers/{timer_id}:backfill", body, rule=rule)
    assert (refused.status, refused.json["code"]) == (429, 42902)
    assert 1 <= int(refused.headers["Retry-After"]) <= 3_600
    native.clock.now += 3_600_000
    last = native.send("POST", f"/v1/timers/{timer_id}:backfill", body, rule=rule).json
    assert (last["planned"], last["remaining"]) == (3, 0)


def test_what_has_its_record_takes_nothing_of_the_hour(native: V1World) -> None:
    timer_id, _ = settled(native)
    until = native.clock.now - 100_000
    body, rule = {"since": until - 2_000, "until": until}, "/v1/timers/{which}:backfill"
    planned = [
        native.send("POST", f"/v1/timers/{timer_id}:backfill", body, rule=rule).json["planned"]
        for _ in range(4)
    ]
    assert planned == [2, 0, 0, 0]
