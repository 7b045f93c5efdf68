"""Under an Idempotency-Key an acting request of v1 is carried out once."""

from typing import Any

import pytest
from sqlalchemy import func, select

from tests.api.v1.test_every_operation import DOCUMENT
from tests.api.v1.test_firings import ONE, ONE_TIMER, settled
from tests.api.v1.world import TIMERS, URL, Answered, V1World, lose_sql_after_one_transaction
from wangtimer.api.http.kept_answers import MOST_KEPT
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.kept_answers import LONGEST_REQUEST_MS
from wangtimer.store.sql.tables import idempotency

DAY = 86_400_000
KEYED = {
    "v1CreateTimer",
    "v1EnableTimer",
    "v1DisableTimer",
    "v1FireTimer",
    "v1BackfillTimer",
    "v1BatchCreateTimers",
    "v1BatchEnableTimers",
    "v1BatchDisableTimers",
    "v1BatchDeleteTimers",
    "v1ReplayFirings",
    "v1ReplayDeadLetters",
    "v1DiscardDeadLetters",
    "v1EnableHost",
    "v1TestAlertRule",
    "v1ReplayFiring",
    "v1CancelFiring",
}


def fire(world: V1World, key: str = "one", which: str = "key:expire") -> Answered:
    return world.send("POST", f"{TIMERS}/{which}:fire", rule=f"{ONE_TIMER}:fire", Idempotency_Key=key)


def manual_firings(world: V1World) -> int:
    query = {"kind": "manual", "until": world.clock.now + DAY}
    return len(world.send("GET", "/v1/firings", query=query).json["items"])


def test_whatever_creates_or_acts_by_post_takes_a_key() -> None:
    posts = {
        methods["post"]["operationId"]: {one["name"] for one in methods["post"].get("parameters", ())}
        for path, methods in DOCUMENT["paths"].items()
        if path.startswith("/v1/") and "post" in methods
    }
    assert {name for name, taken in posts.items() if "Idempotency-Key" in taken} == KEYED
    # What operators make is shown once; a secret too.
    unkeyed = {"v1PreviewSchedule", "v1CreateApp", "v1CreateAppKey", "v1CreateOperatorKey", "v1RotateSecret"}
    # What is said of a firing is as true the second time.
    unkeyed |= {"v1AckFiring", "v1NackFiring", "v1HeartbeatFiring"}
    assert posts.keys() - KEYED == unkeyed


def test_a_timer_is_fired_once(world: V1World) -> None:
    world.made(enabled=False)
    first = fire(world)
    world.clock.now += 5_000
    again = fire(world)
    assert (again.status, again.json) == (first.status, first.json) == (201, first.json)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["Location"] == first.headers["Location"]
    assert manual_firings(world) == 1
    assert fire(world, "two").json["id"] != first.json["id"]


def test_a_create_gets_its_first_answer_again_though_it_would_be_refused_by_now(world: V1World) -> None:
    now = int(world.clock.now)
    new = {"schedule": {"every": "1s", "endAt": now + 5_000}, "target": {"url": URL}}
    first = world.send("POST", TIMERS, new, Idempotency_Key="one")
    world.clock.now += 10_000
    assert world.send("POST", TIMERS, new).status == 400
    again = world.send("POST", TIMERS, new, Idempotency_Key="one")
    assert (again.status, again.json) == (first.status, first.json) == (201, first.json)
    for header in ("Location", "ETag"):
        assert again.headers[header] == first.headers[header]


def test_of_a_long_answer_the_content_of_the_call_is_not_kept(world: V1World) -> None:
    """300 creates of 60 KB under keys of their own, each deleted at once, left 18 MB that no limit counted."""
    call = {"url": URL, "body": "x" * 60_000, "headers": {"A": "y" * 4_000, "B": "z"}}
    new = {"key": "large", "schedule": {"every": "1h"}, "target": call}
    verb = f"{TIMERS}/key:large"
    for ask in (
        lambda: world.send("POST", TIMERS, new, Idempotency_Key="one"),
        lambda: world.send("POST", f"{verb}:enable", rule=f"{ONE_TIMER}:enable", Idempotency_Key="two"),
        lambda: world.send("POST", f"{verb}:disable", rule=f"{ONE_TIMER}:disable", Idempotency_Key="three"),
    ):
        first, again = ask(), ask()
        target = first.json.get("timer", first.json)["target"]
        assert (target["body"], target["headers"]["B"]) == (call["body"], ["z"])
        target |= {"body": "***", "headers": {"A": ["***"], "B": ["***"]}}
        assert (again.status, again.json, again.etag) == (first.status, first.json, first.etag)
    with world.wiring.database.engine.connect() as sql:
        kept = sql.execute(select(func.max(func.length(idempotency.c.answer)))).scalar_one()
    assert kept < MOST_KEPT


def test_a_timer_that_was_fired_and_deleted_gets_its_first_answer_again(world: V1World) -> None:
    world.made(enabled=False)
    first = fire(world)
    assert world.send("DELETE", f"{TIMERS}/key:expire", rule=ONE_TIMER).status < 300
    again = fire(world)
    assert (again.status, again.json) == (first.status, first.json) == (201, first.json)


