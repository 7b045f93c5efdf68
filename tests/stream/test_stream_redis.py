"""The stream's connections to a Redis that was demoted, and whose name leads to another one."""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
import redis

from tests.chaos.proxy import Proxy
from tests.patience import Deadline
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.core.errors import StoreAway
from wangtimer.stream import stream_redis
from wangtimer.stream.stream_redis import StreamRedis

CHANNEL = "told"


def test_once_redis_has_moved_the_stream_asks_and_listens_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_redis, "HEALTH_CHECK_S", 0.05)
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with (
        RedisServer(redis_program(), tmp_path / "old") as old,
        RedisServer(redis_program(), tmp_path / "new") as new,
        Proxy(old.port) as way,
        closing(redis.Redis.from_url(old.url())) as demoted,
        closing(redis.Redis.from_url(new.url())) as primary,
    ):

        def move() -> None:
            demoted.replicaof("127.0.0.1", "1")
            way.lead_to(new.port)

        asyncio.run(_follow(StreamRedis(f"redis://127.0.0.1:{way.port}/0"), move, primary))


async def _follow(mine: StreamRedis, move: Callable[[], None], primary: "redis.Redis[bytes]") -> None:
    await mine.read_clock()
    heard: list[str] = []

    async def listen() -> None:
        while True:
            with suppress(StoreAway):
                async for message in mine.messages(CHANNEL):
                    heard.append("subscribed" if message is None else message[1].decode())

    listening = asyncio.create_task(listen())
    await _until(lambda: heard == ["subscribed"])
    move()
    with suppress(StoreAway):
        await mine.note_seen("seen", ["shop/work"], 0)
    await mine.note_seen("seen", ["shop/work"], 0)
    assert primary.zcard("seen") == 1
    await _until(lambda: heard == ["subscribed"] * 2)
    primary.publish(CHANNEL, "word")
    await _until(lambda: heard[2:] == ["word"])
    listening.cancel()
    await mine.close()


async def _until(is_so: Callable[[], bool]) -> None:
    deadline = Deadline(10)
    while not is_so():
        assert not deadline.is_over
        await asyncio.sleep(0.01)
