"""What has failed for good: listed, counted, replayed, discarded."""

from typing import Any

import pytest

from tests.api.v1.world import URL, V1World
from tests.store.members import failed_of

LETTERS = "/v1/dead-letters"


def failed(world: V1World, number: int = 1, **fields: Any) -> list[str]:
    """Make a timer that fires each second, move on by 10 s, fail its first firings; return the ids of those."""
    timer_id = world.made().json["id"]
    world.clock.now += 10_000
    records = world.wiring.firings.records(timer_id, 99)[::-1][:number]
    said = {"host": "target.example:8080", "reason": "http_503", "http_status": 503, "error": "HTTP 503"}
    world.wiring.firings.settle([failed_of(one.firing.member, **(said | fields)) for one in records])
    return [one.firing.member.firing_id for one in records]


def test_they_are_listed_with_what_is_known_of_them(world: V1World) -> None:
    (firing_id,) = failed(world)
    (shown,) = world.send("GET", LETTERS).json["items"]
    assert shown == {
        "id": firing_id,
        "timerId": int(firing_id.partition("-")[0]),
        "timerKey": "expire",
        "app": "shop",
        "kind": "scheduled",
        "fireAt": shown["fireAt"],
        "failedAt": shown["failedAt"],
        "attempt": 1,
        "reason": "http_503",
        "httpStatus": 503,
        "error": "HTTP 503",
        "host": "target.example:8080",
        "target": None,
        "url": URL,
    }
    world.send("DELETE", "/v1/timers/key:expire", rule="/v1/timers/{which}")
    assert world.send("GET", LETTERS).json["items"] == [shown | {"url": None}]


def test_conditions_and_pages(world: V1World) -> None:
    ids = failed(world, 5)
    for query, number in (
        ({"timer": "key:expire"}, 5),
        ({"reason": "http_503", "host": "target.example:8080"}, 5),
        ({"reason": "timed_out"}, 0),
        ({"host": "target.example"}, 5),
        ({"host": "Target.Example."}, 5),
        ({"host": "other:80"}, 0),
        ({"host": "get.example"}, 0),
        ({"host": "broker:orders"}, 0),
        ({"target": "orders"}, 0),
        ({"until": world.clock.now - 60_000}, 0),
    ):
        found = world.send("GET", LETTERS, query=query)
        assert len(found.json["items"]) == number, query
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while not seen or cursor:
        page = world.send("GET", LETTERS, query={"limit": 2} | cursor).json
        seen += [one["id"] for one in page["items"]]
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else {}
    assert seen == ids[::-1]


def test_a_host_is_read_as_answers_show_it_or_without_its_port(small_world: V1World) -> None:
    ids = failed(small_world, 3, host="::1:8080")
    for host, number in (("::1:8080", 3), ("[::1]:8080", 3), ("[::1]", 3), ("[::]", 0), ("[::1]:80", 0)):
        found = small_world.send("GET", f"{LETTERS}:count", query={"host": host})
        assert found.json["total"] == number, host
    done = small_world.send(
        "POST", f"{LETTERS}:discard", {"since": small_world.clock.now - 60_000, "host": "[::1]"}
    )
    assert done.json["discarded"] == len(ids)


@pytest.mark.parametrize("host", ["http://target.example:8080", "target.example/pay", "a b", ""])
def test_what_is_no_host_is_refused_and_not_taken_for_one_without_dead_letters(
    small_world: V1World, host: str
) -> None:
    failed(small_world)
    body = {"since": small_world.clock.now - 60_000, "host": host}
    for refused in (
        small_world.send("GET", LETTERS, query={"host": host}),
        small_world.send("GET", f"{LETTERS}:count", query={"host": host}),
        small_world.send("POST", f"{LETTERS}:replay", body),
        small_world.send("POST", f"{LETTERS}:discard", body),
    ):
        assert refused.status == 400, refused.json
        assert "write shop.example or shop.example:8443" in refused.json["detail"]


def test_a_cursor_of_elsewhere_is_refused(small_world: V1World) -> None:
    failed(small_world, 3)
    cursor = small_world.send("GET", LETTERS, query={"limit": 1}).json["nextCursor"]
    for query in ({"cursor": cursor, "reason": "timed_out"}, {"cursor": cursor[:-6] + "AAAAAA"}):
        refused = small_world.send("GET", LETTERS, query=query)
        assert (refused.status, refused.json["parameter"]) == (400, "cursor")


def test_they_are_counted_by_reason_and_by_target(world: V1World) -> None:
    failed(world, 3)
    assert world.send("GET", f"{LETTERS}:count").json == {
        "total": 3,
        "byReason": [{"reason": "http_503", "number": 3}],
        "byTarget": [{"target": None, "host": "target.example:8080", "number": 3}],
    }


def test_named_ones_are_replayed(world: V1World) -> None:
    first, second, _ = failed(world, 3)
    unknown = f"{first.partition('-')[0]}-77"
    body = {"ids": [first, second, unknown]}
    tried = world.send("POST", f"{LETTERS}:replay", body | {"dryRun": True}).json
    assert (tried["matched"], tried["replayed"], tried["remaining"]) == (2, 0, 2)
    done = world.send("POST", f"{LETTERS}:replay", body).json
    assert (done["matched"], done["replayed"], done["remaining"]) == (2, 2, 0)
    assert [one["id"] for one in done["notReplayed"]] == [unknown]
    assert world.send("GET", f"{LETTERS}:count").json["total"] == 1
    shown = world.send("GET", f"/v1/firings/{first}", rule="/v1/firings/{firing_id}").json
    assert (shown["status"], shown["attempt"]) == ("pending", 101)


