"""Targets whose firings consumers take: no broker has to be set up for them, and each firing is acknowledged.

What docs/how-to/consumers-behind-a-firewall.md shows is tried here.
"""

from typing import Any

import pytest

from tests.api.v1.test_targets import get, patch, put
from tests.api.v1.world import TIMERS, URL, V1World
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.messages.message_place import place_from
from wangtimer.core.messages.named_broker import read_brokers
from wangtimer.store.sql.firings import insert_missing


@pytest.fixture
def world(small_world: V1World) -> V1World:
    return small_world


@pytest.mark.parametrize(
    "consumers", [{"group": "reports"}, {"group": "a.B-c_9", "fallbackUrl": "https://app.example/x?y=1"}]
)
def test_a_target_is_shown_as_it_was_made_and_has_time_to_acknowledge(
    world: V1World, consumers: dict[str, str]
) -> None:
    made = put(world, {"consumers": consumers})
    assert made.status == 201, made.json
    shown = get(world).json
    assert (shown["consumers"], shown["ackTimeout"]) == (consumers, "30s")
    assert not shown.keys() & {"url", "method", "queue", "celery"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"consumers": {"group": ""}}, "/consumers/group"),
        ({"consumers": {"group": "a/b"}}, "/consumers/group"),
        ({"consumers": {"group": "a" * 65}}, "/consumers/group"),
        ({"consumers": {"group": "a", "fallbackUrl": "ftp://a/"}}, "/consumers/fallbackUrl"),
        (
            {"consumers": {"group": "a", "fallbackUrl": "https://a.example/?token=abcdefg"}},
            "/consumers/fallbackUrl",
        ),
        ({"consumers": {"group": "a"}, "url": URL}, "/consumers"),
        ({"consumers": {"group": "a"}, "method": "PUT"}, "/method"),
    ],
)
def test_a_target_that_cannot_work_is_refused(world: V1World, body: dict[str, Any], pointer: str) -> None:
    refused = put(world, body)
    assert (refused.status, refused.json["pointer"]) == (400, pointer), refused.json


def test_its_time_to_acknowledge_may_be_changed_and_never_taken_away(world: V1World) -> None:
    put(world, {"consumers": {"group": "reports"}, "ackTimeout": "1h"})
    assert get(world).json["ackTimeout"] == "1h"
    assert patch(world, {"ackTimeout": None}).json["ackTimeout"] == "30s"
    changed = patch(world, {"consumers": {"group": "others"}})
    assert changed.json["consumers"] == {"group": "others"}


def test_it_stays_of_its_kind_and_its_timers_give_no_part_of_a_call(world: V1World) -> None:
    put(world, {"consumers": {"group": "reports"}})
    assert put(world, {"url": URL}).status == 400
    body = {"key": "a", "schedule": {"delay": "1m"}, "target": {"name": "orders", "path": "/x"}}
    refused = world.send("POST", TIMERS, body)
    assert (refused.status, refused.json["pointer"]) == (400, "/target/path")
    body["target"] = {"name": "orders", "json": {"order": 7}}
    assert world.send("POST", TIMERS, body).status == 201


def test_a_kept_secret_goes_to_no_other_fallback(world: V1World) -> None:
    """Else whoever may change targets could have it called with the secrets of the target."""
    held = {"group": "reports", "fallbackUrl": "https://app.example/x"}
    put(world, {"consumers": held, "headers": {"Authorization": "sesame"}})
    for url in ("https://elsewhere.example/", "http://app.example/x", "https://app.example:444/x"):
        refused = patch(world, {"consumers": held | {"fallbackUrl": url}})
        assert (refused.status, refused.json["pointer"]) == (400, "/consumers/fallbackUrl"), url
    assert get(world).json["consumers"] == held
    assert patch(world, {"consumers": held | {"fallbackUrl": "https://app.example/y"}}).status == 200
    assert patch(world, {"consumers": {"group": "others"}}).status == 200
    assert patch(world, {"consumers": held}).status == 400
    assert patch(world, {"consumers": held, "headers": {"Authorization": "anew"}}).status == 200


def test_nothing_of_where_it_leads_is_marked_as_secret(world: V1World) -> None:
    """It was stored, and each list of targets then failed."""
    refused = put(world, {"consumers": {"group": "reports"}, "secretQuery": True})
    assert (refused.status, refused.json["pointer"]) == (400, "/secretQuery")
    put(world, {"consumers": {"group": "reports"}})
    assert patch(world, {"secretQuery": True}).json["pointer"] == "/secretQuery"
    body = {"key": "a", "schedule": {"delay": "1m"}, "target": {"name": "orders", "secretQuery": True}}
    refused = world.send("POST", TIMERS, body)
    assert (refused.status, refused.json["pointer"]) == (400, "/target/secretQuery")


def test_a_firing_that_waits_for_a_consumer_is_shown(world: V1World) -> None:
    put(world, {"consumers": {"group": "reports"}})
    target = {"name": "orders", "json": {"order": 7}}
    made = world.made(key="work", enabled=False, target=target)
    member = Member(made.json["id"], world.clock.now - 60_000, 1)
    firing = Firing.planned(*member.key, 0)
    world.wiring.database.write(lambda sql: insert_missing(sql, [firing]))
    due_at = world.clock.now + 30_000
    world.wiring.firings.settle(
        [Outcome(member, 0, FiringStatus.ACCEPTED, due_at, member.fire_at, 0, 1, None)]
    )
    shown = world.send("GET", f"/v1/firings/{member.firing_id}", rule="/v1/firings/{firing_id}")
    assert (shown.status, shown.json["status"]) == (200, "accepted"), shown.json
    assert shown.json["request"]["body"] == '{"order":7}'


def test_no_broker_of_an_operator_has_their_name_and_none_takes_what_is_for_them() -> None:
    file = '[[broker]]\nname = "consumers"\nurl = "redis://a/0"'
    with pytest.raises(ValueError, match="choose another"):
        read_brokers(file)
    other = read_brokers(file.replace('"consumers"', '"orders"'))["orders"]
    assert "takes no consumers" in other.why_not("shop", place_from("queue://orders/consumers?name=a"))
