"""What a Prometheus reads."""

import time
from collections.abc import Iterator
from contextlib import closing
from math import inf

import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from tests.api.world import World, present
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer
from tests.store.definitions import definition
from wangtimer.api.operations.health import MOST_S
from wangtimer.api.operations.metrics import READ_WITHIN_S
from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind
from wangtimer.core.apps.stored_key import new_key
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import Notify
from wangtimer.features.alerts.alert_teller import NOT_TRIED_PAUSE_MS
from wangtimer.features.failing_hosts.metrics import MOST_HOSTS
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.consumers import PRESENT_S
from wangtimer.store.redis.failing_hosts import PRESENT_MS, FailingHost
from wangtimer.store.sql.alert_messages import gather
from wangtimer.window.scheduler import LOOK_AHEAD_MS

OF_SQL = {
    "wangtimer_overdue_firings",
    "wangtimer_oldest_overdue_seconds",
    "wangtimer_planning_lag_seconds",
    "wangtimer_purge_lag_seconds",
    "wangtimer_client_certificate_seconds_left",
    "wangtimer_api_key_seconds_left",
    "wangtimer_pauses",
    "wangtimer_disabled_hosts",
    "wangtimer_overdue_alerts",
}
OF_STORE = {
    "wangtimer_seconds_since_tick",
    "wangtimer_parked_outcomes",
    "wangtimer_parked_share",
    "wangtimer_store_memory_bytes",
    "wangtimer_window_seconds",
    "wangtimer_target_waiting_firings",
    "wangtimer_throttled_firings",
    "wangtimer_paused_firings",
    "wangtimer_unserved_queues",
    "wangtimer_bad_timers",
    "wangtimer_bad_timer_notes_total",
    "wangtimer_egress_refusals_total",
    "wangtimer_failing_hosts",
    "wangtimer_consumer_groups",
    "wangtimer_consumers_waiting_share",
}
OF_BROKER = {"wangtimer_waiting_chunks"}
UPS = {"wangtimer_sql_up", "wangtimer_store_up", "wangtimer_broker_up"}


def figures(world: World) -> dict[str, float]:
    answer = world.client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_nothing_is_silent_when_things_are_calm(world: World) -> None:
    world.enabled(cron="* * * * *", name="calm")
    world.wiring.agenda.needs_until(int(world.wiring.clock.now_ms()) + LOOK_AHEAD_MS, 1, 0, 0)
    told = figures(world)
    assert told.pop("wangtimer_seconds_since_tick") < MOST_S
    assert told.pop("wangtimer_store_memory_bytes") > 0
    assert told == {
        "wangtimer_overdue_firings": 0,
        "wangtimer_oldest_overdue_seconds": 0,
        "wangtimer_planning_lag_seconds": 0,
        "wangtimer_purge_lag_seconds": 0,
        "wangtimer_client_certificate_seconds_left": inf,
        "wangtimer_api_key_seconds_left": inf,
        "wangtimer_parked_outcomes": 0,
        "wangtimer_parked_share": 0,
        "wangtimer_window_seconds": 0,
        "wangtimer_waiting_chunks": 0,
        "wangtimer_target_waiting_firings": 0,
        "wangtimer_throttled_firings": 0,
        "wangtimer_paused_firings": 0,
        "wangtimer_pauses": 0,
        "wangtimer_unserved_queues": 0,
        "wangtimer_bad_timers": 0,
        "wangtimer_bad_timer_notes_total": 0,
        "wangtimer_egress_refusals_total": 0,
        "wangtimer_failing_hosts": 0,
        "wangtimer_disabled_hosts": 0,
        "wangtimer_overdue_alerts": 0,
        "wangtimer_consumer_groups": 0,
        "wangtimer_consumers_waiting_share": 0,
        "wangtimer_sql_up": 1,
        "wangtimer_store_up": 1,
        "wangtimer_broker_up": 1,
    }


def test_firings_a_minute_past_without_an_outcome_are_counted_and_the_oldest_aged(world: World) -> None:
    timer_id = world.enabled(cron="*/10 * * * * *", name="silent")
    records = world.wiring.firings.records(timer_id, 99)
    first = records[-1].firing
    world.clock.now = first.fire_at + 85_000
    assert figures(world)["wangtimer_overdue_firings"] == 3
    assert figures(world)["wangtimer_oldest_overdue_seconds"] == 85
    done = Outcome(first.member, first.bucket, FiringStatus.SUCCEEDED, first.due_at)
    world.wiring.firings.settle([done])
    assert figures(world)["wangtimer_overdue_firings"] == 2
    waits = records[-2].firing
    world.wiring.firings.note_lanes({SharedLane.of_way("default", "gw:443", "/bad"): [waits.member]})
    assert figures(world)["wangtimer_overdue_firings"] == 1


