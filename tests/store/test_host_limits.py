"""Limits of calls to target hosts, in SQL."""

from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import event

from wangtimer.core.apps.audited_change import Action
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.sql import call_limits
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.call_limits import HostLimit, HostLimitStore
from wangtimer.store.sql.database import Database
from wangtimer.testing.doubles import HandClock


def test_a_limit_is_set_replaced_and_taken_out(database: Database) -> None:
    store = HostLimitStore(database)
    store.put(HostLimit("shop.test:443", 50, None), 1)
    store.put(HostLimit("*", None, 9), 1)
    store.put(HostLimit("shop.test:443", None, 7), 2)
    assert store.page(10) == [HostLimit("*", None, 9), HostLimit("shop.test:443", None, 7)]
    assert store.page(10, "*") == [HostLimit("shop.test:443", None, 7)]
    assert store.of_calls() == {"*": CallLimit(at_once=9), "shop.test:443": CallLimit(at_once=7)}
    assert store.remove("*", 3)
    assert not store.remove("*", 3)
    assert store.of_calls() == {"shop.test:443": CallLimit(at_once=7)}


def test_two_who_set_the_limit_of_a_new_host_at_once_both_succeed(mariadb_url: str) -> None:
    with closing(Database(mariadb_url, 2)) as database:
        database.create_tables()
        store, host = HostLimitStore(database), "shop.test:443"
        engine, others = database.engine, [HostLimit(host, 50, None)]

        def meanwhile(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("INSERT INTO host_limit") and others:
                store.put(others.pop(), 1)

        event.listen(engine, "before_cursor_execute", meanwhile)
        store.put(HostLimit(host, None, 7), 2)
        assert store.page(10) == [HostLimit(host, None, 7)]


def test_each_change_is_audited_with_the_names_of_its_fields(database: Database) -> None:
    store, host = HostLimitStore(database), "shop.test:443"
    with calling(Caller(None, "test", None, frozenset(), "")):
        store.put(HostLimit(host, 50, None), 1)
        store.put(HostLimit(host, 50, None), 2)
        store.put(HostLimit(host, 50, 9), 3)
        store.remove(host, 4)
        store.remove(host, 5)
    entries = AuditLog(database, HandClock()).page(AuditFilter(), 100)
    assert [(one.action, one.subject, one.fields) for one in reversed(entries)] == [
        (Action.CREATE, host, ("callsPerSecond",)),
        (Action.EDIT, host, ("callsAtOnce",)),
        (Action.DELETE, host, ()),
    ]


def test_so_many_hosts_have_limits_at_most(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "MOST_HOSTS", 1)
    store = HostLimitStore(database)
    store.put(HostLimit("a:80", 1, None), 1)
    store.put(HostLimit("a:80", 2, None), 1)
    with pytest.raises(Conflict):
        store.put(HostLimit("b:80", 1, None), 1)
