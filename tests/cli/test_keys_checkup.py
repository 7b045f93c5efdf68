"""API keys that end soon are found."""

from datetime import UTC, datetime, timedelta

from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_keys
from wangtimer.core.apps.stored_key import new_key
from wangtimer.store.sql.apps import ApiKeyStore
from wangtimer.store.sql.database import Database

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def test_a_key_that_ends_soon_or_ended_lately_is_named_until_it_is_revoked(database_url: str) -> None:
    database = Database(database_url, 2)
    database.create_tables()
    store, now = ApiKeyStore(database), int(NOW.timestamp() * 1_000)
    assert [one.severity for one in of_keys(store, NOW)] == [Severity.OK]
    for app, name, days in (
        ("shop", "old", -8),
        ("shop", "lately", -1),
        ("shop", "replaced", -1),
        (None, "soon", 13),
        ("shop", "later", 15),
    ):
        _, key = new_key(app, name, frozenset(), now, int((NOW + timedelta(days=days)).timestamp() * 1_000))
        store.add(key)
        if name == "replaced":
            store.revoke(app, key.id, now)
    found = [(one.severity, one.text.partition(" (")[2]) for one in of_keys(store, NOW)]
    assert found == [
        (Severity.WARNING, "lately) of app shop expired at 2026-12-31T00:00:00.000Z"),
        (Severity.WARNING, "soon) of an operator expires at 2027-01-14T00:00:00.000Z"),
    ]
