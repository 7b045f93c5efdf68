"""The client's operations on many timers, on firings on demand and on the load, against the real service."""

import pytest

from tests.client.outcomes import fired
from tests.client.served import Served
from wangtimer.client import Callback, Client, Conflict, NotFound, Refused
from wangtimer.client.timer_calls import PUT_DEFAULTS

CALLBACK: Callback = {"url": "http://target.example/"}
MINUTE_MS = 60_000


def test_a_timer_is_put_twice_and_then_differently(client: Client) -> None:
    put = client.put_timer("a", CALLBACK, cron="@daily", tags=["x"])
    assert (put["created"], put["data"]["version"]) == (True, 1)
    again = client.put_timer("a", CALLBACK, cron="@daily", tags=["x"])
    assert (again["created"], again["id"], again["data"]["version"]) == (False, put["id"], 1)
    other = client.put_timer("a", CALLBACK, cron="@hourly", version=1)
    assert (other["data"]["cron"], other["data"]["version"]) == ("@hourly", 2)
    assert "tags" not in other["data"]
    with pytest.raises(Conflict):
        client.put_timer("a", CALLBACK, cron="@daily", version=1)


def test_a_put_that_does_not_say_otherwise_leaves_the_defaults(client: Client) -> None:
    client.put_timer(
        "a",
        CALLBACK,
        cron="@daily",
        timezone="Asia/Shanghai",
        jitter_ms=5,
        tags=["x"],
        misfire="skip",
        misfire_grace_ms=5_000,
        catchup_window_ms=1,
    )
    timer = client.put_timer("a", CALLBACK, cron="@daily")["data"]
    assert {name: timer.get(name) for name in PUT_DEFAULTS} == PUT_DEFAULTS


def test_a_timer_is_deleted_by_its_name(client: Client) -> None:
    timer_id = client.create_timer("a", CALLBACK, cron="@daily")["id"]
    client.delete_timer(name="a")
    with pytest.raises(NotFound):
        client.get_timer(timer_id)


def test_a_timer_is_switched_and_fired_by_its_name(client: Client) -> None:
    client.create_timer("a", CALLBACK, cron="@yearly")
    assert client.enable_timer(name="a")["statusName"] == "enabled"
    assert client.fire_now(name="a")["kind"] == "manual"
    assert client.disable_timer(name="a")["statusName"] == "disabled"
    assert client.unable_timer(name="a")["version"] == 3
    for call in (client.enable_timer, client.disable_timer, client.unable_timer, client.fire_now):
        with pytest.raises(NotFound):
            call(name="b")
        with pytest.raises(Refused, match="give one of them"):
            call()


def test_a_create_with_the_same_key_is_one_timer(client: Client) -> None:
    first = client.create_timer("a", CALLBACK, cron="@daily", idempotency_key="k")
    assert client.create_timer("a", CALLBACK, cron="@daily", idempotency_key="k") == first


def test_timers_are_made_together_and_one_that_cannot_be_stops_no_other(client: Client) -> None:
    made = client.create_timers(
        [
            {"name": "a", "callback": CALLBACK, "cron": "@daily"},
            {"name": "b", "callback": CALLBACK, "cron": "61 * * * *"},
            {"name": "c", "callback": CALLBACK, "delay_ms": 60_000},
        ],
        enable=True,
    )
    assert [one["code"] for one in made["data"]] == [0, 40008, 0]
    assert (made["created"], made["failed"]) == (2, 1)
    assert {timer["statusName"] for timer in client.timers()} == {"enabled"}


