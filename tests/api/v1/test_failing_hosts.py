"""Which hosts fail, as an app and as operators see it."""

import json
from collections.abc import Iterator

import pytest

from tests.api.keyed_world import KeyedWorld
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.redis.failing_hosts import FailingHost


@pytest.fixture
def keyed(sqlite_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(sqlite_url, redis_url, 1_800_000_000_000)
    yield world
    world.close()


def told(keyed: KeyedWorld) -> None:
    now = keyed.clock.now
    keyed.wiring.failing_hosts.tell(
        [
            FailingHost("shop", "http://a:80", now - 9_000, now - 1_000, "timed out", now),
            FailingHost("bank", "http://a:80", now - 5_000, now - 2_000, "HTTP 503", now),
        ]
    )


def items(keyed: KeyedWorld, path: str, key: str) -> list[dict[str, object]]:
    answer = keyed.ask("GET", path, key)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = json.loads(answer.text)["items"]
    return found


def test_an_app_sees_its_own_failing_hosts_alone(keyed: KeyedWorld) -> None:
    shop, ads = keyed.app_of("shop"), keyed.app_of("ads")
    told(keyed)
    (mine,) = items(keyed, "/v1/failing-hosts", shop)
    assert mine.keys() == {"host", "since", "lastFailedAt", "lastError", "disabledAt"}
    assert mine["disabledAt"] is None
    assert (mine["host"], mine["lastError"]) == ("http://a:80", "timed out")
    assert items(keyed, "/v1/failing-hosts", ads) == []


def test_operators_see_those_of_all_apps_and_how_many_wait(keyed: KeyedWorld) -> None:
    operators = keyed.key(None)
    told(keyed)
    _wait(keyed, SharedLane.of_way("shop", "a:80"), 3)
    _wait(keyed, SharedLane.of_way("bank", "a:80"), 1)
    found = items(keyed, "/v1/failing-hosts:allApps", operators)
    assert [(one["app"], one["waiting"]) for one in found] == [("shop", 3), ("bank", 1)]


def test_what_waits_for_a_limit_of_a_failing_host_counts_and_what_is_paused_does_not(
    keyed: KeyedWorld,
) -> None:
    operators = keyed.key(None)
    told(keyed)
    _wait(keyed, SharedLane.of_way("shop", "a:80"), 1)
    _wait(keyed, SharedLane.of_host_limit("a:80"), 2)
    _wait(keyed, SharedLane.of_app_at_host("shop", "a:80"), 4)
    _wait(keyed, SharedLane.of_pause("host:a:80"), 8)
    found = items(keyed, "/v1/failing-hosts:allApps", operators)
    assert [(one["app"], one["waiting"]) for one in found] == [("shop", 7), ("bank", 2)]


def _wait(keyed: KeyedWorld, lane: SharedLane, number: int) -> None:
    now = keyed.clock.now
    waiting = [DueMember(Member(timer_id, now, 1), now) for timer_id in range(1, number + 1)]
    keyed.wiring.lanes.add({lane: waiting}, is_repair=False)


def test_no_app_sees_those_of_all_apps(keyed: KeyedWorld) -> None:
    shop = keyed.app_of("shop")
    assert keyed.ask("GET", "/v1/failing-hosts:allApps", shop).status_code == 403


def disabled(keyed: KeyedWorld, *apps: str, origin: str = "http://a:80") -> None:
    at = keyed.clock.now - 4_000
    hosts = [DisabledHost(app, origin, at - 5_000, at - 1_000, at, "timed out") for app in apps]
    keyed.wiring.disabled_hosts.disable(hosts, 1)
    keyed.wiring.disabled_hosts_replica.tell()


def test_a_disabled_host_is_listed_once_with_when_also_while_no_process_sees_it_fail(
    keyed: KeyedWorld,
) -> None:
    shop, operators = keyed.app_of("shop"), keyed.key(None)
    told(keyed)
    disabled(keyed, "shop")
    disabled(keyed, "shop", "bank", origin="http://b:80")
    found = items(keyed, "/v1/failing-hosts", shop)
    at = show_moment(keyed.clock.now - 4_000)
    assert [(one["host"], one["disabledAt"]) for one in found] == [("http://a:80", at), ("http://b:80", at)]
    assert found[1]["lastError"] == "timed out"
    everywhere = items(keyed, "/v1/failing-hosts:allApps", operators)
    hosts = [(one["app"], one["host"], one["disabledAt"] is not None) for one in everywhere]
    assert hosts == [
        ("bank", "http://b:80", True),
        ("shop", "http://a:80", True),
        ("shop", "http://b:80", True),
        ("bank", "http://a:80", False),
    ]


def test_an_app_enables_its_own_host_alone_and_callback_processes_are_told(keyed: KeyedWorld) -> None:
    shop = keyed.app_of("shop")
    disabled(keyed, "shop", "bank")
    body = {"host": "http://a:80"}
    assert keyed.wiring.disabled_hosts_replica.read() == {("shop", "http://a:80"), ("bank", "http://a:80")}
    assert keyed.ask("POST", "/v1/failing-hosts:enable", shop, json=body).status_code == 204
    assert keyed.wiring.disabled_hosts_replica.read() == {("bank", "http://a:80")}
    assert items(keyed, "/v1/failing-hosts", shop) == []
    again = keyed.ask("POST", "/v1/failing-hosts:enable", shop, json=body)
    assert (again.status_code, json.loads(again.text)["code"]) == (409, 40902)
    assert "is not disabled for this app" in again.text


def test_a_broker_has_one_name_where_it_fails_is_enabled_and_is_on_record(keyed: KeyedWorld) -> None:
    shop, operators, now = keyed.app_of("shop"), keyed.key(None), keyed.clock.now
    keyed.wiring.failing_hosts.tell([FailingHost("shop", "queue://hot", now - 9_000, now, "timed out", now)])
    disabled(keyed, "shop", origin="queue://orders")
    assert {one["host"] for one in items(keyed, "/v1/failing-hosts", shop)} == {"broker:hot", "broker:orders"}
    shown = items(keyed, "/v1/failing-hosts:allApps", operators)
    assert {one["host"] for one in shown} == {"broker:hot", "broker:orders"}
    enable = "/v1/failing-hosts:enable"
    assert keyed.ask("POST", enable, shop, json={"host": "broker:orders"}).status_code == 204
    assert keyed.wiring.disabled_hosts_replica.read() == set()
    (change,) = items(keyed, "/v1/audit?kind=host", operators)
    assert (change["action"], change["subject"]) == ("enable", "broker:orders")


def test_a_host_is_enabled_as_dead_letters_and_pauses_spell_it_where_one_is_meant(keyed: KeyedWorld) -> None:
    shop = keyed.app_of("shop")
    disabled(keyed, "shop", origin="http://a:80/orders")
    disabled(keyed, "bank", origin="https://a:80")
    enable, body = "/v1/failing-hosts:enable", {"host": "a:80"}
    assert keyed.ask("POST", enable, shop, json={"host": "b:80"}).status_code == 409
    assert keyed.ask("POST", enable, shop, json=body).status_code == 204
    assert keyed.wiring.disabled_hosts_replica.read() == {("bank", "https://a:80")}
    disabled(keyed, "shop", origin="http://a:80#pay")
    disabled(keyed, "shop", origin="https://a:80")
    refused = keyed.ask("POST", enable, shop, json=body)
    assert (refused.status_code, json.loads(refused.text)["code"]) == (409, 40902)
    assert "'a:80' may be http://a:80#pay or https://a:80" in refused.text
    assert len(items(keyed, "/v1/failing-hosts", shop)) == 2
