"""What operators paused, in SQL, and on its way to Redis."""

import pytest

from tests.store.worlds import HotWorld
from wangtimer.core.apps.audited_change import Action, AuditedKind
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.core.flow.pauses import Pause, Pauses
from wangtimer.store.sql import pauses as pauses_module
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.teller import Teller
from wangtimer.testing.doubles import HandClock, MemoryCallRules, MemoryServer


def test_a_pause_is_kept_once_and_removed_once(database: Database) -> None:
    store = PauseStore(database)
    first = Pause("app:shop", 5, "shop", "deploying")
    assert store.add(first) == first
    assert store.add(Pause("app:shop", 9, "shop", "again")) == first
    store.add(Pause("all", 6))
    assert store.all() == [Pause("all", 6), first]
    assert store.count() == 2
    assert store.of_calls() == CallRules(Pauses(frozenset({"all", "app:shop"})))
    assert store.remove("app:shop", 10) == first
    assert store.remove("app:shop", 11) is None
    assert store.find("app:shop") is None
    assert store.find("all ") is None


def test_each_pause_and_its_end_are_audited_once(database: Database) -> None:
    store = PauseStore(database)
    things = (("timer:17", "shop"), ("host:h.test:80", None), ("all", None))
    with calling(Caller(None, "test", None, frozenset(), "")):
        for at, (name, app) in enumerate(things):
            store.add(Pause(name, 2 * at, app))
            store.add(Pause(name, 2 * at, app))
            store.remove(name, 2 * at + 1)
            store.remove(name, 2 * at + 1)
    entries = AuditLog(database, HandClock()).page(AuditFilter(), 100)
    found = [(one.action, one.kind, one.subject, one.app) for one in reversed(entries)]
    expected = [
        (AuditedKind.TIMER, "17", "shop"),
        (AuditedKind.HOST, "h.test:80", None),
        (AuditedKind.ALL, "all", None),
    ]
    assert found == [(action, *one) for one in expected for action in (Action.PAUSE, Action.RESUME)]


def test_there_are_so_many_pauses_at_most(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses_module, "MOST_PAUSES", 2)
    store = PauseStore(database)
    for number in range(2):
        store.add(Pause(f"timer:{number}", 1))
    with pytest.raises(Conflict):
        store.add(Pause("timer:2", 1))
    assert store.add(Pause("timer:1", 9)).since == 1


def test_redis_is_told_of_pauses_and_told_again_where_it_lost_them(database: Database) -> None:
    store, server = PauseStore(database), MemoryServer("Redis", HandClock())
    told = MemoryCallRules(server)
    teller = Teller(store.of_calls, told)  # type: ignore[arg-type]
    store.add(Pause("all", 1))
    teller.tell()
    assert told.read() == CallRules(Pauses(frozenset({"all"})))
    server.lose()
    teller.tell_again()
    assert told.read() == CallRules(Pauses(frozenset({"all"})))


def test_what_changes_while_redis_is_told_is_told_too(database: Database) -> None:
    """A pause was undone until the next sweep by a change that had read before it."""
    store, told = PauseStore(database), MemoryCallRules(MemoryServer("Redis", HandClock()))
    plain = told.write

    def write(rules: CallRules) -> None:
        told.write = plain  # type: ignore[method-assign]
        store.add(Pause("app:shop", 2, "shop"))
        plain(rules)

    for again in (False, True):
        told.write = write  # type: ignore[method-assign]
        teller = Teller(store.of_calls, told)  # type: ignore[arg-type]
        teller.tell_again() if again else teller.tell()
        assert told.read() == CallRules(Pauses(frozenset({"app:shop"})))
        store.remove("app:shop", 3)


def test_rules_stand_in_redis_as_they_were_written(hot: HotWorld) -> None:
    assert hot.call_rules.read() is None
    for rules in (CallRules(Pauses(frozenset({"all", "host:büro:80"}))), CallRules()):
        hot.call_rules.write(rules)
        assert hot.call_rules.read() == rules