def test_many_are_changed_in_rounds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [
        client.create_timer(f"t{number}", CALLBACK, cron="@daily", tags=["x"])["id"] for number in range(5)
    ]
    assert client.change_timers("enable", wanted={"tag": "x"}, dry_run=True)["matched"] == 5
    monkeypatch.setattr("wangtimer.client.timer_list_calls.MOST_A_ROUND", 2)
    rounds = list(client.change_timers_in_rounds("enable", wanted={"tag": "x"}))
    assert [(one["done"], one["remaining"]) for one in rounds] == [(2, 3), (2, 1), (1, 0)]
    assert {timer["statusName"] for timer in client.timers()} == {"enabled"}
    monkeypatch.undo()
    deleted = list(client.change_timers_in_rounds("delete", ids=[*ids[:2], 99]))
    assert sum(one["done"] for one in deleted) == 2
    assert [fault["id"] for one in deleted for fault in one["failed"]] == [99]


def test_the_load_is_that_of_one_app_or_of_all(served: Served, client: Client) -> None:
    served.world.enabled(name="a", cron="* * * * *")
    served.world.enabled(name="b", app="bank", cron="* * * * *")
    mine = client.get_load(minutes=5)
    assert {app for minute in mine["data"] for app in minute["apps"]} == {"shop"}
    both = client.get_load(minutes=5, of_all_apps=True)
    assert {app for minute in both["data"] for app in minute["apps"]} == {"shop", "bank"}


def test_firings_are_counted(served: Served, client: Client) -> None:
    fired(served.world, client.create_timer("a", CALLBACK, cron="* * * * * *")["id"], 3)
    assert client.count_firings() == {"pending": 0, "succeeded": 3, "failed": 0, "skipped": 0}
    assert client.count_firings(status="failed")["succeeded"] == 0


def test_a_firing_has_its_attempts(served: Served, client: Client) -> None:
    timer_id = client.create_timer("a", CALLBACK, cron="* * * * * *")["id"]
    (moment,) = fired(served.world, timer_id, 1)
    found = client.get_firing(timer_id, moment)
    assert (found["fireAtMs"], found["kind"]) == (moment, "scheduled")
    assert isinstance(found["attempts"], list)
    with pytest.raises(NotFound):
        client.get_firing(timer_id, moment + 1)


def test_a_timer_fires_now(client: Client) -> None:
    timer_id = client.create_timer("a", CALLBACK, cron="@yearly")["id"]
    made = client.fire_now(timer_id)
    assert (made["timerID"], made["kind"], made["statusName"]) == (timer_id, "manual", "pending")


def test_a_firing_to_come_is_cancelled(served: Served, client: Client) -> None:
    timer_id = served.world.enabled(name="a", cron="* * * * *")
    moment = (served.world.clock.now // MINUTE_MS + 3) * MINUTE_MS
    cancelled = client.cancel_firing(timer_id, moment)
    assert (cancelled["statusName"], cancelled["error"]) == ("skipped", "cancelled")


def test_moments_past_are_backfilled_in_rounds(served: Served, client: Client) -> None:
    timer_id = client.create_timer("a", CALLBACK, cron="* * * * *")["id"]
    until = served.world.clock.now // MINUTE_MS * MINUTE_MS
    span = {"since": until - 10 * MINUTE_MS, "until": until}
    assert client.backfill_firings(timer_id, **span, dry_run=True)["matched"] == 10
    rounds = list(client.backfill_in_rounds(timer_id, **span, per_second=1_000))
    assert sum(one["planned"] for one in rounds) == 10
    assert rounds[-1]["remaining"] == 0


def test_failed_firings_are_replayed_in_rounds_and_by_their_keys(served: Served, client: Client) -> None:
    timer_id = client.create_timer("a", CALLBACK, cron="* * * * * *")["id"]
    moments = fired(served.world, timer_id, 4, failed=True)
    counted = client.replay_firings(since=moments[0], statuses=["failed"], dry_run=True)
    assert (counted["matched"], counted["replayed"]) == (4, 0)
    one = client.replay_firings([{"id": timer_id, "fire_at": moments[0]}])
    assert (one["matched"], one["replayed"], one["notReplayed"]) == (1, 1, [])
    rounds = list(client.replay_in_rounds(since=moments[0], statuses=["failed"], per_second=1_000))
    assert sum(one["replayed"] for one in rounds) == 3
    assert list(client.firings(status="failed")) == []
