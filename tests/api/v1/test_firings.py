"""Firings by the native paths."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, update

from tests.api.v1.world import TIMERS, URL, V1World
from tests.store.members import outcome_of
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.sql.tables import timers

ONE_TIMER, ONE = "/v1/timers/{which}", "/v1/firings/{firing_id}"


def settled(world: V1World, status: FiringStatus = FiringStatus.FAILED) -> tuple[int, str]:
    """Make a timer that fires each second, move on by 10 s, settle its first firing; return its id and the firing's."""
    timer_id = world.made().json["id"]
    world.clock.now += 10_000
    listed = world.send("GET", "/v1/firings", query={"timer": timer_id})
    first = listed.json["items"][-1]["id"]
    fire_at = int(first.partition("-")[2])
    (record,) = [one for one in world.wiring.firings.records(timer_id, 99) if one.firing.fire_at == fire_at]
    world.wiring.firings.settle([outcome_of(record.firing.member, status)])
    return timer_id, first


def test_firings_are_listed_by_timer_latest_first_page_by_page(world: V1World) -> None:
    world.made()
    world.clock.now += 10_000
    pages: list[list[str]] = []
    cursor: dict[str, Any] = {}
    while not pages or cursor:
        page = world.send("GET", "/v1/firings", query={"timer": "key:expire", "limit": 4} | cursor).json
        pages.append([one["fireAt"] for one in page["items"]])
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else {}
    moments = [one for page in pages for one in page]
    assert [len(page) for page in pages] == [4, 4, 2]
    assert moments == sorted(set(moments), reverse=True)


def test_firings_are_counted_by_what_became_of_them(world: V1World) -> None:
    settled(world)
    counts = world.send("GET", "/v1/firings:count", query={"timer": "key:expire"}).json
    assert counts == {"pending": 9, "accepted": 0, "succeeded": 0, "failed": 1, "skipped": 0}


def test_a_firing_is_read_by_its_webhook_id_with_its_attempts(world: V1World) -> None:
    timer_id, firing_id = settled(world)
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert (found["id"], found["timerId"], found["status"]) == (firing_id, timer_id, "failed")
    assert [one["attempt"] for one in found["attempts"]] == list(range(1, len(found["attempts"]) + 1))


def test_an_attempt_that_did_not_connect_says_when_it_was_made_and_when_the_next_is_due(
    world: V1World,
) -> None:
    timer_id = world.made(schedule={"every": "5s"}).json["id"]
    world.clock.now += 6_000
    (record,) = world.wiring.firings.records(timer_id, 1, upto=int(world.clock.now))
    fire_at, firing_id = record.firing.fire_at, record.firing.member.firing_id

    def shown() -> dict[str, Any]:
        return world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json

    assert shown()["nextAttemptAt"] == show_moment(fire_at)
    unsent = {"made_at": fire_at + 7, "cost_ms": 30, "error": "not sent: could not connect"}
    again = outcome_of(record.firing.member, FiringStatus.PENDING, fire_at + 1_500, **unsent)
    world.wiring.firings.settle([again])
    found = shown()
    assert (found["nextAttemptAt"], found["firstSentAt"]) == (show_moment(fire_at + 1_500), None)
    (attempt,) = found["attempts"]
    assert (attempt["madeAt"], attempt["sentAt"]) == (show_moment(fire_at + 7), None)
    assert (attempt["firstByteMs"], attempt["latenessMs"], found["requestState"]) == (None, None, "not_sent")
    sent = outcome_of(Member(timer_id, fire_at, 2), first_sent_at=fire_at + 1_600, lateness_ms=1_600)
    world.wiring.firings.settle([sent])
    found = shown()
    assert "nextAttemptAt" not in found
    assert found["attempts"][0] == attempt
    assert [one["madeAt"] for one in found["attempts"]][1] == found["firstSentAt"]


def test_a_failed_firing_is_replayed_alone_or_with_others(world: V1World) -> None:
    _, firing_id = settled(world)
    alone = world.send("POST", f"/v1/firings/{firing_id}:replay", rule=f"{ONE}:replay").json
    assert (alone["matched"], alone["replayed"]) == (1, 1)
    again = world.send("POST", "/v1/firings:replay", {"ids": [firing_id], "dryRun": True}).json
    assert (again["matched"], again["notReplayed"][0]["id"]) == (0, firing_id)


def test_failed_firings_since_a_moment_are_replayed(world: V1World) -> None:
    timer_id, _ = settled(world)
    body = {"timer": str(timer_id), "since": world.clock.now - 60_000}
    assert world.send("POST", "/v1/firings:replay", body | {"dryRun": True}).json["matched"] == 1
    assert world.send("POST", "/v1/firings:replay", body).json["replayed"] == 1


