"""The word of strain, from process to process."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from wangtimer.core.flow.strain import COUNTS_MS
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.process_marks import StrainMark


@pytest.fixture
def connection(redis_url: str) -> Iterator[RedisConnection]:
    connection = RedisConnection(redis_url)
    yield connection
    connection.close()


def test_what_one_process_tells_counts_for_another_until_it_runs_out(
    connection: RedisConnection, redis_url: str
) -> None:
    keys = Keys("wt")
    there = StrainMark(connection, keys)
    with closing(RedisConnection(redis_url)) as other:
        elsewhere = StrainMark(other, keys)
        assert not elsewhere.counts()
        there.tell()
        assert elsewhere.counts()
        left_ms = connection.command(lambda client: client.pttl(keys.strain))
        assert COUNTS_MS - 1_000 < left_ms <= COUNTS_MS
        connection.command(lambda client: client.pexpire(keys.strain, 0))
        assert not elsewhere.counts()


def test_while_redis_is_away_nobody_is_strained() -> None:
    mark = StrainMark(RedisConnection(f"redis://127.0.0.1:{free_port()}/0"), Keys("wt"))
    mark.tell()
    assert not mark.counts()
