"""The limits of calls that operators set for apps and hosts, as calls need to know them."""

import pytest
from sqlalchemy import insert

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.store.sql.call_limits import CallLimitSource, HostLimit, HostLimitStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps


def make(database: Database, **limits: str | None) -> None:
    rows = [{"name": name, "created_at": 1, "updated_at": 1, "limits": text} for name, text in limits.items()]
    database.write(lambda sql: sql.execute(insert(apps), rows))


def limits_of(database: Database) -> CallLimits:
    return CallLimitSource(database, HostLimitStore(database)).all()


def test_all_limits_of_calls_are_read(database: Database) -> None:
    make(database, free=None, other='{"timers":5}', rated='{"callsPerSecond":50}')
    make(database, both='{"callsPerSecond":0.5,"callsAtOnce":7,"callsAtOnceToOneHost":3}')
    make(database, there='{"callsPerSecondToOneHost":2}')
    HostLimitStore(database).put(HostLimit("*", 9, None), 1)
    assert limits_of(database) == CallLimits(
        {"rated": CallLimit(50.0), "both": CallLimit(0.5, 7)},
        {"*": CallLimit(9.0)},
        {"both": CallLimit(at_once=3), "there": CallLimit(2.0)},
    )


@pytest.mark.parametrize("text", ["{", "[]", "7", '"x"'])
def test_limits_that_cannot_be_read_hold_up_no_other_apps(database: Database, text: str) -> None:
    make(database, bad=text, rated='{"callsPerSecond":50}')
    assert limits_of(database) == CallLimits({"rated": CallLimit(50.0)})