def test_the_same_key_for_another_timer_or_operation_is_refused(world: V1World) -> None:
    world.made(enabled=False)
    world.made(key="other", enabled=False)
    fire(world)
    others = [
        fire(world, which="key:other"),
        world.send("POST", f"{TIMERS}/key:expire:enable", rule=f"{ONE_TIMER}:enable", Idempotency_Key="one"),
        world.send("POST", f"{TIMERS}:batchEnable", {"all": True}, Idempotency_Key="one"),
    ]
    for refused in others:
        assert (refused.status, refused.json["code"], refused.json["parameter"]) == (
            422,
            42201,
            "Idempotency-Key",
        )


def test_another_apps_key_is_another_key(world: V1World) -> None:
    world.made(enabled=False)
    fire(world)
    body = {"key": "expire", "schedule": {"every": "1h"}, "target": {"url": URL}}
    world.send("POST", TIMERS, body, app="bank")
    fired = world.send(
        "POST", f"{TIMERS}/key:expire:fire", rule=f"{ONE_TIMER}:fire", app="bank", Idempotency_Key="one"
    )
    assert (fired.status, fired.json["app"]) == (201, "bank")


def test_after_a_day_a_key_is_as_good_as_new(world: V1World) -> None:
    world.made(enabled=False)
    first = fire(world)
    world.clock.now += DAY
    assert fire(world).json["id"] != first.json["id"]


def verbs(timer_id: int, firing_id: str, now: int) -> list[tuple[str, str, Any]]:
    """Return verbs, each with its rule and body, that do another thing when they are done once more."""
    coming = f"{timer_id}-{(now // 1_000 + 30) * 1_000}"
    return [
        (f"/v1/firings/{firing_id}:replay", f"{ONE}:replay", None),
        (f"/v1/firings/{coming}:cancel", f"{ONE}:cancel", None),
        (
            f"{TIMERS}/{timer_id}:backfill",
            f"{ONE_TIMER}:backfill",
            {"since": now - 90_000, "until": now - 80_000},
        ),
        (f"{TIMERS}/{timer_id}:disable", f"{ONE_TIMER}:disable", None),
        (f"{TIMERS}/{timer_id}:enable", f"{ONE_TIMER}:enable", None),
        ("/v1/firings:replay", "", {"since": now - 60_000, "statuses": ["failed", "skipped"]}),
        (f"{TIMERS}:batchCreate", "", {"timers": [{"schedule": {"every": "1h"}, "target": {"url": URL}}]}),
        (f"{TIMERS}:batchDisable", "", {"filter": {"status": "enabled"}}),
        (f"{TIMERS}:batchEnable", "", {"filter": {"status": "disabled"}}),
        (f"{TIMERS}:batchDelete", "", {"all": True}),
    ]


def test_every_verb_gets_its_first_answer_again_and_changes_nothing(world: V1World) -> None:
    timer_id, firing_id = settled(world)
    for number, (path, rule, body) in enumerate(verbs(timer_id, firing_id, int(world.clock.now))):
        first = world.send("POST", path, body, rule=rule, Idempotency_Key=f"k{number}")
        assert first.status == 200, first.json
        before = world.stored()
        again = world.send("POST", path, body, rule=rule, Idempotency_Key=f"k{number}")
        assert (again.status, again.json) == (200, first.json), path
        assert again.headers["Idempotent-Replayed"] == "true"
        assert world.stored() == before


def test_an_answer_with_a_row_that_may_succeed_later_is_not_kept(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = {
        "timers": [
            {"key": f"t{number}", "schedule": {"every": "1h"}, "target": {"url": URL}}
            for number in range(501)
        ]
    }
    with monkeypatch.context() as patched:
        lose_sql_after_one_transaction(world, patched)
        half = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one").json
    assert (half["created"], half["items"][-1]["problem"]["code"]) == (500, 50301)
    rest = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one").json
    assert (rest["created"], rest["items"][-1]["key"]) == (1, "t500")
    assert rest["items"][0]["problem"]["existingId"] == half["items"][0]["id"]
    kept = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one")
    assert (kept.json, kept.headers["Idempotent-Replayed"]) == (rest, "true")


def test_a_refusal_is_not_kept(world: V1World) -> None:
    path = f"{TIMERS}/key:expire:enable"
    refused = world.send("POST", path, rule=f"{ONE_TIMER}:enable", Idempotency_Key="one")
    assert refused.status == 404
    world.made(enabled=False)
    assert world.send("POST", path, rule=f"{ONE_TIMER}:enable", Idempotency_Key="one").status == 200


def test_a_request_under_way_is_refused_and_taken_over_once_it_is_abandoned(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process ended before its answer was kept."""
    kept = world.wiring.kept_answers

    def away(*_: object) -> None:
        raise StoreAway("SQL", "gone")

    new = {"timers": [{"schedule": {"every": "1h"}, "target": {"url": URL}}]}
    with monkeypatch.context() as patched:
        patched.setattr(type(kept), "end_claim", away)
        made = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one").json
    assert made["created"] == 1
    refused = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one")
    assert (refused.status, refused.json["code"]) == (409, 40902)
    world.clock.now += LONGEST_REQUEST_MS
    again = world.send("POST", f"{TIMERS}:batchCreate", new, Idempotency_Key="one").json
    # Made up from the key, its timer's key is the same: it is there already, and not made twice.
    assert again["items"][0]["problem"]["existingId"] == made["items"][0]["id"]