def test_all_since_a_moment_are_replayed_at_a_rate(world: V1World) -> None:
    failed(world, 4)
    body = {"since": world.clock.now - 60_000, "reason": "http_503", "perSecond": 1}
    assert world.send("POST", f"{LETTERS}:replay", body | {"dryRun": True}).json["matched"] == 4
    done = world.send("POST", f"{LETTERS}:replay", body).json
    assert (done["matched"], done["replayed"]) == (4, 4)
    records = [one.firing for one in world.wiring.firings.records(int(_timer_id(world)), 99)]
    dues = sorted(one.due_at for one in records if one.attempt == 101)
    assert [due - dues[0] for due in dues] == [0, 1_000, 2_000, 3_000]
    assert world.send("POST", f"{LETTERS}:replay", body).json["matched"] == 0


def test_those_of_a_deleted_timer_stay(world: V1World) -> None:
    (firing_id,) = failed(world)
    world.send("DELETE", "/v1/timers/key:expire", rule="/v1/timers/{which}")
    for body in ({"ids": [firing_id]}, {"ids": [firing_id], "dryRun": True}):
        done = world.send("POST", f"{LETTERS}:replay", body).json
        assert (done["matched"], done["replayed"], len(done["notReplayed"])) == (0, 0, 1)
    since = world.send("POST", f"{LETTERS}:replay", {"since": world.clock.now - 60_000}).json
    assert (since["matched"], since["remaining"]) == (0, 0)
    assert world.send("GET", f"{LETTERS}:count").json["total"] == 1


def test_they_are_discarded_by_name_or_since_a_moment(world: V1World) -> None:
    first, *_ = failed(world, 4)
    done = world.send("POST", f"{LETTERS}:discard", {"ids": [first, "7-1"]}).json
    assert done == {"matched": 1, "discarded": 1, "notDiscarded": ["7-1"], "remaining": 0}
    body = {"since": world.clock.now - 60_000, "host": "target.example:8080"}
    tried = world.send("POST", f"{LETTERS}:discard", body | {"dryRun": True}).json
    assert tried == {"matched": 3, "discarded": 0, "notDiscarded": [], "remaining": 3}
    done = world.send("POST", f"{LETTERS}:discard", body).json
    assert done == {"matched": 3, "discarded": 3, "notDiscarded": [], "remaining": 0}
    assert world.send("GET", LETTERS).json["items"] == []
    shown = world.send("GET", f"/v1/firings/{first}", rule="/v1/firings/{firing_id}").json
    assert shown["status"] == "failed"


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_who_says_not_which_or_says_it_twice_is_told(small_world: V1World, verb: str) -> None:
    (firing_id,) = failed(small_world)
    now = small_world.clock.now
    for body, pointer in (
        ({}, "/since"),
        ({"reason": "http_503"}, "/since"),
        ({"ids": [firing_id], "since": now}, "/since"),
        ({"ids": [firing_id], "reason": "http_503"}, "/reason"),
        ({"ids": []}, "/ids"),
        ({"ids": ["x"]}, "/ids/0"),
        ({"since": now, "reason": "HTTP 503"}, "/reason"),
        ({"since": now, "until": now - 1}, "/since"),
        ({"since": now, "timer": "key:none"}, "/timer"),
    ):
        refused = small_world.send("POST", f"{LETTERS}:{verb}", body)
        assert refused.status in (400, 404), body
        assert refused.json["pointer"] == pointer, body
    assert small_world.send("GET", f"{LETTERS}:count").json["total"] == 1


def test_what_is_no_reason_is_told_with_those_that_are(small_world: V1World) -> None:
    for reason in ("HTTP 503", "http_", "http_99", "timeout", ""):
        refused = small_world.send("GET", LETTERS, query={"reason": reason})
        assert (refused.status, refused.json["parameter"]) == (400, "reason")
        assert "write http_503 and the like, or one of timed_out, not_connected" in refused.json["detail"]
    told = small_world.send("POST", f"{LETTERS}:replay", {"since": small_world.clock.now, "status": "failed"})
    assert told.json["didYouMean"] == "reason"


def test_an_app_says_for_how_long_they_are_kept(world: V1World) -> None:
    world.send("POST", "/v1/apps", {"name": "kept"}, app=None)
    place, rule = "/v1/apps/kept", "/v1/apps/{name}"
    assert world.send("GET", place, rule=rule, app=None).json["deadLetterDays"] is None
    patched = world.send("PATCH", place, {"deadLetterDays": 90}, rule=rule, app=None)
    assert patched.json["deadLetterDays"] == 90
    untouched = world.send("PATCH", place, {"limits": {}}, rule=rule, app=None)
    assert untouched.json["deadLetterDays"] == 90
    cleared = world.send("PATCH", place, {"deadLetterDays": None}, rule=rule, app=None)
    assert cleared.json["deadLetterDays"] is None
    for days in (0, 3_651, "x"):
        refused = world.send("PATCH", place, {"deadLetterDays": days}, rule=rule, app=None)
        assert (refused.status, refused.json["pointer"]) == (400, "/deadLetterDays")


def _timer_id(world: V1World) -> str:
    return str(world.send("GET", "/v1/timers/key:expire", rule="/v1/timers/{which}").json["id"])
