"""The limits of calls that operators set, from SQL to Redis."""

from collections.abc import Mapping

import pytest
from sqlalchemy import insert, update

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.sql.app_limits import AppLimits
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps
from wangtimer.teller import Teller
from wangtimer.testing.doubles import HandClock, MemoryCallLimits, MemoryServer


def make(database: Database, **limits: str | None) -> None:
    rows = [{"name": name, "created_at": 1, "updated_at": 1, "limits": text} for name, text in limits.items()]
    database.write(lambda sql: sql.execute(insert(apps), rows))


def test_each_app_with_a_limit_of_calls_is_told(database: Database) -> None:
    make(database, free=None, other='{"timers":5}', rated='{"callsPerSecond":50}')
    make(database, both='{"callsPerSecond":0.5,"callsAtOnce":7}')
    call_limits = MemoryCallLimits(MemoryServer("Redis", HandClock()))
    Teller(AppLimits(database).of_calls, call_limits).tell()  # type: ignore[arg-type]
    assert call_limits.read() == {"rated": CallLimit(50.0), "both": CallLimit(0.5, 7)}


def test_a_sweep_tells_what_redis_lost(database: Database) -> None:
    server = MemoryServer("Redis", HandClock())
    call_limits = MemoryCallLimits(server)
    teller = Teller(AppLimits(database).of_calls, call_limits)  # type: ignore[arg-type]

    def told_again() -> object:
        server.lose()
        teller.tell_again()
        return call_limits.read()

    assert [told_again(), told_again()] == [{}, {}]
    make(database, rated='{"callsPerSecond":50}')
    assert [told_again(), told_again()] == [{"rated": CallLimit(50.0)}] * 2


def test_the_next_sweep_of_any_process_tells_that_a_limit_was_removed(database: Database) -> None:
    call_limits = MemoryCallLimits(MemoryServer("Redis", HandClock()))
    one, other, api = (Teller(AppLimits(database).of_calls, call_limits) for _ in range(3))  # type: ignore[arg-type]
    one.tell_again()
    other.tell_again()
    make(database, rated='{"callsPerSecond":50}')
    api.tell()
    # Redis is away when the operator removes the limit, so that nobody tells.
    database.write(lambda sql: sql.execute(update(apps).values(limits=None)))
    other.tell_again()
    assert call_limits.read() == {}


def test_a_sweep_writes_nothing_that_redis_has(database: Database) -> None:
    class NotedLimits(MemoryCallLimits):
        writes = 0

        def write(self, limits: Mapping[str, CallLimit]) -> None:
            self.writes += 1
            super().write(limits)

    call_limits = NotedLimits(MemoryServer("Redis", HandClock()))
    teller = Teller(AppLimits(database).of_calls, call_limits)  # type: ignore[arg-type]
    for _ in range(3):
        teller.tell_again()
    make(database, rated='{"callsPerSecond":50}')
    for _ in range(3):
        teller.tell_again()
    assert call_limits.writes == 2


@pytest.mark.parametrize("text", ["{", "[]", "7", '"x"'])
def test_limits_that_cannot_be_read_hold_up_no_other_apps(database: Database, text: str) -> None:
    make(database, bad=text, rated='{"callsPerSecond":50}')
    assert AppLimits(database).of_calls() == {"rated": CallLimit(50.0)}
