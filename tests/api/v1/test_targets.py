"""Named targets over v1: made, changed, named by timers, and never a way for who writes timers to get their secrets."""

from typing import Any

import pytest
from sqlalchemy import select

from tests.api.v1.world import TIMERS, URL, Answered, V1World
from tests.api.world import DEF
from wangtimer.core.timers.timer import Notify
from wangtimer.store.sql.tables import targets

TARGETS = "/v1/targets"
ONE = f"{TARGETS}/{{name}}"
TIMER = "/v1/timers/{which}"
SECRET = "open-sesame"
BODY: dict[str, Any] = {
    "url": f"{URL}/hooks",
    "method": "PUT",
    "headers": {"Authorization": SECRET, "X-Tag": "a"},
}


def put(world: V1World, body: dict[str, Any] = BODY, name: str = "orders", **options: Any) -> Answered:
    return world.send("PUT", f"{TARGETS}/{name}", body, rule=ONE, **options)


def patch(world: V1World, body: dict[str, Any], name: str = "orders", **options: Any) -> Answered:
    return world.send("PATCH", f"{TARGETS}/{name}", body, rule=ONE, **options)


def get(world: V1World, name: str = "orders", **options: Any) -> Answered:
    return world.send("GET", f"{TARGETS}/{name}", rule=ONE, **options)


def delete(world: V1World, name: str = "orders", **options: Any) -> Answered:
    return world.send("DELETE", f"{TARGETS}/{name}", rule=ONE, **options)


def timer(world: V1World, method: str, body: dict[str, Any] | None = None) -> Answered:
    return world.send(method, f"{TIMERS}/key:expire", body, rule=TIMER)


def called(world: V1World) -> Notify:
    """Return the call that the timer's firings make, by what Redis tells executors."""
    (row,) = world.send("GET", TIMERS, query={"key": "expire"}).json["items"]
    one = world.wiring.definitions.get([row["id"]]).definitions[row["id"]]
    _, found = world.wiring.target_copies.get([("shop", one.notify.target)])
    return found["shop", one.notify.target].called_by(world.wiring.seals.call_of(one))


def faults(answered: Answered) -> tuple[int, int, str | None]:
    return answered.status, answered.json["code"], answered.json.get("pointer")


def test_a_target_is_made_shown_and_listed_without_its_secrets(world: V1World) -> None:
    made = put(world, BODY | {"timeout": "500ms", "keepOutput": "never"})
    assert (made.status, made.json["countsWithin"]) == (201, "1s")
    shown = get(world)
    assert shown.etag == made.etag == f'"{shown.json["version"]}"'
    assert (shown.json["headers"], shown.json["method"]) == (
        {"Authorization": ["***"], "X-Tag": ["a"]},
        "PUT",
    )
    assert (shown.json["timeout"], shown.json["keepOutput"], shown.json["timers"]) == ("500ms", "never", 0)
    put(world, {"url": URL}, "bills")
    first = world.send("GET", TARGETS, query={"limit": 1})
    second = world.send("GET", TARGETS, query={"limit": 1, "cursor": first.json["nextCursor"]})
    assert [one["name"] for page in (first, second) for one in page.json["items"]] == ["bills", "orders"]
    assert second.json["nextCursor"] is None
    rows = world.wiring.database.read(lambda sql: str(sql.execute(select(targets)).all()))
    for text in (rows, str(shown.json), str(second.json)):
        assert SECRET not in text


def test_an_unknown_target_and_another_apps_are_the_same_to_a_caller(world: V1World) -> None:
    put(world)
    for answered in (
        get(world, "other"),
        get(world, app="bank"),
        patch(world, {"url": URL}, app="bank"),
        delete(world, app="bank"),
    ):
        assert (answered.status, answered.json["code"], answered.json["parameter"]) == (404, 40409, "name")
    assert get(world).json["timers"] == 0


def test_a_change_of_another_version_is_refused(world: V1World) -> None:
    tag = put(world).etag
    newer = patch(world, {"headers": {"X-Tag": "b"}}, If_Match=tag)
    assert newer.status == 200
    for answered in (
        put(world, If_Match=tag),
        patch(world, {"method": "POST"}, If_Match=tag),
        delete(world, If_Match=tag),
        put(world, name="none", If_Match="*"),
    ):
        assert (answered.status, answered.json["parameter"]) == (412, "If-Match")
    assert get(world).json["headers"]["X-Tag"] == ["b"]
    assert delete(world, If_Match=newer.etag).status == 204


