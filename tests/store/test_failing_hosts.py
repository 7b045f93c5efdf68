"""Failing hosts as processes tell of them, in a real Redis."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from wangtimer.callback.health import FAILING_AFTER, LONGEST_SILENCE_S, Health
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.features.failing_hosts.health_teller import MOST_TOLD, HealthTeller
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.failing_hosts import (
    FORGOTTEN_AFTER_S,
    MOST,
    PRESENT_MS,
    FailingHost,
    FailingHostRecord,
    surplus,
)
from wangtimer.store.redis.keys import Keys
from wangtimer.testing.doubles import HandClock

HOST: HostKey = ("shop", "http://a:80")
START_MS = int(HandClock().now_ms())


class Engine:
    """What one process saw of its hosts."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.hosts: dict[HostKey, Health] = {}

    def failing(self) -> dict[HostKey, Health]:
        return {key: health for key, health in self.hosts.items() if health.is_failing}

    def health_of(self, key: HostKey) -> Health | None:
        return self.hosts.get(key)

    def fail(self, key: HostKey = HOST, error: str = "timed out") -> None:
        health = self.hosts.setdefault(key, Health())
        for ago_s in reversed(range(FAILING_AFTER)):
            health.fail(self._clock.monotonic() - ago_s, error)

    def answer(self, key: HostKey = HOST) -> None:
        self.hosts.setdefault(key, Health()).answer(self._clock.monotonic())


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def connection(redis_url: str) -> Iterator[RedisConnection]:
    with closing(RedisConnection(redis_url)) as connection:
        yield connection


@pytest.fixture
def record(connection: RedisConnection, clock: HandClock) -> FailingHostRecord:
    return FailingHostRecord(connection, Keys("wt"), clock)


def started(record: FailingHostRecord, clock: HandClock) -> tuple[Engine, HealthTeller]:
    """Return a new process."""
    engine = Engine(clock)
    teller = HealthTeller(engine, record, clock)
    teller.tell()
    return engine, teller


