"""The client's operations on many timers, on firings on demand and on the load, against the real service."""

from typing import Any

import pytest

from tests.client.outcomes import fired
from tests.client.served import Served
from wangtimer.client import ChangedTimer, Client, ClientError, NotFound, PreconditionFailed, Target
from wangtimer.client.own_work import put_whole, stands_as_wanted
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.messages.named_broker import read_brokers
from wangtimer.store.redis.failing_hosts import FailingHost

TARGET: Target = {"url": "http://target.example/"}
MINUTE_MS = 60_000


def make(client: Client, key: str, cron: str = "@daily", **fields: Any) -> ChangedTimer:
    return client.create_timer(key=key, target=TARGET, schedule={"cron": cron}, **fields)


def test_a_timer_is_put_twice_and_then_differently(client: Client) -> None:
    put = client.put_timer("key:a", target=TARGET, schedule={"cron": "@daily"}, tags=["x"])
    assert (put["created"], put["version"], put["enabled"]) == (True, 1, True)
    again = client.put_timer("key:a", target=TARGET, schedule={"cron": "@daily"}, tags=["x"])
    assert (again["created"], again["id"], again["version"]) == (False, put["id"], 1)
    other = client.put_timer(put, target=TARGET, schedule={"cron": "@hourly"}, version=1)
    assert (other["schedule"]["cron"], other["version"], other["tags"]) == ("@hourly", 2, [])
    with pytest.raises(PreconditionFailed):
        client.put_timer("key:a", target=TARGET, schedule={"cron": "@daily"}, version=1)


def test_a_put_that_does_not_say_otherwise_leaves_the_defaults(client: Client) -> None:
    client.put_timer(
        "key:a",
        target={**TARGET, "method": "PUT", "headers": {"X": "1"}, "body": "b", "timeout": "2s"},
        schedule={"cron": "@daily", "timezone": "Asia/Shanghai", "jitter": "5ms", "maxFirings": 3},
        tags=["x"],
        misfire={"policy": "skip", "grace": "5s", "catchupWindow": "1ms"},
        retentionDays=3,
        enabled=False,
    )
    body: Any = {"target": TARGET, "schedule": {"cron": "@daily"}}
    assert stands_as_wanted(client.put_timer("key:a", **body), put_whole(body))


def test_a_time_out_is_the_same_however_it_is_written(client: Client) -> None:
    made = client.create_timer(key="a", target={**TARGET, "timeout": "1500ms"}, schedule={"cron": "@daily"})
    for timeout, is_same in (("PT1.5S", True), ("1s500ms", True), ("2s", False), (None, False)):
        assert stands_as_wanted(made, {"target": {"timeout": timeout}}) is is_same


def test_a_create_with_the_same_idempotency_key_is_one_timer(client: Client) -> None:
    first = make(client, "a", idempotency_key="k")
    assert make(client, "a", idempotency_key="k") == first


def test_timers_are_made_together_and_one_that_cannot_be_stops_no_other(client: Client) -> None:
    made = client.batch_create_timers(
        [
            {"key": "a", "target": TARGET, "schedule": {"cron": "@daily"}},
            {"key": "b", "target": TARGET, "schedule": {"cron": "61 * * * *"}},
            {"target": TARGET, "schedule": {"delay": "60s"}, "enabled": False},
        ]
    )
    problems = [one["problem"] and one["problem"]["code"] for one in made["items"]]
    assert problems == [None, 40008, None]
    assert (made["created"], made["failed"]) == (2, 1)
    assert sorted(timer["status"] for timer in client.timers()) == ["disabled", "enabled"]


def test_many_are_changed_in_rounds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [make(client, f"t{number}", tags=["x"], enabled=False)["id"] for number in range(5)]
    assert client.batch_enable_timers(filter={"tag": "x"}, dry_run=True)["matched"] == 5
    monkeypatch.setattr("wangtimer.client.timer_calls.MOST_A_ROUND", 2)
    rounds = list(client.change_timers_in_rounds("enable", filter={"tag": "x"}))
    assert [(one["done"], one["remaining"]) for one in rounds] == [(2, 3), (2, 1), (1, 0)]
    assert {timer["status"] for timer in client.timers()} == {"enabled"}
    named = list(client.change_timers_in_rounds("disable", keys=["t0", "t1", "t2", "none"]))
    assert sum(one["done"] for one in named) == 3
    assert [key for one in named for key in one["unknownKeys"]] == ["none"]
    deleted = list(client.change_timers_in_rounds("delete", ids=[*ids[:2], 99]))
    assert sum(one["done"] for one in deleted) == 2
    assert [fault["id"] for one in deleted for fault in one["failed"]] == [99]
    assert sum(one["done"] for one in client.change_timers_in_rounds("delete", all=True)) == 3


def test_the_load_is_that_of_one_app_or_of_all(served: Served, client: Client) -> None:
    served.world.enabled(name="a", cron="* * * * *")
    served.world.enabled(name="b", app="bank", cron="* * * * *")
    mine = client.get_load(minutes=5)
    assert mine["firings"] == sum(minute["firings"] for minute in mine["items"]) > 0
    with Client(served.url, None) as operator:
        both = operator.get_load_of_all_apps(minutes=5)
    assert {app for minute in both["items"] for app in minute["apps"]} == {"shop", "bank"}


