"""Ways out of apps in SQL and Redis: certificates are sealed, and what is told is what SQL has."""

from contextlib import closing

import pytest
import trustme

from tests.certificates import Pair, pair_of
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES
from wangtimer.core.egress.way_out import STRICTEST, WAYS_OUT, WAYS_OUT_MARK, AppEgress, WayOut, WaysOut
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.replica import Replicas, ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.ways_out import (
    ClientCertificates,
    EndingCertificate,
    WaysOutInSql,
    WaysOutMark,
    open_key,
)
from wangtimer.testing.doubles import HandClock

NOW, DAY = 1_795_207_483_000, 86_400_000
OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
SEALS = Seals(OLD)
CALLER = Caller("abc", "till", "shop", ALL_SCOPES, "10.0.0.1")


@pytest.fixture(scope="module")
def pair() -> Pair:
    return pair_of(trustme.CA(), "shop")


@pytest.fixture
def certificates(database: Database) -> ClientCertificates:
    """On MariaDB, and on SQLite."""
    return ClientCertificates(database, SEALS)


@pytest.fixture
def ways(database: Database) -> WaysOutInSql:
    return WaysOutInSql(database)


@pytest.fixture
def texts(redis_url: str):
    with closing(RedisConnection(redis_url)) as connection:
        yield NotedTexts(connection, Keys("wt"))


class NotedTexts(ReplicaTexts):
    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        super().__init__(connection, keys)
        self.writes: list[str] = []

    def write(self, name: str, text: str) -> None:
        self.writes.append(name)
        super().write(name, text)


def replica_of(ways: WaysOutInSql, texts: ReplicaTexts) -> WaysOutMark:
    return WaysOutMark(ways, texts, HandClock())


def put(
    certificates: ClientCertificates, app: str, pair: Pair, now: int = NOW, expires_at: int = NOW + DAY
) -> None:
    certificates.put(app, pair.chain, pair.key, expires_at, now)


def set_for(database: Database, app: str, **given: object) -> None:
    store = AppStore(database)
    store.create_missing(app, {}, NOW)
    store.change(app, NOW, {}, egress=given)


# certificates


def test_a_private_key_is_sealed_for_its_app_and_no_method_returns_it(
    database: Database, certificates: ClientCertificates, ways: WaysOutInSql, pair: Pair
) -> None:
    put(certificates, "shop", pair)
    assert certificates.chain_of("shop") == pair.chain
    assert certificates.chain_of("bank") is None
    sealed = ways.all()["shop"].sealed_key
    assert "PRIVATE" not in sealed
    assert open_key(SEALS, sealed, "shop") == pair.key
    with pytest.raises(ValueError, match="not sealed for this place"):
        open_key(SEALS, sealed, "bank")
    with pytest.raises(ValueError, match="no key 'old'"):
        open_key(Seals(NEW), sealed, "shop")


def test_one_put_again_takes_the_place_of_the_other_and_each_change_is_on_record(
    database: Database, certificates: ClientCertificates, ways: WaysOutInSql, pair: Pair
) -> None:
    other = pair_of(trustme.CA(), "other")
    with calling(CALLER):
        put(certificates, "shop", pair)
        put(certificates, "shop", other)
        certificates.remove("shop", NOW)
        certificates.remove("shop", NOW)
    assert ways.all() == {}
    entries = AuditLog(database, HandClock()).page(AuditFilter(app="shop"), 10)
    assert [(one.action, one.kind, one.subject) for one in entries] == [
        (action, "certificate", "shop") for action in ("delete", "edit", "create")
    ]


def test_those_that_end_before_a_moment_are_found_the_soonest_first(
    certificates: ClientCertificates, pair: Pair
) -> None:
    for number, app in enumerate("cab"):
        put(certificates, app, pair, expires_at=NOW + number * DAY)
    assert certificates.ending(NOW + 2 * DAY, 10) == [
        EndingCertificate("c", NOW),
        EndingCertificate("a", NOW + DAY),
    ]
    assert len(certificates.ending(NOW + 9 * DAY, 2)) == 2


def test_a_private_key_is_sealed_anew_and_read_again(
    database: Database, certificates: ClientCertificates, ways: WaysOutInSql, pair: Pair
) -> None:
    put(certificates, "shop", pair)
    mark = ways.mark()
    anew = ClientCertificates(database, Seals(NEW | OLD))
    assert [anew.seal_anew("shop"), anew.seal_anew("shop"), anew.seal_anew("bank")] == [True, False, False]
    assert ways.mark() != mark
    assert open_key(Seals(NEW), ways.all()["shop"].sealed_key, "shop") == pair.key
    assert list(anew.apps_behind("", 9)) == ["shop"]
    assert not anew.apps_behind("shop", 9)