def test_a_repeat_changes_nothing(world: V1World) -> None:
    made = put(world)
    again = put(world, BODY | {"headers": {"Authorization": "***", "X-Tag": "a"}})
    assert (again.status, again.etag) == (200, made.etag)
    assert patch(world, {"keepOutput": None, "timeout": None}).etag == made.etag


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"url": "ftp://shop.example"}, "/url"),
        ({}, "/url"),
        ({"url": URL, "headers": {"Host": "x"}}, "/headers/Host"),
        ({"url": URL, "timeout": "1h"}, "/timeout"),
        ({"url": URL, "headers": {"Authorization": "***"}}, "/headers/Authorization"),
        ({"url": URL, "keepOutput": "some"}, "/keepOutput"),
        ({"url": URL, "name": "x"}, "/name"),
    ],
)
def test_what_no_target_can_have_is_refused_by_its_field(
    world: V1World, body: dict[str, Any], pointer: str
) -> None:
    answered = put(world, body)
    assert (answered.status, answered.json["pointer"]) == (400, pointer)


def test_a_kept_secret_goes_to_no_other_host(world: V1World) -> None:
    put(world)
    refused = patch(world, {"url": "https://elsewhere.example/"})
    assert faults(refused) == (400, 40009, "/url")
    assert (
        put(world, BODY | {"url": "https://elsewhere.example/", "headers": {"Authorization": "***"}}).status
        == 400
    )
    assert patch(world, {"url": f"{URL}/other"}).status == 200
    anew = patch(world, {"url": "https://elsewhere.example/", "headers": {"Authorization": "new-sesame"}})
    assert anew.status == 200


@pytest.mark.parametrize("change", ["PATCH", "PUT"])
def test_a_target_whose_timers_keep_secrets_stays_at_its_host(world: V1World, change: str) -> None:
    put(world)
    own = {"name": "orders", "headers": {"X-Key": SECRET}}
    world.made(target=own)
    world.made(key="plain", target={"name": "orders", "body": '[1,"1.5"]'})
    moved = BODY | {"url": "https://elsewhere.example/", "headers": {"Authorization": "new-sesame"}}
    send = patch if change == "PATCH" else put
    refused = send(world, moved)
    assert (refused.status, refused.json["code"], refused.json["parameter"]) == (409, 40902, "name")
    assert "'expire' names it and keeps secrets" in refused.json["detail"]
    assert send(world, BODY | {"url": f"{URL}/other"}).status == 200
    timer(world, "DELETE")
    assert send(world, moved).status == 200


def test_a_target_stays_at_its_host_however_the_host_is_written(world: V1World) -> None:
    put(world, BODY | {"url": "http://shop.example/hooks"})
    world.made(target={"name": "orders", "headers": {"X-Key": SECRET}})
    assert patch(world, {"url": "http://SHOP.example:80/other"}).status == 200
    assert (
        patch(world, {"url": "http://shop.example:8080/", "headers": {"Authorization": "new"}}).status == 409
    )


NAMED = {"name": "orders", "path": "/expire?order=7", "headers": {"X-Order": "7"}}


def test_a_timer_that_names_a_target_makes_its_call(world: V1World) -> None:
    put(world)
    made = world.made(target=NAMED | {"json": {"order": 7}})
    assert made.json["target"] == {
        "name": "orders",
        "path": "/expire?order=7",
        "headers": {"X-Order": ["7"], "Content-Type": ["application/json"]},
        "body": '{"order":7}',
    }
    call = called(world)
    assert (call.url, call.method, call.body) == (f"{URL}/hooks/expire?order=7", "PUT", '{"order":7}')
    assert dict(call.headers) == {
        "Authorization": SECRET,
        "X-Tag": "a",
        "X-Order": "7",
        "Content-Type": "application/json",
    }
    assert get(world).json["timers"] == 1


def test_a_changed_target_counts_for_its_timers_and_changes_none_of_them(world: V1World) -> None:
    put(world)
    made = world.made(target=NAMED)
    patch(world, {"url": "https://other.example", "headers": {"Authorization": "new-sesame"}})
    call = called(world)
    assert (call.url, dict(call.headers)["Authorization"]) == (
        "https://other.example/expire?order=7",
        "new-sesame",
    )
    assert timer(world, "GET").etag == made.etag


def test_a_change_that_redis_missed_is_told_by_the_sweep(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world)
    world.made(target=NAMED)
    with monkeypatch.context() as patched:
        from wangtimer.core.errors import StoreAway

        def away(_targets: Any) -> None:
            raise StoreAway("Redis", "switched off by the test")

        patched.setattr(world.wiring.target_copies, "put", away)
        changed = patch(world, {"url": f"{URL}/moved"})
    assert changed.json["countsWithin"] == "8s"
    assert called(world).url == f"{URL}/hooks/expire?order=7"
    world.wiring.sweeper.sweep()
    assert called(world).url == f"{URL}/moved/expire?order=7"


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        ({"name": "other"}, "/target/name"),
        ({"name": "orders "}, "/target/name"),
        ({"name": "orders", "url": URL}, "/target/name"),
        ({"path": "/a"}, "/target/path"),
        ({"path": "/a", "url": URL}, "/target/path"),
        ({"name": "orders", "path": "@evil.example/"}, "/target/path"),
        ({"name": "orders", "path": ".evil.example/"}, "/target/path"),
        ({"name": "orders", "path": "/../admin"}, "/target/path"),
        ({"name": "orders", "path": "/a b"}, "/target/path"),
        ({"name": "orders", "headers": {"Host": "evil.example"}}, "/target/headers/Host"),
        ({"name": ""}, "/target/name"),
        ({}, "/target/url"),
    ],
)
def test_what_a_timer_cannot_say_of_its_target_is_refused_by_its_field(
    world: V1World, target: dict[str, Any], pointer: str
) -> None:
    put(world)
    body = {"key": "expire", "schedule": {"cron": "* * * * * *"}, "target": target}
    answered = world.send("POST", TIMERS, body)
    assert (answered.status, answered.json["pointer"]) == (400, pointer)


