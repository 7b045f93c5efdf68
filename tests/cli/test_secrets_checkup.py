"""Signing secrets that cannot be opened are found."""

from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_signing_secrets
from wangtimer.store.seals import Seals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.signing_store import SigningStore


def test_an_app_whose_signing_secrets_cannot_be_opened_is_an_error(sqlite_url: str) -> None:
    database = Database(sqlite_url, pool_size=2)
    database.create_tables()
    SigningStore(database, Seals({"lost": bytes(32)})).needed(["shop"], 1)
    store = SigningStore(database, Seals({"new": b"n" * 32}))
    store.needed(["bank"], 2)
    (found,) = of_signing_secrets(store)
    assert found.severity is Severity.ERROR
    assert "app shop" in found.text
    assert "no key 'lost'" in found.text
    assert "wangtimer signing rotate --overlap 0s" in found.mend


def test_all_is_well_where_each_can_be_opened(sqlite_url: str) -> None:
    database = Database(sqlite_url, pool_size=2)
    database.create_tables()
    store = SigningStore(database, Seals({"new": b"n" * 32}))
    store.needed(["bank"], 2)
    assert [one.severity for one in of_signing_secrets(store)] == [Severity.OK]
