"""What operators paused, in SQL."""

import pytest

from wangtimer.core.apps.audited_change import Action, AuditedKind
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.pauses import Pause, Pauses
from wangtimer.store.sql import pauses as pauses_module
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.testing.doubles import HandClock


def test_a_pause_is_kept_once_and_removed_once(database: Database) -> None:
    store = PauseStore(database)
    first = Pause("app:shop", 5, "shop", "deploying")
    assert store.add(first) == first
    assert store.add(Pause("app:shop", 9, "shop", "again")) == first
    store.add(Pause("all", 6))
    assert store.all() == [Pause("all", 6), first]
    assert store.count() == 2
    assert store.of_calls() == Pauses(frozenset({"all", "app:shop"}))
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
