"""The limits of calls that operators set, from SQL to Redis."""

import pytest
from sqlalchemy import insert

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.limit_teller import QUIET_SWEEPS, LimitTeller
from wangtimer.store.sql.app_limits import AppLimits
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps
from wangtimer.testing.doubles import HandClock, MemoryCallLimits, MemoryServer


def make(database: Database, **limits: str | None) -> None:
    rows = [{"name": name, "created_at": 1, "updated_at": 1, "limits": text} for name, text in limits.items()]
    database.write(lambda sql: sql.execute(insert(apps), rows))


def test_each_app_with_a_limit_of_calls_is_told(database: Database) -> None:
    make(database, free=None, other='{"timers":5}', rated='{"callsPerSecond":50}')
    make(database, both='{"callsPerSecond":0.5,"callsAtOnce":7}')
    call_limits = MemoryCallLimits(MemoryServer("Redis", HandClock()))
    LimitTeller(AppLimits(database), call_limits).tell()  # type: ignore[arg-type]
    assert call_limits.read() == {"rated": CallLimit(50.0), "both": CallLimit(0.5, 7)}


def test_sweeps_tell_seldom_while_no_app_has_a_limit_and_a_change_at_once(database: Database) -> None:
    server = MemoryServer("Redis", HandClock())
    call_limits = MemoryCallLimits(server)
    teller = LimitTeller(AppLimits(database), call_limits)  # type: ignore[arg-type]

    def is_told_again() -> bool:
        server.lose()
        teller.tell_again()
        return call_limits.read() is not None

    assert [is_told_again() for _ in range(QUIET_SWEEPS + 2)] == [True, *[False] * QUIET_SWEEPS, True]
    server.lose()
    teller.tell()
    assert call_limits.read() == {}
    make(database, rated='{"callsPerSecond":50}')
    assert [is_told_again() for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("text", ["{", "[]", "7", '"x"'])
def test_limits_that_cannot_be_read_hold_up_no_other_apps(database: Database, text: str) -> None:
    make(database, bad=text, rated='{"callsPerSecond":50}')
    assert AppLimits(database).of_calls() == {"rated": CallLimit(50.0)}
