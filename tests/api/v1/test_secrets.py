"""Secrets of a timer's call: encrypted in SQL and Redis, masked in every answer, kept where the mask comes back."""

from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF
from wangtimer.core.timers.timer import Notify
from wangtimer.store.redis.definitions import definition_text
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.tables import idempotency, timers
from wangtimer.store.sql.timer_rows import NO_CALL_TEXT

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
SECRET = "sesame"
EVERY = {"cron": "* * * * * *"}
TARGET: dict[str, Any] = {
    "url": f"{URL}?token={SECRET}&order=7",
    "method": "PUT",
    "headers": {"Authorization": f"Bearer {SECRET}", "X-Tenant": f"{SECRET}", "X-Tag": "blue"},
    "body": f'{{"pin":"{SECRET}"}}',
    "secretHeaders": ["X-Tenant"],
    "secretBody": True,
}
SHOWN: dict[str, Any] = {
    "url": f"{URL}?token=***&order=7",
    "method": "PUT",
    "headers": {"Authorization": ["***"], "X-Tenant": ["***"], "X-Tag": ["blue"]},
    "body": "***",
    "secretHeaders": ["x-tenant"],
    "secretBody": True,
}
CALL = (
    f"{URL}?token={SECRET}&order=7",
    "PUT",
    (("Authorization", f"Bearer {SECRET}"), ("X-Tenant", SECRET), ("X-Tag", "blue")),
    f'{{"pin":"{SECRET}"}}',
)


def called(world: V1World, timer_id: int) -> Notify:
    """Return the call that a firing would make, by SQL and by Redis, which must agree."""
    of_sql = world.wiring.timers.get("shop", timer_id).definition
    of_redis = world.wiring.definitions.get([timer_id]).definitions[timer_id]
    by_sql, by_redis = map(world.wiring.seals.call_of, (of_sql, of_redis))
    assert by_sql[:4] == by_redis[:4]
    return by_sql


def everything_stored(world: V1World) -> str:
    """Return all that SQL and Redis have of timers and answers."""
    rows = world.wiring.database.read(
        lambda sql: [
            [*map(str, row)] for table in (timers, idempotency) for row in sql.execute(select(table))
        ]
    )
    with Redis.from_url(world.wiring.settings.store_url) as client:
        texts = [client.get(key) for key in client.scan_iter(_type="string")]
    assert texts
    return f"{rows}{texts}"


def test_secrets_are_masked_in_answers_encrypted_in_stores_and_whole_in_the_call(world: V1World) -> None:
    made = world.made(target=TARGET)
    assert made.json["target"] == SHOWN
    got = world.send("GET", PLACE, rule=ONE)
    assert got.json["target"] == world.send("GET", TIMERS).json["items"][0]["target"] == SHOWN
    old_paths = world.get(DEF, app="shop", id=made.json["id"]).data["notifyHTTPParam"]
    assert old_paths == {
        "url": SHOWN["url"],
        "method": "PUT",
        "header": SHOWN["headers"],
        "body": "***",
    }
    assert called(world, made.json["id"])[:4] == CALL
    assert SECRET not in everything_stored(world)


def test_a_kept_answer_has_no_secret(small_world: V1World) -> None:
    body = {"key": "expire", "schedule": EVERY, "target": TARGET}
    first, again = (small_world.send("POST", TIMERS, body, Idempotency_Key="once") for _ in range(2))
    assert first.json == again.json
    assert SECRET not in everything_stored(small_world)


def test_what_is_shown_can_be_sent_back_and_changes_nothing(world: V1World) -> None:
    made = world.made(target=TARGET).json
    whole = {"schedule": EVERY, "target": SHOWN}
    for method, body in (("PUT", whole), ("PATCH", {"target": SHOWN})):
        same = world.send(method, PLACE, body, rule=ONE)
        assert (same.status, same.json["version"]) == (200, made["version"])
    headers = {name: value for name, value in SHOWN["headers"].items() if name != "X-Tenant"}
    fewer = {"url": SHOWN["url"], "method": "PUT", "headers": headers}
    assert world.send("PUT", PLACE, {"schedule": EVERY, "target": fewer}, rule=ONE).status == 200
    assert called(world, made["id"]).headers == (("Authorization", f"Bearer {SECRET}"), ("X-Tag", "blue"))


