"""A disabled app: what its keys can no longer stop is stopped, also what they made at the last moment."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.keyed_world import KeyedWorld
from tests.api.world import present
from wangtimer.timers.app_stopper import KEYS_COUNT_MS, REQUESTS_END_MS

TIMER = {"schedule": {"every": "5s"}, "target": {"url": "http://target.example/"}}


@pytest.fixture
def keyed(database_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(database_url, redis_url, present())
    yield world
    world.close()


def ask(world: KeyedWorld, method: str, path: str, key: str, body: Any = None) -> Any:
    answer = world.ask(method, path, key, json=body)
    assert answer.status_code < 300, answer.text
    return json.loads(answer.text)


def disabled_at(world: KeyedWorld, timer_id: int) -> int:
    return world.wiring.timers.get("shop", timer_id).definition.disabled_at


def test_what_a_key_made_after_its_app_was_disabled_is_stopped_by_the_sweep(keyed: KeyedWorld) -> None:
    own, now = keyed.app_of("shop"), keyed.clock.now
    tried = ask(keyed, "POST", "/v1/timers", own, TIMER | {"enabled": False})["id"]
    # Another process disables the app; this one believes the key for some seconds.
    keyed.wiring.apps.change("shop", now, {}, is_disabled=True)
    late = ask(keyed, "POST", "/v1/timers", own, TIMER)["id"]
    asked = ask(keyed, "POST", f"/v1/timers/{tried}:fire", own)
    stopper = keyed.wiring.app_stopper
    keyed.clock.now = now + KEYS_COUNT_MS - 1
    stopper.sweep()
    assert keyed.wiring.timers.get("shop", late).definition.is_enabled
    keyed.clock.now = now + KEYS_COUNT_MS
    stopper.sweep()
    assert not keyed.wiring.timers.get("shop", late).definition.is_enabled
    assert keyed.wiring.timers.get("shop", tried).definition.has_stopped(now)
    assert asked["status"] == "pending"


def test_a_request_that_ended_late_is_stopped_too_and_then_the_app_is_left_alone(keyed: KeyedWorld) -> None:
    own, now = keyed.app_of("shop"), keyed.clock.now
    tried = ask(keyed, "POST", "/v1/timers", own, TIMER | {"enabled": False})["id"]
    other = ask(keyed, "POST", "/v1/timers", keyed.app_of("billing"), TIMER)["id"]
    keyed.wiring.apps.change("shop", now, {}, is_disabled=True)
    stopper, seen = keyed.wiring.app_stopper, []
    for after_ms in (KEYS_COUNT_MS, KEYS_COUNT_MS + 1, REQUESTS_END_MS, REQUESTS_END_MS + 1):
        keyed.clock.now = now + after_ms
        stopper.sweep()
        seen.append(disabled_at(keyed, tried) - now)
    assert seen == [KEYS_COUNT_MS, KEYS_COUNT_MS, REQUESTS_END_MS, REQUESTS_END_MS]
    assert keyed.wiring.timers.get("billing", other).definition.is_enabled
    # Enabled and disabled again, it is looked at again.
    keyed.wiring.apps.change("shop", keyed.clock.now, {}, is_disabled=False)
    keyed.wiring.apps.change("shop", keyed.clock.now, {}, is_disabled=True)
    keyed.clock.now += KEYS_COUNT_MS
    stopper.sweep()
    assert disabled_at(keyed, tried) == keyed.clock.now


def test_disabling_an_app_stops_what_was_asked_for_of_its_disabled_timers(
    keyed: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.app_stopper.PAGE", 2)
    own, operators = keyed.app_of("shop"), keyed.key(None)
    made = [ask(keyed, "POST", "/v1/timers", own, TIMER | {"enabled": False})["id"] for _ in range(5)]
    asked_at = keyed.clock.now
    ask(keyed, "POST", f"/v1/timers/{made[-1]}:fire", own)
    keyed.clock.now += 1
    assert ask(keyed, "PATCH", "/v1/apps/shop", operators, {"disabled": True})["enabledTimers"] == 0
    timers = [keyed.wiring.timers.get("shop", timer_id).definition for timer_id in made]
    assert all(one.has_stopped(asked_at, asked_at) for one in timers)
    assert not any(one.has_stopped(keyed.clock.now, keyed.clock.now) for one in timers)