def test_a_coming_firing_is_cancelled(world: V1World) -> None:
    timer_id = world.made(schedule={"every": "1h"}).json["id"]
    coming = world.send("GET", f"{TIMERS}/{timer_id}", rule=ONE_TIMER).json["nextFireAt"]
    listed = world.send("GET", "/v1/firings", query={"timer": timer_id, "until": "2199-01-01T00:00:00Z"}).json
    assert listed["items"] == [] or listed["items"][0]["fireAt"] >= coming
    fire_at = world.wiring.timers.get("shop", timer_id).definition.schedule.first_after(world.clock.now)
    cancelled = world.send("POST", f"/v1/firings/{timer_id}-{fire_at}:cancel", rule=f"{ONE}:cancel").json
    assert (cancelled["status"], cancelled["fireAt"], cancelled["countsWithin"]) == ("skipped", coming, "1s")


def test_a_timer_is_fired_by_hand(world: V1World) -> None:
    timer_id = world.made(enabled=False).json["id"]
    fired = world.send("POST", f"{TIMERS}/key:expire:fire", rule=f"{ONE_TIMER}:fire")
    assert (fired.status, fired.json["kind"], fired.json["timerId"]) == (201, "manual", timer_id)
    assert world.send("GET", fired.headers["Location"], rule=ONE).json["id"] == fired.json["id"]


def test_a_past_range_is_backfilled(world: V1World) -> None:
    world.made(enabled=False)
    now = world.clock.now
    body = {"since": now - 5_000, "until": now}
    done = world.send("POST", f"{TIMERS}/key:expire:backfill", body, rule=f"{ONE_TIMER}:backfill").json
    assert (done["matched"], done["planned"], done["nextSince"]) == (5, 5, None)


@pytest.mark.parametrize("firing_id", ["7", "a-1", "0-1", "1-", "9" * 30 + "-1"])
def test_what_is_no_firings_id_is_told(small_world: V1World, firing_id: str) -> None:
    refused = small_world.send("GET", f"/v1/firings/{firing_id}", rule=ONE)
    assert (refused.status, refused.json["parameter"]) == (400, "firing_id")


def test_an_unknown_timer_is_named_as_the_request_names_it(small_world: V1World) -> None:
    for which in ("key:none", "x"):
        listed = small_world.send("GET", "/v1/firings", query={"timer": which})
        assert (listed.json["parameter"], listed.json.get("pointer")) == ("timer", None)
        body = {"timer": which, "since": small_world.clock.now}
        replayed = small_world.send("POST", "/v1/firings:replay", body)
        assert (replayed.json["pointer"], replayed.json.get("parameter")) == ("/timer", None)
    assert small_world.send("GET", "/v1/firings/7-1", rule=ONE).json["parameter"] == "firing_id"


def test_another_apps_firing_is_unknown(world: V1World) -> None:
    _, firing_id = settled(world)
    for path, rule in ((f"/v1/firings/{firing_id}", ONE),):
        assert world.send("GET", path, rule=rule, app="bank").status == 404


# which timer


def test_a_firing_tells_its_timers_key_and_what_that_calls(world: V1World) -> None:
    """Secrets masked; of a deleted timer the key stays. A page takes one statement for it, however long."""
    made = world.made(target={"url": f"{URL}?token=abc&order=42"})
    world.send("PUT", "/v1/targets/shop", {"url": URL}, rule="/v1/targets/{name}")
    named = world.made(key="named", target={"name": "shop", "path": "/a", "headers": {"X-Api-Key": "s3cret"}})
    world.clock.now += 5_000
    asked: list[str] = []

    def shown(number: int) -> dict[int, tuple[str | None, ...]]:
        asked.clear()
        page = world.send("GET", "/v1/firings", query={"limit": number}).json["items"]
        return {one["timerId"]: (one["timerKey"], one["url"], one["target"]) for one in page}

    with statements_of(world, asked):
        shown(2)
        few = len(asked)
        found = shown(8)
        assert 0 < len(asked) == few
    ids = made.json["id"], named.json["id"]
    assert found == {
        ids[0]: ("expire", f"{URL}?token=***&order=42", None),
        ids[1]: ("named", None, "shop"),
    }
    fired = world.send("POST", f"{TIMERS}/key:named:fire", rule=f"{ONE_TIMER}:fire").json
    assert (fired["timerKey"], fired["url"], fired["target"]) == found[ids[1]]
    alone = world.send("GET", f"/v1/firings/{fired['id']}", rule=ONE).json
    assert (alone["timerKey"], alone["url"], alone["target"]) == found[ids[1]]
    world.send("DELETE", f"{TIMERS}/key:expire", rule=ONE_TIMER)
    assert shown(8)[ids[0]] == ("expire", None, None)
    assert world.send("GET", "/v1/firings", query={"limit": 1}, app=None).json["items"][0]["app"] == "shop"


