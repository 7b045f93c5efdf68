"""Named targets in SQL and Redis: one row each, however many timers name it; sealed; copied with a mark."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Connection, event, insert, select

from tests.store.definitions import definition
from tests.store.plain_stores import plain_batches, plain_timers
from wangtimer.core.errors import Conflict, InvalidInput, UnknownTarget, UnopenedSecrets, VersionChanged
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.call_options import KeepOutput, Timeouts
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import NewTimer, Notify, SecretMarks, TimerStatus
from wangtimer.features.target_changes import TargetChanges
from wangtimer.store.call_text import notify_of, notify_text
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.marked_copies import MarkedCopies, TargetCopies
from wangtimer.store.refresher import CopyRefresher
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import targets, timers
from wangtimer.store.sql.target_store import MOST_TARGETS, TargetStore
from wangtimer.store.sql.timer_batches import draft
from wangtimer.store.sql.timers import Revision, new_row
from wangtimer.testing.doubles import HandClock, MemoryMarkedCopies, MemoryServer

NOW = 1_795_207_483_000
CALL = Notify("https://shop.example/hooks", headers=(("Authorization", "Bearer sesame"),))
SEALS = Seals({"new": b"n" * 32})
MANY = 100_000


def a_target(name: str = "orders", call: Notify = CALL, **fields: Any) -> NamedTarget:
    return NamedTarget("shop", name, 0, SEALS.seal(call, "shop", name), **fields)


def new_timer(key: str, target: str = "orders") -> NewTimer:
    return NewTimer("shop", key, Once(NOW + 60_000), Notify("/expire", "", target=target))


@pytest.fixture
def store(database: Database) -> TargetStore:
    """On MariaDB, and on SQLite."""
    return TargetStore(database, SEALS)


@pytest.fixture(params=["memory", "redis"])
def copies(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "memory":
        yield TargetCopies(MemoryMarkedCopies(MemoryServer("Redis", HandClock())), SEALS)
        return
    with closing(RedisConnection(request.getfixturevalue("redis_url"))) as connection:
        yield TargetCopies(MarkedCopies(connection, Keys("wt")), SEALS)


def made(store: TargetStore, name: str = "orders", now: int = NOW, **fields: Any) -> NamedTarget:
    return store.change("shop", name, lambda was: was or a_target(name, **fields), now)[0]


def moved(was: NamedTarget | None, url: str = "https://other.example/") -> NamedTarget:
    assert was is not None
    return was.changed_to(SEALS.seal(CALL._replace(url=url), was.app, was.name))


def test_what_is_made_is_read_back_sealed(store: TargetStore, database: Database) -> None:
    target, is_new = store.change(
        "shop",
        "orders",
        lambda _: a_target(timeouts=Timeouts(500, None, 300), keep_output=KeepOutput.NEVER),
        NOW,
    )
    assert is_new
    assert store.get("shop", "orders") == target == store.stored([target.key])[target.key]
    assert (target.version, target.created_at, target.updated_at) == (NOW, NOW, NOW)
    assert SEALS.opened(target).call == CALL
    row = database.read(lambda sql: str(sql.execute(select(targets)).one()))
    assert "sesame" not in row
    for key in (("shop", "other"), ("bank", "orders")):
        with pytest.raises(UnknownTarget):
            store.get(*key)
    with pytest.raises(UnopenedSecrets, match="target other"):
        SEALS.opened(replace(target, name="other"))


def test_a_change_is_newer_and_the_same_again_changes_nothing(store: TargetStore) -> None:
    first = made(store)
    # The clock went back: the version does not.
    second, is_new = store.change("shop", "orders", moved, NOW - 5)
    assert (second.version, second.created_at, is_new) == (first.version + 1, NOW, False)
    third, _ = store.change("shop", "orders", lambda was: second, NOW + 9)
    assert third == second == store.get("shop", "orders")


def test_a_change_of_another_version_is_refused(store: TargetStore) -> None:
    target = made(store)
    with pytest.raises(VersionChanged):
        store.change("shop", "orders", moved, NOW, version=target.version + 1)
    with pytest.raises(VersionChanged):
        store.change("shop", "nobodys", moved, NOW, version=1)
    with pytest.raises(VersionChanged):
        store.remove("shop", "orders", NOW, version=target.version - 1)
    assert store.change("shop", "orders", moved, NOW, version=target.version)[0].version > target.version


def test_targets_are_listed_by_name_page_by_page(store: TargetStore) -> None:
    for name in ("c", "a", "b"):
        made(store, name)
    assert [one.name for one in store.page("shop", "", 2)] == ["a", "b"]
    assert [one.name for one in store.page("shop", "b", 2)] == ["c"]
    assert store.keys_behind(("shop", "a"), 5) == [("shop", "b"), ("shop", "c")]


def test_an_app_has_so_many_targets_at_most(store: TargetStore, database: Database) -> None:
    rows = [
        {"app": "shop", "name": f"t{number}", "content": "{}", "version": 1, "created_at": 1, "updated_at": 1}
        for number in range(MOST_TARGETS)
    ]
    database.write(lambda sql: sql.execute(insert(targets), rows))
    with pytest.raises(Conflict, match="may have 1000"):
        made(store)


def test_a_target_that_timers_name_cannot_be_deleted(store: TargetStore, database: Database) -> None:
    made(store)
    timer_store = plain_timers(database)
    first, second = (timer_store.create(new_timer(key), NOW) for key in "ab")
    with pytest.raises(Conflict, match="2 timers name it"):
        store.remove("shop", "orders", NOW)
    timer_store.delete("shop", first.id, NOW)
    with pytest.raises(Conflict, match="1 timer names it"):
        store.remove("shop", "orders", NOW)
    timer_store.edit("shop", second.id, NOW, lambda was: _revised(was, Notify("https://own.example/")))
    assert store.timers_of("shop", "orders") == 0
    store.remove("shop", "orders", NOW)
    with pytest.raises(UnknownTarget):
        store.remove("shop", "orders", NOW)


def _revised(was: Any, call: Notify) -> Revision:
    edited = replace(was, definition=was.definition._replace(notify=call))
    return Revision(edited, [], [], TimerStatus.DISABLED)


def test_no_timer_names_a_target_that_is_not_there(store: TargetStore, database: Database) -> None:
    timer_store = plain_timers(database)
    for app in ("shop", "bank"):
        with pytest.raises(InvalidInput, match=r"target\.name: the app has no target 'orders'"):
            timer_store.create(replace(new_timer("a"), app=app), NOW)
        made(store)
    timer = timer_store.create(new_timer("a"), NOW)
    with pytest.raises(InvalidInput, match="'other'"):
        timer_store.edit(
            "shop", timer.id, NOW, lambda was: _revised(was, was.definition.notify._replace(target="other"))
        )
    assert timer_store.get("shop", timer.id).definition.notify == Notify("/expire", "", target="orders")


def test_of_a_batch_only_those_with_an_unknown_target_are_refused(
    store: TargetStore, database: Database
) -> None:
    made(store)
    batches = plain_batches(database)
    drafts = [
        draft(new_timer(key, target), number, NOW, NO_KEYS)
        for number, (key, target) in enumerate([("a", "orders"), ("b", "other"), ("b", "other")], 1)
    ]
    first, *others = batches.create("shop", drafts, NOW, lambda _plans: []).timers
    assert first == drafts[0].timer
    assert [type(one) for one in others] == [InvalidInput] * 2
    assert store.timers_of("shop", "orders") == 1


class Counted:
    """Counts a database's statements."""

    def __init__(self, database: Database) -> None:
        self.statements: list[str] = []
        for engine in database.engines:
            event.listen(engine, "before_cursor_execute", self._note)

    def _note(self, _sql: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.statements.append(statement)

    def of(self, work: Any) -> list[str]:
        self.statements.clear()
        work()
        return list(self.statements)


@pytest.mark.test_all
def test_a_change_is_as_much_work_for_a_hundred_thousand_timers_as_for_one(mariadb: Database) -> None:
    store = TargetStore(mariadb, SEALS)
    made(store)
    redis = MemoryServer("Redis", HandClock())
    changes = TargetChanges(store, TargetCopies(MemoryMarkedCopies(redis), SEALS), HandClock(NOW), 1_000)  # type: ignore[arg-type]
    counted = Counted(mariadb)

    def move(url: str) -> list[str]:
        return counted.of(lambda: changes.change("shop", "orders", lambda was: moved(was, url)))

    plain_timers(mariadb).create(new_timer("first"), NOW)
    of_one = move("https://one.example/")
    row = new_row(new_timer("first"), 1, NOW, NO_KEYS)

    def fill(sql: Connection) -> None:
        for start in range(2, MANY + 1, 5_000):
            rows = [row | {"id": one, "name": f"timer-{one}"} for one in range(start, start + 5_000)]
            sql.execute(insert(timers), rows)

    mariadb.write(fill)
    assert store.timers_of("shop", "orders") >= MANY
    assert move("https://many.example/") == of_one
    # Whether one of them keeps secrets of its own; asked where it leads to another host alone.
    assert len([one for one in of_one if "timer" in one]) == 1
    assert not [one for one in move("https://many.example/path") if "timer" in one]
    # The copy, and the mark by which every process sees that there is a newer one.
    assert len(redis.table("signing")) == 2


@pytest.mark.parametrize(
    ("own", "is_refused"),
    [
        (Notify("/expire", "", body='"2.[\\"orders\\",\\"/x\\",\\"1.new."]}\\",\\"1.'), False),
        (Notify("/expire", "", (("X-Tag", "a"),), '["1.5"]', SecretMarks(("x-tag",), False, False)), True),
        (Notify("/expire", "", body="plain", marks=SecretMarks((), False, True)), True),
        (Notify("/expire", "", marks=SecretMarks(("x-tag",), False, True)), False),
        (Notify("/?a=,%22%22]", "", (("X-Key", "sesame"),), ',""]'), True),
        (Notify('/","",""]}', "", (("X-Key", "sesame"),), '["2","",""],"marks":[","\\"]'), True),
    ],
)
def test_a_timer_keeps_secrets_whatever_its_text_looks_like(
    store: TargetStore, database: Database, own: Notify, is_refused: bool
) -> None:
    made(store)
    own = own._replace(target="orders")
    plain_timers(database, seals=SEALS).create(replace(new_timer("a"), notify=own), NOW)
    if not is_refused:
        store.change("shop", "orders", moved, NOW)
        return
    with pytest.raises(Conflict, match=r"url: timer 'a' names it and keeps secrets"):
        store.change("shop", "orders", moved, NOW)


def test_a_target_with_too_many_timers_to_look_through_stays_at_its_host(mariadb: Database) -> None:
    store = TargetStore(mariadb, SEALS)
    target = made(store)
    plain_timers(mariadb).create(new_timer("a"), NOW)

    def slow(sql: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        if "FROM timer" in statement:
            cursor.execute("SET max_statement_time = 0.1")
            statement = statement.replace("WHERE", "WHERE SLEEP(5) = 0 AND", 1)
        return statement, parameters

    event.listen(mariadb.engine, "before_cursor_execute", slow, retval=True)
    with pytest.raises(Conflict, match=r"url: the timers that name it are too many .*; make another target"):
        store.change("shop", "orders", moved, NOW)
    assert store.get("shop", "orders") == target
    assert (
        store.change("shop", "orders", lambda was: moved(was, "https://shop.example/path"), NOW)[1] is False
    )


def test_a_copy_replaces_no_newer_one_and_gives_another_mark(copies: Any) -> None:
    old = replace(a_target(), version=1)
    new = replace(moved(old), version=2)
    copies.put([new])
    mark, found = copies.get([new.key, ("shop", "other")])
    assert found[new.key].call.url == "https://other.example/"
    assert found.keys() == {new.key}
    copies.put([old, new])
    assert copies.get([new.key]) == (mark, found)
    copies.put([replace(new, version=3)])
    assert copies.get([new.key])[0] != mark
    copies.drop(new.key)
    assert copies.get([new.key])[1] == {}


def test_no_copy_has_an_open_secret(redis_url: str) -> None:
    with closing(RedisConnection(redis_url)) as connection:
        TargetCopies(MarkedCopies(connection, Keys("wt")), SEALS).put([replace(a_target(), version=1)])
    assert b"sesame" not in str(Redis.from_url(redis_url).hgetall("wt:signing")).encode()


def test_a_copy_that_cannot_be_opened_here_is_left_out(redis_url: str) -> None:
    with closing(RedisConnection(redis_url)) as connection:
        TargetCopies(MarkedCopies(connection, Keys("wt")), SEALS).put([replace(a_target(), version=1)])
        assert TargetCopies(MarkedCopies(connection, Keys("wt")), NO_KEYS).get([("shop", "orders")])[1] == {}


def test_what_redis_missed_is_told_by_the_sweep(store: TargetStore, copies: Any) -> None:
    for number, name in enumerate("abc"):
        made(store, name, NOW + number)
    CopyRefresher("target", store.changed_behind, copies.put, names=2).refresh(NOW + 1)
    assert {name for _, name in copies.get([("shop", one) for one in "abc"])[1]} == {"b", "c"}
    CopyRefresher("target", store.changed_behind, copies.put, names=2).refresh(0)
    assert len(copies.get([("shop", one) for one in "abc"])[1]) == 3


def test_a_rotation_seals_anew_and_changes_nothing_else(store: TargetStore, database: Database) -> None:
    target = made(store)
    newer = Seals({"newest": b"z" * 32, "new": b"n" * 32})
    sealed = TargetStore(database, newer).seal_anew(target.key)
    assert sealed is not None
    assert sealed.call.sealed.startswith("1.newest.")
    assert newer.opened(sealed) == SEALS.opened(target)
    assert TargetStore(database, newer).seal_anew(target.key) is None


OWN = Notify("/expire?order=7", "", (("X-Order", "7"),), "7", target="orders")


def test_a_call_through_a_target_is_stored_and_read_back() -> None:
    for call in (OWN, SEALS.seal(OWN._replace(headers=(("X-Key", "sesame"),)), "shop", 7)):
        assert notify_of(notify_text(call)) == call


def test_a_definition_through_a_target_is_read_back(redis_url: str) -> None:
    one = definition(7)._replace(notify=OWN)
    with closing(RedisConnection(redis_url)) as connection:
        store = DefinitionStore(connection, Keys("wt"), HandClock(), 60, BadTimers())
        store.put([one])
        assert store.get([7]).definitions == {7: one}


def test_the_row_of_a_timer_names_its_target(database: Database, store: TargetStore) -> None:
    made(store)
    timer = plain_timers(database).create(new_timer("a"), NOW)
    own = replace(new_timer("b"), notify=Notify("https://own.example/"))
    plain_timers(database).create(own, NOW)
    query = select(timers.c.name, timers.c.target).order_by(timers.c.name)
    assert database.read(lambda sql: [tuple(row) for row in sql.execute(query)]) == [
        ("a", "orders"),
        ("b", None),
    ]
    assert timer.definition.notify.target == "orders"


def test_a_target_of_a_later_version_is_not_taken_for_less(store: TargetStore, database: Database) -> None:
    made(store)
    later = targets.update().values(content='{"call":"{}","retries":9}')
    database.write(lambda sql: sql.execute(later))
    found = store.stored([("shop", "orders")])
    assert (dict(found), list(found.bad)) == ({}, [("shop", "orders")])