def test_a_failing_host_is_told_with_its_last_error_and_since_when(
    record: FailingHostRecord, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    since = START_MS - 1_000 * (FAILING_AFTER - 1)
    assert record.present() == [FailingHost(*HOST, since, START_MS, "timed out", START_MS)]


def test_an_app_with_very_many_failing_hosts_hides_no_other_apps(
    record: FailingHostRecord, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    for number in range(MOST_TOLD + 50):
        engine.fail(("hog", f"http://h{number}:80"))
    clock.sleep(60)
    engine.fail()
    teller.tell()
    present = record.present()
    assert len(present) == MOST_TOLD
    assert HOST in [one.key for one in present]


def test_an_answer_strikes_it_out(record: FailingHostRecord, clock: HandClock) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    clock.sleep(3)
    engine.answer()
    teller.tell()
    assert record.entries() == {}


def test_a_host_that_still_fails_for_another_process_is_told_again(
    record: FailingHostRecord, clock: HandClock
) -> None:
    (one, tells), (other, tells_too) = started(record, clock), started(record, clock)
    for engine, teller in ((one, tells), (other, tells_too)):
        engine.fail()
        teller.tell()
    one.answer()
    tells.tell()
    tells_too.tell()
    assert [host.key for host in record.present()] == [HOST]


def test_a_restart_does_not_begin_anew_since_when_a_host_fails(
    record: FailingHostRecord, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    (before,) = record.present()
    clock.sleep(PRESENT_MS / 1_000 + 1)
    assert record.present() == []
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    (after,) = record.present()
    assert after == replace(before, failed_at=after.failed_at, told_at=after.told_at)


def test_an_answer_that_another_process_got_later_begins_it_anew(
    record: FailingHostRecord, clock: HandClock
) -> None:
    other, tells_too = started(record, clock)
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    (before,) = record.present()
    clock.sleep(60)
    other.answer()
    clock.sleep(60)
    other.fail()
    tells_too.tell()
    (after,) = record.present()
    assert after.since == before.since + 120_000


def test_what_a_dead_process_told_goes_with_the_first_answer_to_a_new_one(
    record: FailingHostRecord, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    engine, teller = started(record, clock)
    teller.tell()
    assert record.entries().keys() == {HOST}
    engine.answer()
    teller.tell()
    assert record.entries() == {}


def test_while_no_host_fails_redis_is_asked_once(connection: RedisConnection, clock: HandClock) -> None:
    asked: list[object] = []

    class Counting(RedisConnection):
        def command(self, work):  # type: ignore[no-untyped-def]
            asked.append(work)
            return connection.command(work)

    counted = FailingHostRecord(Counting.__new__(Counting), Keys("wt"), clock)
    engine, teller = started(counted, clock)
    for _ in range(100):
        engine.answer()
        teller.tell()
    assert len(asked) == 1


def test_one_process_tells_of_a_bounded_number_those_failing_longest(
    record: FailingHostRecord, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    for number in range(MOST_TOLD + 10):
        engine.fail(("shop", f"http://h{number}:80"))
        clock.sleep(1)
    teller.tell()
    told = record.present()
    assert len(told) == MOST_TOLD
    assert told[-1].origin == f"http://h{MOST_TOLD - 1}:80"


def test_the_record_is_bounded_in_number_and_age() -> None:
    now = START_MS
    hosts = [FailingHost("shop", f"http://h{one}:80", 0, 0, "", now - one) for one in range(MOST + 7)]
    assert {host.told_at for host in surplus(hosts, now)} == {now - MOST - one for one in range(7)}
    old = FailingHost("shop", "http://old:80", 0, 0, "", now - 1_000 * FORGOTTEN_AFTER_S - 1)
    assert surplus([*hosts[:3], old], now) == [old]


def test_an_entry_that_cannot_be_read_hides_no_other(
    record: FailingHostRecord, connection: RedisConnection, clock: HandClock
) -> None:
    connection.command(lambda client: client.hset(Keys("wt").failing_hosts, "?", "{}"))
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    assert [host.key for host in record.present()] == [HOST]


def test_after_a_loss_of_redis_it_is_told_again(
    record: FailingHostRecord, connection: RedisConnection, clock: HandClock
) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    (before,) = record.present()
    connection.command(lambda client: client.flushall())
    teller.tell()
    assert record.present() == [before]


def test_while_redis_is_away_nothing_is_told_and_later_all_is(clock: HandClock, redis_url: str) -> None:
    class Away(FailingHostRecord):
        is_away = True

        def entries(self) -> dict[HostKey, FailingHost]:
            if self.is_away:
                raise StoreAway("Redis", "away")
            return super().entries()

    with closing(RedisConnection(redis_url)) as connection:
        record = Away(connection, Keys("wt"), clock)
        engine = Engine(clock)
        teller = HealthTeller(engine, record, clock)
        engine.fail()
        with pytest.raises(StoreAway):
            teller.tell()
        record.is_away = False
        teller.tell()
        assert [host.key for host in record.present()] == [HOST]


@pytest.mark.parametrize(
    ("origin", "lane"),
    [
        ("http://a:80", "host:a:80 shop"),
        ("https://[::1]:8080", "host:::1:8080 shop"),
        ("https://a.:443", "host:a:443 shop"),
    ],
)
def test_a_failing_host_waits_in_the_lane_of_its_host(origin: str, lane: str) -> None:
    assert FailingHost("shop", origin, 0, 0, "", 0).lanes[0].key == lane


@pytest.mark.parametrize(
    ("silent_s", "is_since_before"), [(LONGEST_SILENCE_S - 60, True), (LONGEST_SILENCE_S + 60, False)]
)
def test_what_a_former_process_saw_counts_unless_nobody_called_the_host_for_long(
    record: FailingHostRecord, clock: HandClock, silent_s: float, is_since_before: bool
) -> None:
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    before = record.present()[0].since
    clock.sleep(silent_s)
    engine, teller = started(record, clock)
    engine.fail()
    teller.tell()
    assert (record.present()[0].since == before) is is_since_before
