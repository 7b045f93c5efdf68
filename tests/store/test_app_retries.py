"""When an app's failed calls are made again: kept in SQL, on record, and read as far as this version can."""

import pytest
from sqlalchemy import update

from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES
from wangtimer.core.errors import InvalidInput
from wangtimer.core.retry import APP_RETRIES, RetryPolicy
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps
from wangtimer.testing.doubles import HandClock

NOW = 1_795_207_483_000
CALLER = Caller("abc", "till", "shop", ALL_SCOPES, "10.0.0.1")


@pytest.fixture
def store(database: Database) -> AppStore:
    """On MariaDB, and on SQLite; with the app `shop`."""
    made = AppStore(database)
    made.create("shop", {}, NOW)
    return made


def test_a_policy_is_set_by_its_parts_and_taken_out_as_a_whole(store: AppStore, database: Database) -> None:
    with calling(CALLER):
        store.change("shop", NOW, {}, retry={"attempts": 3})
        store.change("shop", NOW, {"callsAtOnce": 5})
        store.change("shop", NOW, {}, retry={"final": ("404",)})
        assert store.retries() == {"shop": RetryPolicy(attempts=3, final=("404",))}
        store.change("shop", NOW, {}, retry={"attempts": None})
        store.change("shop", NOW, {}, retry=None)
    found = store.find("shop")
    assert found is not None
    assert (found.retry, found.limits, store.retries()) == (None, {"callsAtOnce": 5}, {})
    entries = AuditLog(database, HandClock()).page(AuditFilter(app="shop"), 10)
    retried = ("retry",)
    assert [one.fields for one in entries] == [retried, retried, retried, ("limits.callsAtOnce",), retried]


def test_pauses_that_last_too_long_change_nothing(store: AppStore) -> None:
    with pytest.raises(InvalidInput) as refused:
        store.change("shop", NOW, {"callsAtOnce": 5}, retry={"pauses": (270_000_000, 1_000)})
    assert refused.value.field == "retry"
    found = store.find("shop")
    assert found is not None
    assert (found.retry, found.limits) == (None, {})


@pytest.mark.parametrize("text", ["", "[]", "7", '{"attempts":[3]}', '{"moods":3}'])
def test_what_a_newer_version_wrote_is_no_policy_here_and_holds_up_no_other_app(
    store: AppStore, database: Database, text: str
) -> None:
    store.create("bank", {}, NOW)
    store.change("bank", NOW, {}, retry={"attempts": 3})
    database.write(lambda sql: sql.execute(update(apps).where(apps.c.name == "shop").values(retry=text)))
    assert store.retries() == {"bank": RetryPolicy(attempts=3)}
    found = store.find("shop")
    assert found is not None
    assert found.retry is None
    told = {"shop": text, "bank": '{"attempts":3}'}
    assert APP_RETRIES.from_json(told) == {"bank": RetryPolicy(attempts=3)}
