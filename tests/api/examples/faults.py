"""One error of each code, as v1 and the compatible paths tell it."""

import json
from typing import Any

from tests.api.world import DEF, ENABLE, World
from wangtimer.core.errors import StoreAway

TIMERS = "/v1/timers"
V1 = {"WangTimer-App": "shop"}
TARGET = {"url": "http://localhost:8080/expire"}
EVERY, CALL = {"schedule": {"every": "5m"}, "target": TARGET}, {"everyMs": 300_000, "notifyHTTPParam": TARGET}


def problems(world: World) -> dict[str, Any]:
    """Return an error of v1 by each code that v1 has."""
    world.client.post(TIMERS, headers=V1, json=EVERY | {"key": "taken"})
    once = {"schedule": {"at": "2020-01-01T00:00:00Z"}, "target": TARGET}
    callback = V1 | {"webhook-id": "1-2", "X-WangTimer-Timer": "1"}
    world.client.post(TIMERS, headers=V1 | {"Idempotency-Key": "k"}, json=EVERY | {"key": "kept"})
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", TIMERS, {"data": b"{'key': 1}", "content_type": "application/json"}),
        ("POST", TIMERS, {"json": []}),
        ("POST", TIMERS, {"data": b'{"key":"a","key":"b"}', "content_type": "application/json"}),
        ("POST", TIMERS, {"json": EVERY | {"retentonDays": 3}}),
        ("POST", TIMERS, {"json": {"schedule": {"every": "5m"}}}),
        ("POST", TIMERS, {"json": EVERY | {"enabled": "yes"}}),
        ("POST", TIMERS, {"json": EVERY | {"retentionDays": 0}}),
        ("POST", TIMERS, {"json": EVERY | {"schedule": {"cron": "0 25 * * *"}}}),
        ("POST", TIMERS, {"json": EVERY | {"target": TARGET | {"headers": {"Host": "x"}}}}),
        ("GET", f"{TIMERS}?cursor=abc", {}),
        ("GET", TIMERS, {"headers": V1 | {"Host": "evil.example"}}),
        ("POST", "/v1/schedules:preview", {"json": _heavy()}),
        ("POST", TIMERS, {"json": EVERY, "headers": callback}),
        ("GET", f"{TIMERS}/key:order-43", {}),
        ("GET", "/v1/timer", {}),
        ("GET", "/v1/calendars/plant", {}),
        ("DELETE", "/v1/pauses/all", {"headers": {}}),
        ("POST", f"{TIMERS}/key:taken:nothing", {}),
        ("DELETE", TIMERS, {}),
        ("POST", TIMERS, {"json": EVERY | {"key": "taken"}}),
        ("POST", TIMERS, {"json": once}),
        ("PATCH", f"{TIMERS}/key:taken", {"json": {"tags": ["a"]}, "headers": V1 | {"If-Match": '"7"'}}),
        ("POST", TIMERS, {"json": EVERY | {"key": "x" * 70_000}}),
        ("POST", TIMERS, {"data": "key=1", "content_type": "application/x-www-form-urlencoded"}),
        ("POST", TIMERS, {"json": EVERY, "headers": V1 | {"Idempotency-Key": "k"}}),
    ]
    found = [_sent(world, method, path, {"headers": V1} | options) for method, path, options in asked]
    taken = next(one for one in found if one.get("existingId"))["existingId"]
    found.append(_sent(world, "GET", f"/v1/firings/{taken}-1000", {"headers": V1}))
    found.append(_sent(world, "POST", f"{TIMERS}/key:taken:backfill", {"headers": V1, "json": {}}))
    return _by_code([*found, *_states(world), *_outages(world, TIMERS, {"headers": V1})])