def test_another_apps_target_is_unknown(world: V1World) -> None:
    put(world, app="bank")
    answered = world.send("POST", TIMERS, {"schedule": {"delay": "1m"}, "target": {"name": "orders"}})
    assert faults(answered) == (400, 40007, "/target/name")


def test_of_many_new_timers_only_those_with_an_unknown_target_are_refused(world: V1World) -> None:
    put(world)
    rows = [
        {"key": name, "schedule": {"delay": "1m"}, "target": {"name": name}} for name in ("orders", "other")
    ]
    answered = world.send("POST", f"{TIMERS}:batchCreate", {"timers": rows})
    first, second = answered.json["items"]
    assert (first["created"], second["created"], second["problem"]["pointer"]) == (
        True,
        False,
        "/target/name",
    )


def test_a_timer_changes_between_a_target_and_a_url_of_its_own(world: V1World) -> None:
    put(world)
    world.made()
    named = timer(world, "PATCH", {"target": {"name": "orders", "method": None}})
    assert named.json["target"] == {"name": "orders", "headers": {}, "body": ""}
    assert called(world).url == f"{URL}/hooks"
    further = timer(world, "PATCH", {"target": {"path": "/a"}})
    assert further.json["target"]["path"] == "/a"
    assert timer(world, "PATCH", {"target": {"body": "x"}}).json["target"]["path"] == "/a"
    own = timer(world, "PATCH", {"target": {"url": URL}})
    assert own.json["target"] == {"url": URL, "method": "POST", "headers": {}, "body": "x"}
    assert get(world).json["timers"] == 0
    refused = timer(world, "PATCH", {"target": {"path": "/a"}})
    assert faults(refused) == (400, 40009, "/target/path")
    replaced = timer(world, "PUT", {"schedule": {"delay": "1m"}, "target": NAMED})
    assert replaced.json["target"]["name"] == "orders"
    assert faults(timer(world, "PATCH", {"target": {"name": "other"}})) == (400, 40007, "/target/name")
    assert faults(timer(world, "PATCH", {"target": {"name": None}})) == (400, 40007, "/target/name")


def test_a_secret_of_a_timers_own_goes_through_no_other_target(world: V1World) -> None:
    put(world)
    put(world, {"url": "https://elsewhere.example"}, "others")
    own = {"X-Key": SECRET}
    world.made(target={"name": "orders", "headers": own})
    assert timer(world, "PATCH", {"target": {"path": "/a"}}).status == 200
    assert faults(timer(world, "PATCH", {"target": {"name": "others"}})) == (400, 40009, "/target/name")
    assert faults(timer(world, "PATCH", {"target": {"url": URL}})) == (400, 40009, "/target/name")
    assert timer(world, "PATCH", {"target": {"name": "others", "headers": own}}).status == 200


def test_a_target_that_timers_name_is_not_deleted(world: V1World) -> None:
    put(world)
    world.made(target=NAMED)
    refused = delete(world)
    assert (refused.status, refused.json["code"], refused.json["parameter"]) == (409, 40902, "name")
    assert "1 timer names it" in refused.json["detail"]
    timer(world, "DELETE")
    assert delete(world).status == 204
    assert world.wiring.target_copies.get([("shop", "orders")])[1] == {}


def test_the_compatible_paths_show_a_text_that_is_no_url(world: V1World) -> None:
    put(world)
    timer_id = world.made(target=NAMED).json["id"]
    shown = world.client.get(f"{DEF}?app=shop&id={timer_id}").json["data"]
    assert shown["notifyHTTPParam"]["url"] == "target:orders/expire?order=7"


def test_a_timer_keeps_its_target_when_another_field_of_it_changes(world: V1World) -> None:
    put(world)
    timer_id = world.made(target=NAMED).json["id"]
    patched = world.client.patch(DEF, json={"app": "shop", "id": timer_id, "tags": ["a"]})
    assert patched.status_code == 200
    assert timer(world, "GET").json["target"]["name"] == "orders"