def test_a_patch_of_one_part_leaves_the_secrets_of_the_others(world: V1World) -> None:
    made = world.made(target=TARGET).json
    world.send("PATCH", PLACE, {"target": {"method": "POST", "headers": {"X-Tag": None}}}, rule=ONE)
    url, method, headers, body = called(world, made["id"])[:4]
    assert (url, method, body) == (CALL[0], "POST", CALL[3])
    assert headers == CALL[2][:2]
    moved = {"url": f"{URL}/elsewhere?token=***", "headers": {"Authorization": "Bearer new"}}
    changed = world.send("PATCH", PLACE, {"target": moved}, rule=ONE).json
    assert changed["target"]["headers"]["Authorization"] == ["***"]
    url, _, headers, _ = called(world, made["id"])[:4]
    assert url == f"{URL}/elsewhere?token={SECRET}"
    assert headers[0] == ("Authorization", "Bearer new")
    compatible = world.patch(app="shop", id=made["id"], notifyHTTPParam={"body": "***", "method": "PUT"})
    assert compatible.data["notifyHTTPParam"]["body"] == "***"
    assert called(world, made["id"]).body == CALL[3]


@pytest.mark.parametrize(
    "elsewhere", ["https://other.example", "https://target.example", "http://target.example:8080"]
)
def test_a_kept_secret_goes_to_no_other_host(small_world: V1World, elsewhere: str) -> None:
    made = small_world.made(
        target={"url": "http://target.example/a?token=sesame", "headers": {"Cookie": SECRET}}
    ).json
    everywhere = {"url": f"{elsewhere}/?token=***", "headers": {"Cookie": "new"}}
    of_put = {"schedule": EVERY, "target": {"url": elsewhere, "headers": {"Cookie": "***"}}}
    bodies = (("PATCH", {"target": {"url": elsewhere}}), ("PATCH", {"target": everywhere}), ("PUT", of_put))
    for method, body in bodies:
        refused = small_world.send(method, PLACE, body, rule=ONE)
        assert (refused.status, refused.json["pointer"]) == (400, "/target/url"), body
        assert "were given for another scheme, host or port" in refused.json["detail"]
    compatible = small_world.patch(app="shop", id=made["id"], notifyHTTPParam={"url": elsewhere})
    assert (compatible.status, "notifyHTTPParam.url" in compatible.msg) == (400, True)
    assert called(small_world, made["id"]).url == "http://target.example/a?token=sesame"
    same = {"target": {"url": "http://TARGET.example:80/b?token=***"}}
    assert small_world.send("PATCH", PLACE, same, rule=ONE).status == 200
    anew = {"target": {"url": f"{elsewhere}/", "headers": {"Cookie": "new"}}}
    assert small_world.send("PATCH", PLACE, anew, rule=ONE).status == 200


def test_marking_and_unmarking(small_world: V1World) -> None:
    made = small_world.made(target={"url": f"{URL}?order=7", "body": "open"}).json
    marked = small_world.send("PATCH", PLACE, {"target": {"secretBody": True, "secretQuery": True}}, rule=ONE)
    assert (marked.json["target"]["url"], marked.json["target"]["body"]) == (f"{URL}?***", "***")
    assert called(small_world, made["id"])[:4] == (f"{URL}?order=7", "POST", (), "open")
    for mark, place in (("secretBody", "/target/body"), ("secretQuery", "/target/url")):
        for value in (False, None):
            refused = small_world.send("PATCH", PLACE, {"target": {mark: value}}, rule=ONE)
            assert (refused.status, refused.json["pointer"]) == (400, place)
            assert "would be shown" in refused.json["detail"]
    unmarked = small_world.send(
        "PATCH", PLACE, {"target": {"secretBody": False, "body": "new"}}, rule=ONE
    ).json["target"]
    assert (unmarked["body"], "secretBody" in unmarked) == ("new", False)


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        ({"url": f"{URL}?token=***"}, "/target/url"),
        ({"url": URL, "headers": {"Authorization": "***"}}, "/target/headers/Authorization"),
        ({"url": URL, "headers": {"X-Tag": "***"}, "secretHeaders": ["x-tag"]}, "/target/headers/X-Tag"),
        ({"url": URL, "body": "***", "secretBody": True}, "/target/body"),
        ({"url": URL, "secretHeaders": ["a b"]}, "/target/secretHeaders"),
        ({"url": URL, "secretBody": "yes"}, "/target/secretBody"),
    ],
)
def test_a_new_timer_gives_its_secrets_themselves(
    small_world: V1World, target: dict[str, Any], pointer: str
) -> None:
    body = {"key": "expire", "schedule": EVERY, "target": target}
    for method, path in (("POST", TIMERS), ("PUT", PLACE)):
        sent = body if method == "POST" else {name: body[name] for name in ("schedule", "target")}
        refused = small_world.send(method, path, sent, rule=path if path == TIMERS else ONE)
        assert (refused.status, refused.json["pointer"]) == (400, pointer), refused.json
    made = small_world.send(
        "POST", f"{TIMERS}:batchCreate", {"timers": [body, body | {"target": {"url": URL}}]}
    )
    assert [one["created"] for one in made.json["items"]] == [False, True]
    assert made.json["items"][0]["problem"]["pointer"] == pointer
    assert small_world.stored()[0] == 1


