"""How apps sign, in SQL and Redis: one secret however many make it, the newer copy wins, a mark tells of changes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from redis import Redis

from wangtimer.core.errors import Conflict, UnknownSecret
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.testing.doubles import HandClock, MemoryMarkedCopies, MemoryServer

NOW, DAY = 1_795_207_483_000, 86_400_000
KEYS = [bytes([one]) * 32 for one in range(10)]


def shown(app: str, key: bytes, now: int = NOW) -> AppSigning:
    return AppSigning.unmade(app).rotated(key, 0, now)


@pytest.fixture
def store(database: Database) -> SigningStore:
    """On MariaDB, and on SQLite."""
    return SigningStore(database, NO_KEYS)


@pytest.fixture(params=["memory", "redis"])
def copies(request: pytest.FixtureRequest):
    if request.param == "memory":
        yield SigningCopies(MemoryMarkedCopies(MemoryServer("Redis", HandClock())), NO_KEYS)
        return
    with closing(RedisConnection(request.getfixturevalue("redis_url"))) as connection:
        yield SigningCopies(MarkedCopies(connection, Keys("wt")), NO_KEYS)


def test_an_app_gets_a_secret_when_it_is_needed_and_keeps_it(store: SigningStore) -> None:
    made = store.needed(["shop", "商店"], NOW)
    assert [len(made[app].keys_at(NOW)) for app in ("shop", "商店")] == [1, 1]
    assert made["shop"].keys_at(NOW) != made["商店"].keys_at(NOW)
    assert store.needed(["shop"], NOW + DAY) == {"shop": made["shop"]}
    assert store.get("shop") == made["shop"]
    assert store.get("nobody") == AppSigning.unmade("nobody")


def test_many_that_need_a_secret_at_once_get_the_same(store: SigningStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: store.needed(["shop"], NOW)["shop"], range(8)))
    assert set(found) == {store.get("shop")}


def test_rotations_at_once_lose_none(store: SigningStore) -> None:
    def rotate(key: bytes) -> AppSigning:
        return store.change("shop", lambda one: one.rotated(key, 0, NOW), NOW)

    with ThreadPoolExecutor(4) as pool:
        versions = [one.version for one in pool.map(rotate, KEYS)]
    assert len(set(versions)) == len(KEYS)
    assert store.get("shop").secrets[0].id == len(KEYS)


def test_a_change_that_is_refused_changes_nothing(store: SigningStore) -> None:
    before = store.change("shop", lambda one: one.rotated(KEYS[0], 0, NOW), NOW)
    with pytest.raises(Conflict):
        store.change("shop", lambda one: one.without(1, NOW), NOW)
    with pytest.raises(UnknownSecret):
        store.change("shop", lambda one: one.without(7, NOW), NOW)
    assert store.get("shop") == before


def test_changes_are_read_page_by_page_by_when_they_were_made(store: SigningStore) -> None:
    for number, app in enumerate("cab"):
        store.needed([app], NOW + number // 2)
    first, key = store.changed_behind((NOW - 1, ""), 2)
    assert (list(first), key) == (["a", "c"], (NOW, "c"))
    rest, end = store.changed_behind(key, 2)
    assert (list(rest), end) == (["b"], None)


def test_the_newer_copy_stays(copies) -> None:
    newer = shown("shop", KEYS[1], NOW + 1)
    copies.put([newer])
    mark = copies.get([]).mark
    copies.put([shown("shop", KEYS[0]), newer])
    assert copies.get(["shop", "bank"]) == (mark, {"shop": newer})


def test_of_equal_versions_the_later_copy_counts(copies) -> None:
    copies.put([shown("shop", KEYS[0])])
    copies.put([shown("shop", KEYS[1])])
    assert copies.get(["shop"]).found == {"shop": shown("shop", KEYS[1])}


def test_each_change_gives_another_mark(copies) -> None:
    marks = [copies.get([]).mark]
    for app in ("shop", "bank", "商店"):
        copies.put([shown(app, KEYS[0])])
        marks.append(copies.get([]).mark)
    assert marks[0] is None
    assert len(set(marks)) == len(marks)


def test_a_copy_that_cannot_be_read_is_as_none(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        copies = SigningCopies(MarkedCopies(connection, Keys("wt")), NO_KEYS)
        copies.put([shown("shop", KEYS[0])])
        raw.hset("wt:signing", "bank", '7 {"on":true,"secrets":[{"secret":"whsec_c2VjcmV0"}]}')
        assert set(copies.get(["shop", "bank"]).found) == {"shop"}
    assert "c2VjcmV0" not in caplog.text


def test_secrets_are_sealed_in_sql_and_redis_for_their_app_and_place(
    database: Database, redis_url: str
) -> None:
    seals = Seals({"k1": bytes(32)})
    store = SigningStore(database, seals)
    made = store.change("shop", lambda one: one.rotated(KEYS[7], 0, NOW), NOW)
    secret = made.secrets[0].text.removeprefix("whsec_")
    content = database.read(lambda sql: sql.exec_driver_sql("SELECT content FROM signing").scalar_one())
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        copies = SigningCopies(MarkedCopies(connection, Keys("wt")), seals)
        copies.put([made])
        copy = raw.hget("wt:signing", "shop").decode()
        raw.hset("wt:signing", "bank", copy)
        assert copies.get(["shop", "bank"]).found == {"shop": made}
    assert store.get("shop") == made
    for text in (content, copy):
        assert secret not in text
        assert "1.k1." in text


def test_secrets_of_a_time_without_a_key_are_read_and_sealed_once(database: Database) -> None:
    made = SigningStore(database, NO_KEYS).needed(["shop"], NOW)["shop"]
    store = SigningStore(database, Seals({"k1": bytes(32)}))
    assert store.get("shop") == made
    assert (store.apps_behind("", 10), store.apps_behind("shop", 10)) == (["shop"], [])
    assert (store.seal_anew("shop"), store.seal_anew("shop"), store.seal_anew("bank")) == (made, None, None)
    assert store.get("shop") == made


def test_without_its_key_an_app_is_not_signed_for(database: Database) -> None:
    SigningStore(database, Seals({"k1": bytes(32)})).needed(["shop"], NOW)
    found = SigningStore(database, Seals({"k2": bytes(32)})).needed(["shop"], NOW)
    assert (dict(found), list(found.bad)) == ({}, ["shop"])