def test_a_moment_that_nobody_plans_is_told_of(world: World) -> None:
    """It has no row among the firings, so no overdue firing tells of it."""
    world.enabled(cron="* * * * * *", name="mute")
    unplanned = world.wiring.timers.first_unplanned()
    assert unplanned is not None
    world.clock.now = unplanned
    assert figures(world)["wangtimer_planning_lag_seconds"] == 0
    world.clock.now = unplanned + 42_000
    assert figures(world)["wangtimer_planning_lag_seconds"] == 42


def test_the_memory_of_the_store_is_told_by_part(world: World) -> None:
    def parts() -> dict[str, float]:
        families = text_string_to_metric_families(world.client.get("/metrics").text)
        (family,) = [one for one in families if one.name == "wangtimer_store_memory_bytes"]
        return {sample.labels["part"]: sample.value for sample in family.samples}

    before = parts()
    assert list(before) == ["window", "lanes", "outbox", "other_data", "server"]
    assert before["window"] == 0
    soon = world.clock.now + 60_000
    world.wiring.load.reserve({soon // 60_000: 1_000, soon // 60_000 + 999: 7})
    world.wiring.redis.command(lambda client: client.set(world.wiring.keys.fed, soon // 60_000 + 1))
    asked = definition(schedule=Once(soon))._replace(notify=Notify("http://a", body="x" * 100_000))
    world.wiring.definitions.put([asked._replace(timer_id=one) for one in range(1, 11)])
    after = parts()
    assert after["window"] == 150_000
    assert after["other_data"] > before["other_data"] + 700_000


def test_a_purge_that_falls_behind_is_told_of(world: World) -> None:
    timer_id = world.enabled(cron="*/10 * * * * *", name="kept")
    first = world.wiring.firings.records(timer_id, 99)[-1].firing
    world.wiring.firings.settle([Outcome(first.member, first.bucket, FiringStatus.SUCCEEDED, first.due_at)])
    world.clock.now = first.fire_at + world.wiring.settings.retention_days * 86_400_000
    assert figures(world)["wangtimer_purge_lag_seconds"] == 0
    world.clock.now += 90_000
    assert figures(world)["wangtimer_purge_lag_seconds"] == 90
    world.wiring.purger.purge()
    assert figures(world)["wangtimer_purge_lag_seconds"] == 0


def test_the_client_certificate_that_expires_first_is_told(world: World) -> None:
    now = world.clock.now
    for app, left_ms in (("a", 90_000), ("b", 30_000)):
        world.wiring.client_certificates.put(app, "chain", "key", now + left_ms, now)
    assert figures(world)["wangtimer_client_certificate_seconds_left"] == 30
    world.clock.now += 40_000
    assert figures(world)["wangtimer_client_certificate_seconds_left"] == -10


def test_the_api_key_that_expires_next_is_told_and_none_that_is_over_or_revoked(world: World) -> None:
    now = world.clock.now
    made = [
        new_key(app, "ci", frozenset(), now, ends_at)[1]
        for app, ends_at in (("a", now + 90_000), ("a", now + 30_000), (None, now + 60_000), ("a", None))
    ]
    for key in made:
        world.wiring.api_keys.add(key)
    world.wiring.api_keys.revoke("a", made[1].id, now)
    assert figures(world)["wangtimer_api_key_seconds_left"] == 60
    world.clock.now += 70_000
    assert figures(world)["wangtimer_api_key_seconds_left"] == 20


def test_failing_hosts_are_counted_and_the_longest_failing_have_series_of_their_own(world: World) -> None:
    now = world.clock.now
    failing = [
        FailingHost("shop", f"http://h{number}:80", now - 1_000 * number, now, "HTTP 503", now)
        for number in range(MOST_HOSTS + 5)
    ]
    world.wiring.failing_hosts.tell(failing)
    families = text_string_to_metric_families(world.client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples if "failing" in sample.name]
    series = {one.labels["host"]: one.value for one in samples if one.labels}
    assert series == {f"http://h{number}:80": number for number in range(5, MOST_HOSTS + 5)}
    assert [one.value for one in samples if not one.labels] == [MOST_HOSTS + 5]
    world.clock.now += PRESENT_MS + 1
    assert figures(world)["wangtimer_failing_hosts"] == 0


def test_a_host_with_many_failing_parts_is_one_of_the_failing_hosts(world: World) -> None:
    now = world.clock.now
    parts = [f"/{number}" for number in range(MOST_HOSTS)]
    failing = [
        FailingHost("shop", f"https://shop.example:443{part}", now - 9_000 - number, now, "HTTP 503", now)
        for number, part in enumerate(["", *parts, "#orders"])
    ]
    others = [
        FailingHost("shop", "https://ship.example:443", now - 1_000, now, "HTTP 503", now),
        FailingHost("bank", "https://shop.example:443/0", now - 2_000, now, "HTTP 503", now),
    ]
    world.wiring.failing_hosts.tell([*failing, *others])
    families = text_string_to_metric_families(world.client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples if "failing" in sample.name]
    assert {(one.labels["app"], one.labels["host"]): one.value for one in samples if one.labels} == {
        ("shop", "https://shop.example:443"): 9 + (MOST_HOSTS + 1) / 1_000,
        ("bank", "https://shop.example:443"): 2,
        ("shop", "https://ship.example:443"): 1,
    }
    assert [one.value for one in samples if not one.labels] == [3]


def test_a_failing_broker_is_named_as_in_records(world: World) -> None:
    now = world.clock.now
    world.wiring.failing_hosts.tell(
        [FailingHost("shop", "queue://orders", now - 5_000, now, "timed out", now)]
    )
    families = text_string_to_metric_families(world.client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples if "host_failing" in sample.name]
    assert [one.labels["host"] for one in samples] == ["broker:orders"]


def test_disabled_hosts_are_counted_until_one_is_enabled(world: World) -> None:
    now = world.clock.now
    hosts = [
        DisabledHost(app, "http://h:80", now - 6 * DAY_MS, now, now, "HTTP 503") for app in ("shop", "mail")
    ]
    world.wiring.disabled_hosts.disable(hosts, 5 * DAY_MS)
    assert figures(world)["wangtimer_disabled_hosts"] == 2
    world.wiring.disabled_hosts.enable("shop", "http://h:80", now)
    assert figures(world)["wangtimer_disabled_hosts"] == 1


def test_alerts_that_nobody_sends_are_counted(world: World) -> None:
    now = world.clock.now
    told = AlertRule("shop", "ops", frozenset([AlertEvent.RECOVERED]), Destination(DestinationKind.MAIL))
    world.wiring.alert_rules.put("shop", "ops", lambda _held: told, now)
    world.wiring.alert_messages.ask_test("shop", "ops", now)
    world.clock.now += 60_000
    assert figures(world)["wangtimer_overdue_alerts"] == 0
    world.clock.now += 1
    assert figures(world)["wangtimer_overdue_alerts"] == 1


def test_alerts_that_are_put_off_again_and_again_are_counted(world: World) -> None:
    now, messages = world.clock.now, world.wiring.alert_messages
    told = AlertRule("shop", "ops", frozenset([AlertEvent.RECOVERED]), Destination(DestinationKind.MAIL))
    world.wiring.alert_rules.put("shop", "ops", lambda _held: told, now)
    alert = Alert(AlertEvent.RECOVERED, 7, "bill", now, now)
    world.wiring.database.write(lambda sql: gather(sql, [(told, alert)], now))
    for _ in range(5):
        at = world.clock.now
        (one,) = messages.take(1, at, at + 60_000)
        messages.put_off(one, at + NOT_TRIED_PAUSE_MS, "no place", was_tried=False)
        world.clock.now += NOT_TRIED_PAUSE_MS
    assert figures(world)["wangtimer_overdue_alerts"] == 1
    (tried,) = messages.take(1, world.clock.now, world.clock.now + 60_000)
    messages.put_off(tried, world.clock.now + 300_000, "HTTP 500", was_tried=True)
    assert figures(world)["wangtimer_overdue_alerts"] == 0


def test_connected_groups_are_counted_and_what_waits_for_them(
    world: World, redis_server: RedisServer
) -> None:
    lists, entry = world.wiring.consumer_lists, ConsumerEntry("7-1", 1, world.clock.now + 1_000, b"e" * 100)
    world.wiring.redis.run_all([lists.put(ConsumerGroup("shop", "dunning"), entry, world.clock.now)])
    with closing(Redis.from_url(redis_server.url())) as client:
        client.zadd(world.wiring.keys.consumers_seen, {"shop/dunning": world.clock.now})
        (size,) = map(len, client.lrange(f"{world.wiring.keys.consumer_list}shop/dunning", 0, -1))
    told = figures(world)
    assert told["wangtimer_consumer_groups"] == 1
    assert told["wangtimer_consumers_waiting_share"] == size / 1_000_000 / 64
    world.clock.now += PRESENT_S * 1_000 + 1
    assert figures(world)["wangtimer_consumer_groups"] == 0


def test_parked_outcomes_are_counted(world: World) -> None:
    world.wiring.outbox.park([Outcome(Member(1, 2, 1), 0, FiringStatus.SUCCEEDED, 2)])
    assert figures(world)["wangtimer_parked_outcomes"] == 1
    assert 0 < figures(world)["wangtimer_parked_share"] < 0.001


def test_connections_that_egress_refused_are_counted(world: World) -> None:
    world.wiring.refusal_count.add(2)
    world.wiring.refusal_count.add(3)
    assert figures(world)["wangtimer_egress_refusals_total"] == 5


def test_how_far_ahead_redis_holds_firings_is_told(world: World) -> None:
    world.wiring.feeder.feed()
    minute_left_s = 60 - world.clock.now_ms() / 1_000 % 60
    assert figures(world)["wangtimer_window_seconds"] == 7_200 + minute_left_s


def test_with_sql_away_its_figures_alone_are_left_out(redis_url: str) -> None:
    world = World(f"mysql://root@127.0.0.1:{free_port()}/gone", redis_url, 1)
    world.wiring.outbox.park([Outcome(Member(1, 2, 1), 0, FiringStatus.SUCCEEDED, 2)])
    told = figures(world)
    assert told.keys() == OF_STORE | OF_BROKER | UPS
    assert [told[up] for up in sorted(UPS)] == [1, 0, 1]
    assert told["wangtimer_parked_outcomes"] == 1


@pytest.mark.parametrize("is_time_known", [True, False])
def test_with_redis_away_its_figures_are_left_out_and_what_nobody_has_the_time_for(
    sqlite_url: str, is_time_known: bool
) -> None:
    now = int(time.time() * 1_000)
    world = World(sqlite_url, f"redis://127.0.0.1:{free_port()}/0", now)
    world.wiring.database.create_tables()
    world.clock.is_away = not is_time_known
    told = figures(world)
    assert told.keys() == (OF_SQL if is_time_known else set()) | OF_BROKER | UPS
    assert [told[up] for up in sorted(UPS)] == [1, 1, 0]


def test_with_the_broker_away_nobody_says_that_no_chunk_waits(
    small_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreAway("broker", "gone")

    monkeypatch.setattr(small_world.broker, "ping", fail)
    told = figures(small_world)
    assert told.keys() == OF_SQL | OF_STORE | UPS
    assert [told[up] for up in sorted(UPS)] == [0, 1, 1]


@pytest.fixture
def frozen_database(mariadb_server: MariaDBServer, mariadb_url: str) -> Iterator[str]:
    mariadb_server.process.freeze()
    yield mariadb_url
    mariadb_server.process.thaw()


@pytest.mark.test_all
def test_a_frozen_database_leaves_prometheus_time_for_the_other_figures(
    frozen_database: str, redis_url: str
) -> None:
    world = World(frozen_database, redis_url, 1)
    began = time.monotonic()
    told = figures(world)
    assert time.monotonic() - began < READ_WITHIN_S + 0.5
    assert told.keys() == OF_STORE | OF_BROKER | UPS


def test_a_queue_that_an_app_has_and_nobody_takes_is_counted(sqlite_url: str, redis_url: str) -> None:
    world = World(sqlite_url, redis_url, present(), callback_queues="mail,reports")
    world.wiring.database.create_tables()
    try:
        world.wiring.apps.create("shop", {}, 1, "reports")
        assert figures(world)["wangtimer_unserved_queues"] == 1
        world.wiring.queue_workers.note(["reports"])
        assert figures(world)["wangtimer_unserved_queues"] == 0
    finally:
        world.close()
