"""Quotas over time: counted in Redis by all API processes together."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from benchmarks.redis_figures import CommandCounter
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.quotas import REST_S, Quota, Quotas
from wangtimer.testing.doubles import HandClock

# A moment at which a window of each length below begins.
BEGIN = 1_800_000_000_000
REQUESTS = Quota("requests", 5, 2_000)


@pytest.fixture
def connection(store_url: str) -> Iterator[RedisConnection]:
    with closing(RedisConnection(store_url)) as connection:
        yield connection


@pytest.fixture
def clock() -> HandClock:
    return HandClock(BEGIN)


@pytest.fixture
def quotas(connection: RedisConnection, clock: HandClock) -> Quotas:
    return Quotas(connection, Keys("wt"), clock)


def granted(
    quotas: Quotas, app: str = "shop", quota: Quota = REQUESTS, wanted: int = 1
) -> tuple[int, int, int]:
    taken = quotas.take(app, quota, wanted)
    assert taken is not None
    return taken.granted, taken.left, taken.resets_in_s


def test_each_request_takes_one_until_none_is_left(quotas: Quotas, clock: HandClock) -> None:
    assert [granted(quotas) for _ in range(6)] == [
        (1, 4, 2),
        (1, 3, 2),
        (1, 2, 2),
        (1, 1, 2),
        (1, 0, 2),
        (0, 0, 2),
    ]
    clock.move_to(BEGIN + 1_500)
    assert granted(quotas) == (0, 0, 1)
    clock.move_to(BEGIN + 2_000)
    assert granted(quotas) == (1, 4, 2)


def test_apps_and_quotas_are_counted_apart(quotas: Quotas) -> None:
    assert granted(quotas, wanted=5) == (5, 0, 2)
    assert granted(quotas, "bank") == (1, 4, 2)
    assert granted(quotas, quota=Quota("replays", 5, 2_000)) == (1, 4, 2)


def test_of_more_than_is_left_the_rest_is_granted_and_what_is_refused_takes_nothing(quotas: Quotas) -> None:
    assert granted(quotas, wanted=3) == (3, 2, 2)
    assert granted(quotas, wanted=9) == (2, 0, 2)
    taken = quotas.take("shop", REQUESTS, 9)
    assert taken is not None
    assert taken.granted == 0
    quotas.give_back("shop", taken, 2)
    assert granted(quotas, wanted=9) == (2, 0, 2)


def test_several_processes_share_one_quota(store_url: str) -> None:
    many = Quota("requests", 100, 3_600_000)

    def ask(_: int) -> int:
        """Ask 50 times, as a process of its own."""
        with closing(RedisConnection(store_url)) as connection:
            own = Quotas(connection, Keys("wt"), HandClock(BEGIN))
            return sum(granted(own, quota=many)[0] for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(4))) == 100


def test_a_request_costs_one_command(quotas: Quotas, store_url: str) -> None:
    granted(quotas)
    counter = CommandCounter(store_url)
    for _ in range(10):
        granted(quotas)
    counter.stop()
    # The commands inside the script are counted on Valkey by their own names.
    assert counter.commands.count("EVALSHA") == 10
    assert set(counter.commands) <= {"EVALSHA", "INCRBY", "incrby", "EXPIRE", "expire"}


def test_a_count_ends_with_its_window(quotas: Quotas, connection: RedisConnection) -> None:
    granted(quotas)
    (key,) = connection.command(lambda client: client.keys("wt:quotas*"))
    assert 1 <= connection.command(lambda client: client.ttl(key)) <= 3


def test_while_redis_is_away_nothing_is_counted_and_not_each_request_waits_for_it(clock: HandClock) -> None:
    asked: list[str] = []
    with closing(RedisConnection("redis://127.0.0.1:1/0")) as connection:
        command = connection.command
        connection.command = lambda work: asked.append("") or command(work)  # type: ignore[method-assign, func-returns-value]
        quotas = Quotas(connection, Keys("wt"), clock)
        assert [quotas.take("shop", REQUESTS) for _ in range(3)] == [None, None, None]
        assert len(asked) == 1
        clock.sleep(REST_S)
        assert quotas.take("shop", REQUESTS) is None
        assert len(asked) == 2