def errors(world: World) -> dict[str, Any]:
    """Return an error of the compatible paths by each code that they have."""
    post = world.client.post
    timer_id = post(DEF, json=CALL | {"app": "shop", "name": "expire"}).json["id"]  # type: ignore[index]
    post(DEF, json=CALL | {"app": "shop", "name": "repeated"}, headers={"Idempotency-Key": "o"})
    one = {"app": "shop", "id": timer_id}
    callback = {"webhook-id": "1-2", "X-WangTimer-Timer": "1"}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", DEF, {"data": b"{'app': 1}", "content_type": "application/json"}),
        ("POST", DEF, {"json": []}),
        ("POST", DEF, {"data": b'{"app":"a","app":"b"}', "content_type": "application/json"}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "a", "retentonDays": 3}}),
        ("POST", DEF, {"json": CALL | {"app": "shop"}}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": 7}}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "a", "retentionDays": 0}}),
        (
            "POST",
            DEF,
            {"json": {"app": "shop", "name": "a", "cron": "0 25 * * *", "notifyHTTPParam": TARGET}},
        ),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "a", "notifyHTTPParam": {"url": "ftp://a"}}}),
        ("GET", "/api/timer/v1/defs?app=shop&cursor=abc", {}),
        ("GET", "/healthz", {"headers": {"Host": "evil.example"}}),
        ("POST", DEF, {"json": _heavy()}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "a"}, "headers": callback}),
        ("GET", f"{DEF}?app=shop&id=7", {}),
        ("GET", "/api/timer/v2", {}),
        ("GET", f"/api/task/v1/firing?app=shop&id={timer_id}&fireAt={world.clock.now}", {}),
        ("PUT", ENABLE, {}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "expire"}}),
        ("PATCH", DEF, {"json": one | {"version": 7, "tags": ["a"]}}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "x" * 70_000}}),
        ("POST", DEF, {"data": "app=shop", "content_type": "application/x-www-form-urlencoded"}),
        ("POST", DEF, {"json": CALL | {"app": "shop", "name": "b"}, "headers": {"Idempotency-Key": "o"}}),
        ("PATCH", DEF, {"json": one | {"everyMs": None, "at": world.clock.now + 1_000}}),
    ]
    found = [_sent(world, *request) for request in asked]
    world.clock.now += 120_000
    found.append(_sent(world, "POST", ENABLE, {"json": one}))
    found += _outages(world, f"{DEF}?app=shop&id={timer_id}", {})
    found += [_refused_export(world), _unready(world)]
    return _by_code(found)


def _states(world: World) -> list[dict[str, Any]]:
    """Enable a timer whose one moment is long past."""
    past = {"schedule": {"at": world.clock.now + 1_000}, "target": TARGET, "key": "past", "enabled": False}
    _sent(world, "POST", TIMERS, {"headers": V1, "json": past})
    world.clock.now += 120_000
    return [_sent(world, "POST", f"{TIMERS}/key:past:enable", {"headers": V1})]


def _outages(world: World, path: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask while the clock of Redis is away, and while a part of the service is broken."""
    world.clock.is_away = True
    away = _sent(world, "POST" if "json" in options else "GET", path, options)
    world.clock.is_away = False
    kept = vars(world.wiring)
    timers = world.wiring.timers
    kept["timers"] = None
    broken = _sent(world, "GET", path.replace(TIMERS, f"{TIMERS}/7"), options)
    kept["timers"] = timers
    return [away, broken]


def _refused_export(world: World) -> dict[str, Any]:
    """Return what the first export is told for which there is no room, while nobody reads those before it."""
    unread = []
    while (answer := world.client.get("/api/task/v1/export?app=shop", buffered=False)).status_code == 200:
        unread.append(answer)
    told = dict(json.loads(answer.text))
    # The innermost first: each holds a context of Flask's.
    for one in (answer, *reversed(unread)):
        one.close()
    return told


def _unready(world: World) -> dict[str, Any]:
    def away() -> None:
        raise StoreAway("broker", "no answer")

    ping, world.broker.ping = world.broker.ping, away  # type: ignore[method-assign]
    answer = world.client.get("/readyz")
    world.broker.ping = ping  # type: ignore[method-assign]
    return dict(json.loads(answer.text))


def _heavy() -> dict[str, Any]:
    return {f"field{number}": 1 for number in range(65)}


def _sent(world: World, method: str, path: str, options: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(world.client.open(path, method=method, **options).text)
    return dict(answer) if isinstance(answer, dict) else {}


def _by_code(told: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[int, Any] = {}
    for one in told:
        if one.get("code"):
            found.setdefault(one["code"], one)
    return {str(code): found[code] for code in sorted(found)}