def test_a_timer_that_is_read_has_its_last_outcome(world: V1World) -> None:
    """It takes one statement, as many firings as it may have."""
    timer_id, firing_id = settled(world)
    asked: list[str] = []
    with statements_of(world, asked):
        read = world.send("GET", f"{TIMERS}/key:expire", rule=ONE_TIMER).json
    assert sum(" firing" in one.replace("\n", " ") for one in asked) == 1
    assert read["lastOutcome"] == world.send("GET", TIMERS).json["items"][0]["lastOutcome"]
    assert (read["lastOutcome"]["status"], read["lastOutcome"]["fireAt"]) == (
        "failed",
        show_moment(int(firing_id.partition("-")[2])),
    )
    assert world.send("GET", f"{TIMERS}/{timer_id}", rule=ONE_TIMER).json["lastOutcome"] is not None


def test_a_query_that_is_marked_as_secret_is_told_nowhere(world: V1World) -> None:
    firing = world.made(target={"url": f"{URL}?a=open-sesame", "secretQuery": True}).json["id"]
    world.clock.now += 3_000
    (record, *_) = world.wiring.firings.records(firing, 1)
    world.wiring.firings.settle([outcome_of(record.firing.member, FiringStatus.FAILED)])
    for path in ("/v1/firings", "/v1/dead-letters"):
        assert {one["url"] for one in world.send("GET", path).json["items"]} == {f"{URL}?***"}


def test_a_url_of_any_length_is_told(world: V1World) -> None:
    url = URL + "/%20" + '"' * (2_048 - len(URL) - 4)
    world.made(target={"url": url, "body": "x" * 50_000})
    world.clock.now += 3_000
    assert {one["url"] for one in world.send("GET", "/v1/firings").json["items"]} == {
        world.send("GET", TIMERS).json["items"][0]["target"]["url"]
    }


@contextmanager
def statements_of(world: V1World, into: list[str]) -> Iterator[None]:
    """Note the statements that the API sends to SQL."""

    def note(*seen: Any) -> None:
        into.append(seen[2])

    engines = world.wiring.database.engines
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


# filters


def two_timers(world: V1World) -> tuple[int, int]:
    """Make two timers that fired for ten seconds, the first tagged billing, the second night."""
    first = world.made(key="order-42", tags=["billing"]).json["id"]
    second = world.made(key="a/b", tags=["night"], schedule={"every": "2s"}).json["id"]
    world.clock.now += 10_000
    return first, second


def found_by(world: V1World, **query: Any) -> set[int]:
    page = world.send("GET", "/v1/firings", query=query)
    assert page.status == 200, page.json
    return {one["timerId"] for one in page.json["items"]}


def test_firings_are_found_by_timer_key_and_tag(world: V1World) -> None:
    first, second = two_timers(world)
    assert found_by(world) == {first, second}
    assert found_by(world, timer=str(second)) == {second}
    assert found_by(world, timer="key:a/b") == {second}
    assert found_by(world, tag="billing") == {first}
    assert found_by(world, tag="night", timer="key:a/b") == {second}
    assert found_by(world, tag="night", timer="key:order-42") == set()
    for unknown in ("nothing", "billing "):
        assert found_by(world, tag=unknown) == set()
    counts = world.send("GET", "/v1/firings:count", query={"tag": "billing"}).json
    assert counts["pending"] == 10


def test_another_apps_tag_finds_nothing(world: V1World) -> None:
    two_timers(world)
    page = world.send("GET", "/v1/firings", query={"tag": "billing"}, app="bank")
    assert page.json["items"] == []


def test_firings_are_found_by_status_kind_time_and_lateness(world: V1World) -> None:
    timer_id, first = settled(world)
    fire_at = int(first.partition("-")[2])
    outcome = outcome_of(Member(timer_id, fire_at + 1_000, 1), first_sent_at=fire_at + 1_500, lateness_ms=500)
    world.wiring.firings.settle([outcome])

    def moments(**query: Any) -> list[int]:
        page = world.send("GET", "/v1/firings", query=query).json
        return sorted(int(one["id"].partition("-")[2]) - fire_at for one in page["items"])

    assert moments(status="failed") == [0]
    assert moments(status="succeeded") == [1_000]
    assert moments(laterThan="499ms") == [1_000]
    assert moments(laterThan="500ms") == []
    assert moments(since=fire_at + 1_000, until=fire_at + 2_000) == [1_000, 2_000]
    assert moments(kind="manual") == []
    world.send("POST", f"{TIMERS}/{timer_id}:fire", rule=f"{ONE_TIMER}:fire")
    assert len(moments(kind="manual", until=world.clock.now + 1_000)) == 1