def test_without_a_key_only_timers_without_secrets_are_stored(small_world: V1World) -> None:
    wiring = small_world.wiring
    wiring.seals = wiring.timers._seals = wiring.batches.timer_batches.seals = NO_KEYS
    refused = small_world.send("POST", TIMERS, {"key": "expire", "schedule": EVERY, "target": TARGET})
    assert (refused.status, refused.json["pointer"]) == (400, "/target/headers/Authorization")
    assert "WANGTIMER_SECRET_KEYS_FILE" in refused.json["detail"]
    assert SECRET not in str(refused.json)
    some = {"timers": [{"schedule": EVERY, "target": {"url": URL + "?key=1"}}]}
    assert small_world.send("POST", f"{TIMERS}:batchCreate", some).json["failed"] == 1
    assert small_world.made(target={"url": URL, "headers": {"X-Tag": "blue"}}).status == 201


@pytest.mark.parametrize("way", ["alone", "many"])
def test_a_deleted_timer_keeps_no_call(world: V1World, way: str) -> None:
    made = world.made(target=TARGET).json
    if way == "alone":
        gone = world.send("DELETE", PLACE, rule=ONE)
        assert gone.json["timer"]["target"] == SHOWN
    else:
        world.send("POST", f"{TIMERS}:batchDelete", {"ids": [made["id"]]})
    row = world.wiring.timers.definitions({made["id"]})[made["id"]]
    stored = world.wiring.database.read(
        lambda sql: sql.execute(select(timers.c.notify).where(timers.c.id == made["id"])).scalar_one()
    )
    assert stored == NO_CALL_TEXT
    told = world.wiring.definitions.get([made["id"]]).definitions
    assert all(one.notify == row.notify for one in told.values())
    assert "***" not in definition_text(row)


def test_what_was_no_secret_when_it_was_stored_is_masked_and_sealed_once_its_call_changes(
    small_world: V1World,
) -> None:
    made = small_world.made(target={"url": URL}).json
    plain = '{"url":"http://target.example/?key=sesame","method":"POST","headers":[["Cookie","sesame"]],"body":""}'
    with small_world.wiring.database.engine.begin() as sql:
        sql.execute(timers.update().values(notify=plain))
    shown = small_world.send("PATCH", PLACE, {"tags": ["a"]}, rule=ONE).json["target"]
    assert (shown["url"], shown["headers"]) == ("http://target.example/?key=***", {"Cookie": ["***"]})
    small_world.send("PATCH", PLACE, {"target": {"method": "PUT"}}, rule=ONE)
    assert SECRET not in everything_stored(small_world)
    assert called(small_world, made["id"]).headers == (("Cookie", SECRET),)


def test_a_timer_without_secrets_is_stored_as_before(small_world: V1World) -> None:
    small_world.made(target={"url": URL, "headers": {"X-Tag": "blue"}, "body": "x"})
    row = small_world.wiring.database.read(lambda sql: sql.execute(select(timers.c.notify)).scalar_one())
    assert row == f'{{"url":"{URL}","method":"POST","headers":[["X-Tag","blue"]],"body":"x"}}'
