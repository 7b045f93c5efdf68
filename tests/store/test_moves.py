"""What moving to lanes asks of the real servers: no more where the firings that move are of many lanes."""

import time
from contextlib import closing
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import event

from tests.store.members import row_at
from tests.store.worlds import real_sql, redis_hot
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.mover import Move, Mover
from wangtimer.store.hot import ALWAYS_HELD_MS, HotStore
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.lanes import SCRIPTS_A_TRIP
from wangtimer.store.sql.database import Database

FIRINGS, LANES = 1_000, 200


def counted(database: Database, occurrence: str) -> list[Any]:
    """Return the list in which each of these is noted."""
    noted: list[Any] = []
    event.listen(database.engine, occurrence, lambda *arguments: noted.append(arguments))
    return noted


def test_what_moves_together_is_one_statement_and_few_trips(
    mariadb: Database, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        hot, sql = redis_hot(connection, raw), real_sql(mariadb)
        now = int(hot.clock.now_ms())
        rows = [row_at(now + number, number) for number in range(1, FIRINGS + 1)]
        sql.insert(rows)
        since = hot.clock.monotonic()
        claim = Claim(rows[0].slice, "mine", [row.member for row in rows], since, since + 60)
        store = HotStore(hot.slices, hot.agenda, hot.window, hot.clock, hot.lanes, ALWAYS_HELD_MS)
        mover = Mover(sql.firings, store, hot.slices, hot.clock, 6.0)
        for row in rows:
            lane = SharedLane.of_way("shop", f"{row.timer_id % LANES}.test:80")
            mover.take(Move(Held(claim, row.member), lane, row.due_at))
        trips: list[object] = []
        command = connection.command

        def count(call: Any) -> Any:
            trips.append(call)
            return command(call)

        monkeypatch.setattr(connection, "command", count)
        statements, commits = counted(mariadb, "before_cursor_execute"), counted(mariadb, "commit")
        begun = time.perf_counter()
        mover.move_all()
        print(f"{FIRINGS} firings into {LANES} lanes: {time.perf_counter() - begun:.2f} s")
        assert not claim.open_members()
        assert (len(statements), len(commits)) == (1, 1)
        # The lanes, their entries, the release.
        assert len(trips) == LANES / SCRIPTS_A_TRIP + 2
        noted = sql.firings.rows([row.member for row in rows])
        assert {row.timer_id: row.lane for row in noted.values()} == {
            row.timer_id: f"host:{row.timer_id % LANES}.test:80 shop" for row in rows
        }