# the request as it was sent

SECRETS = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "X-Tag": ["a", "b"]}


def sent_once(world: V1World, sent_after_ms: int = 1, **fields: Any) -> tuple[str, int]:
    """Make a timer, have its first firing sent; return the firing's id and when it was sent (ms UTC)."""
    target = {"url": f"{URL}?token=abc&order=42", "headers": SECRETS, "json": {"order": 42}}
    timer_id = world.made(target=target, **fields).json["id"]
    world.clock.now += 3_000
    record = world.wiring.firings.records(timer_id, 99)[-1]
    sent_at = record.firing.fire_at + sent_after_ms
    outcome = outcome_of(record.firing.member, first_sent_at=sent_at, http_status=200)
    world.wiring.firings.settle([outcome._replace(member=Member(timer_id, record.firing.fire_at, 1))])
    return record.firing.member.firing_id, sent_at


def test_a_firing_shows_its_request_as_it_was_sent_with_secrets_masked(world: V1World) -> None:
    firing_id, _ = sent_once(world)
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert found["requestState"] == "as_sent"
    request = found["request"]
    assert request["url"] == f"{URL}?token=***&order=42"
    assert (request["method"], request["attempt"], request["body"]) == ("POST", 1, '{"order":42}')
    headers = request["headers"]
    assert [headers[name] for name in ("Authorization", "Cookie", "X-Api-Key")] == [["***"]] * 3
    assert headers["X-Tag"] == ["***", "***"]
    assert headers["Content-Type"] == ["application/json"]
    assert headers["webhook-id"] == [firing_id]
    assert headers["X-WangTimer-Attempt"] == ["1"]
    assert headers["Content-Length"] == ["12"]


def test_a_firing_of_which_nothing_was_sent_has_no_request(world: V1World) -> None:
    timer_id = world.made().json["id"]
    world.clock.now += 3_000
    firing_id = world.wiring.firings.records(timer_id, 99)[-1].firing.member.firing_id
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert (found["request"], found["requestState"]) == (None, "not_sent")


def test_a_timer_changed_since_does_not_tell_what_was_sent(world: V1World) -> None:
    firing_id, _ = sent_once(world)
    world.clock.now += 60_000
    change = {"target": {"url": "http://target.example:8080/elsewhere"}}
    world.send("PATCH", f"{TIMERS}/key:expire", change, rule=ONE_TIMER)
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert (found["request"], found["requestState"]) == (None, "timer_changed")
    world.send("DELETE", f"{TIMERS}/key:expire", rule=ONE_TIMER)
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert (found["request"], found["requestState"]) == (None, "timer_changed")


@pytest.mark.parametrize(("sent_after_ms", "state"), [(6_000, "timer_changed"), (9_500, "as_sent")])
def test_a_change_shortly_before_may_not_have_counted_yet(
    world: V1World, sent_after_ms: int, state: str
) -> None:
    """It counts within 8 s, where Redis could not be told at once. The timer is enabled right after it is made."""
    world.made(key="other")
    firing_id, _ = sent_once(world, sent_after_ms, enabled=True, schedule={"every": "1s"})
    timer_id = int(firing_id.partition("-")[0])
    sql = update(timers).where(timers.c.id == timer_id).values(version=2)
    world.wiring.database.write(lambda connection: connection.execute(sql), FailPoint.SQL_EDIT)
    found = world.send("GET", f"/v1/firings/{firing_id}", rule=ONE).json
    assert found["requestState"] == state


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "soon", 7, True])
def test_a_start_that_cannot_be_is_named_as_the_request_names_it(small_world: V1World, moment: Any) -> None:
    small_world.made()
    range_of_all = {"since": "2026-11-01T00:00:00Z", "until": "2026-11-02T00:00:00Z", "startAt": moment}
    for path, rule in (
        (f"{TIMERS}/key:expire", ONE_TIMER + ":backfill"),
        ("/v1/firings", "/v1/firings:replay"),
    ):
        verb = rule.rpartition(":")[2]
        refused = small_world.send("POST", f"{path}:{verb}", range_of_all, rule=rule)
        assert (refused.status, refused.json["pointer"]) == (400, "/startAt")


def test_a_start_of_a_schedule_is_named_in_its_schedule(small_world: V1World) -> None:
    schedule = {"every": "1m", "startAt": "soon"}
    refused = small_world.send("POST", TIMERS, {"schedule": schedule, "target": {"url": URL}})
    assert refused.json["pointer"] == "/schedule/startAt"