def test_failing_hosts_are_those_of_one_app_or_of_all(served: Served, client: Client) -> None:
    now = served.world.clock.now
    hosts = [FailingHost(app, "http://a:80", now - 9_000, now, "HTTP 503", now) for app in ("shop", "bank")]
    served.world.wiring.failing_hosts.tell(hosts)
    (mine,) = client.get_failing_hosts()["items"]
    assert (mine["host"], mine["lastError"]) == ("http://a:80", "HTTP 503")
    with Client(served.url, None) as operator:
        both = operator.get_failing_hosts_of_all_apps()["items"]
    assert {(one["app"], one["waiting"]) for one in both} == {("shop", 0), ("bank", 0)}


def test_the_brokers_are_those_that_the_app_may_use(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get_brokers()["items"] == []
    text = '[[broker]]\nname = "hot"\nurl = "redis://r/0"\n[[broker.allow]]\napp = "shop"\nlists = ["a", "b"]'
    monkeypatch.setitem(vars(served.world.wiring.settings), "named_brokers", read_brokers(text))
    (hot,) = client.get_brokers()["items"]
    assert (hot["name"], hot["kind"], hot["allowed"]) == ("hot", "redis", [{"lists": ["a", "b"]}])


def test_a_disabled_host_is_enabled(served: Served, client: Client) -> None:
    now = served.world.clock.now
    host = DisabledHost("shop", "http://a:80", now - 9_000, now, now, "HTTP 503")
    served.world.wiring.disabled_hosts.disable([host], 9_000)
    assert client.get_failing_hosts()["items"][0]["disabledAt"] is not None
    client.enable_host("http://a:80")
    assert client.get_failing_hosts()["items"] == []
    with pytest.raises(ClientError, match="is not disabled for this app"):
        client.enable_host("http://a:80")


def test_firings_are_counted(served: Served, client: Client) -> None:
    timer = make(client, "a", enabled=False)
    fired(served.world, timer["id"], 3)
    assert client.count_firings() == {"pending": 0, "accepted": 0, "succeeded": 3, "failed": 0, "skipped": 0}
    assert client.count_firings(timer=timer, status="failed")["succeeded"] == 0


def test_a_firing_has_its_attempts(served: Served, client: Client) -> None:
    timer_id = make(client, "a", enabled=False)["id"]
    (moment,) = fired(served.world, timer_id, 1)
    found = client.get_firing(f"{timer_id}-{moment}")
    assert (found["timerId"], found["kind"]) == (timer_id, "scheduled")
    assert isinstance(found["attempts"], list)
    with pytest.raises(NotFound):
        client.get_firing(f"{timer_id}-{moment + 1}")


def test_a_timer_fires_now(client: Client) -> None:
    made = client.fire_timer(make(client, "a", "@yearly"))
    assert (made["kind"], made["status"]) == ("manual", "pending")


def test_a_firing_to_come_is_cancelled(served: Served, client: Client) -> None:
    timer_id = served.world.enabled(name="a", cron="* * * * *")
    moment = (served.world.clock.now // MINUTE_MS + 3) * MINUTE_MS
    cancelled = client.cancel_firing(f"{timer_id}-{moment}")
    assert (cancelled["status"], cancelled["error"]) == ("skipped", "cancelled")


def test_moments_past_are_backfilled_in_rounds(served: Served, client: Client) -> None:
    make(client, "a", "* * * * *", enabled=False)
    until = served.world.clock.now // MINUTE_MS * MINUTE_MS
    since = until - 10 * MINUTE_MS
    assert client.backfill_timer("key:a", since=since, until=until, dryRun=True)["matched"] == 10
    rounds = list(client.backfill_in_rounds("key:a", since=since, until=until, perSecond=1_000))
    assert sum(one["planned"] for one in rounds) == 10
    assert rounds[-1]["remaining"] == 0


def test_failed_firings_are_replayed_in_rounds_and_by_their_ids(served: Served, client: Client) -> None:
    timer = make(client, "a", enabled=False)
    moments = fired(served.world, timer["id"], 4, failed=True)
    counted = client.replay_firings(since=moments[0], spread={"dryRun": True})
    assert (counted["matched"], counted["replayed"]) == (4, 0)
    one = client.replay_firings(ids=[f"{timer['id']}-{moments[0]}"])
    assert (one["matched"], one["replayed"], one["notReplayed"]) == (1, 1, [])
    assert client.replay_firing(f"{timer['id']}-{moments[1]}")["replayed"] == 1
    again = client.replay_firing(f"{timer['id']}-{moments[1]}")
    assert again["notReplayed"][0]["id"] == f"{timer['id']}-{moments[1]}"
    rounds = list(
        client.replay_in_rounds(
            since=moments[0], timer=timer, statuses=["failed"], spread={"perSecond": 1_000}
        )
    )
    assert sum(one["replayed"] for one in rounds) == 2
    assert list(client.firings(status="failed")) == []
