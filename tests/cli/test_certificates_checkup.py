"""Certificates that have expired, or do soon, are found."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from tests.certificates import pem_of
from wangtimer.base.settings import Settings
from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_authorities, of_certificates
from wangtimer.store.seals import Seals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.ways_out import ClientCertificates

NOW = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(sqlite_url: str) -> ClientCertificates:
    database = Database(sqlite_url, pool_size=2)
    database.create_tables()
    return ClientCertificates(database, Seals({"a": b"a" * 32}))


def put(store: ClientCertificates, app: str, left: timedelta) -> None:
    store.put(app, "chain", "key", int((NOW + left).timestamp() * 1_000), 1)


def test_an_expired_one_is_an_error_and_one_that_expires_soon_a_warning(store: ClientCertificates) -> None:
    for app, days in (("old", -1), ("soon", 29), ("later", 31)):
        put(store, app, timedelta(days=days))
    found = [(one.severity, one.text) for one in of_certificates(store, NOW)]
    assert found == [
        (Severity.ERROR, "the client certificate of app old expired at 2026-12-31T00:00:00.000Z"),
        (Severity.WARNING, "the client certificate of app soon expires at 2027-01-30T00:00:00.000Z"),
    ]


def test_all_is_well_without_any(store: ClientCertificates) -> None:
    assert [one.severity for one in of_certificates(store, NOW)] == [Severity.OK]
    assert list(of_authorities(Settings(), NOW)) == []


def test_authorities_of_the_file_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(pem_of(trustme.CA()))
    settings = Settings(callback_ca_file=tmp_path / "ca.pem")
    assert list(of_authorities(settings, NOW)) == []
    (found,) = of_authorities(settings, datetime(9999, 1, 1, tzinfo=UTC))
    assert (found.severity, "WANGTIMER_CALLBACK_CA_FILE" in found.text) == (Severity.ERROR, True)
    (unread,) = of_authorities(Settings(callback_ca_file=tmp_path / "none"), NOW)
    assert unread.severity is Severity.ERROR