# what operators set


def test_an_operators_changes_are_kept_and_on_record_by_their_names(database: Database) -> None:
    store = AppStore(database)
    store.create("shop", {}, NOW)
    with calling(CALLER):
        store.change("shop", NOW, {}, egress={"httpsOnly": True, "allow": ("10.1.0.0/16",)})
        store.change("shop", NOW, {"callsAtOnce": 5}, egress={"allow": None})
        store.change("shop", NOW, {}, egress={"httpsOnly": True})
    found = store.find("shop")
    assert found is not None
    assert found.egress == AppEgress(https_only=True)
    entries = AuditLog(database, HandClock()).page(AuditFilter(app="shop"), 10)
    assert [one.fields for one in entries] == [
        ("limits.callsAtOnce", "egress.allow"),
        ("egress.httpsOnly", "egress.allow"),
    ]


def test_a_change_of_limits_leaves_what_is_set_for_the_way_out(database: Database) -> None:
    set_for(database, "shop", httpsOnly=True)
    changed = AppStore(database).change("shop", NOW, {"callsAtOnce": 5})
    assert changed is not None
    assert changed.egress == AppEgress(https_only=True)
    assert WaysOutInSql(database).all() == {"shop": WayOut(AppEgress(https_only=True))}


def test_what_cannot_be_read_is_the_strictest_and_holds_up_no_other_app(database: Database) -> None:
    for app in ("bad", "shop"):
        set_for(database, app, httpsOnly=True)
    database.write(lambda sql: sql.exec_driver_sql("UPDATE app SET egress = '[]' WHERE name = 'bad'"))
    assert WaysOutInSql(database).all()["bad"] == WayOut(STRICTEST)
    bad = AppStore(database).find("bad")
    assert bad is not None
    assert bad.egress == STRICTEST


# telling


def test_what_is_told_is_what_sql_has(
    database: Database, certificates: ClientCertificates, ways: WaysOutInSql, texts: ReplicaTexts, pair: Pair
) -> None:
    told = replica_of(ways, texts)
    assert (told.read(), told.of_apps.read()) == (None, None)
    told.tell()
    assert told.of_apps.read() == WaysOut(ways.mark(), {})
    set_for(database, "bank", httpsOnly=True, allow=["10.1.0.0/16"])
    put(certificates, "shop", pair)
    put(certificates, "bank", pair)
    told.tell()
    found = told.of_apps.read()
    assert found == WaysOut(ways.mark(), ways.all())
    assert found is not None
    assert found.mark == told.read()
    assert found.of_apps["bank"].egress == AppEgress(https_only=True, allow=("10.1.0.0/16",))
    assert found.of_apps["bank"].has_tls_of_its_own


def test_a_sweep_reads_the_mark_alone_and_tells_what_changed_or_was_lost_the_mark_last(
    database: Database, certificates: ClientCertificates, ways: WaysOutInSql, texts: NotedTexts, pair: Pair
) -> None:
    told = replica_of(ways, texts)
    all_ = Replicas(texts, HandClock(), (), (told,))

    def told_again() -> list[str]:
        texts.writes.clear()
        for _ in range(3):
            all_.tell_again()
        assert told.of_apps.read() == WaysOut(ways.mark(), ways.all())
        return texts.writes

    both = [WAYS_OUT.name, WAYS_OUT_MARK.name]
    assert [told_again()[:], told_again()[:]] == [both, []]
    for _ in range(2):
        put(certificates, "shop", pair)
        assert told_again() == both
    set_for(database, "shop", httpsOnly=True)
    assert told_again() == both
    texts._connection.command(lambda client: client.flushall())
    assert told_again() == both


def test_a_change_that_comes_while_another_is_told_is_told_too(
    database: Database, texts: ReplicaTexts
) -> None:
    """What was read before it would be written after it."""

    class Slow(WaysOutInSql):
        def all(self) -> dict[str, WayOut]:
            found = super().all()
            if "late" not in found:
                set_for(database, "late", httpsOnly=True)
                replica_of(WaysOutInSql(database), texts).tell()
            return found

    told = replica_of(Slow(database), texts)
    told.tell()
    found = told.of_apps.read()
    assert found is not None
    assert found.of_apps == {"late": WayOut(STRICTEST)}
