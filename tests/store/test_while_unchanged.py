"""What is read again and again at rest: where SQL can tell that nothing has changed, it is read once."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.worlds import real_sql
from wangtimer.core.timers.timer import NewTimer
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.database import Database

NOW = 1_700_000_000_000
WITHIN = "file:/wangtimer-unchanged?vfs=memdb&uri=true"


@contextmanager
def statements_of(database: Database) -> Iterator[list[str]]:
    told: list[str] = []
    note: Callable[..., None] = lambda *of: told.append(of[2])  # noqa: E731
    for engine in database.engines:
        event.listen(engine, "before_cursor_execute", note)
    yield told
    for engine in database.engines:
        event.remove(engine, "before_cursor_execute", note)


def disable(database: Database, name: str) -> None:
    """Change what `disabled` returns."""
    apps = AppStore(database)
    apps.create(name, {}, NOW)
    apps.change(name, NOW, {}, is_disabled=True)


@pytest.mark.parametrize("by_process", ["this", "another"])
def test_a_commit_is_seen_at_once_whoever_made_it(database: Database, by_process: str) -> None:
    apps = AppStore(database)
    assert apps.disabled() == apps.disabled() == {}
    with closing(Database(database.engine.url.render_as_string(False), pool_size=1)) as other:
        for name in ("shop", "bank"):
            disable(database if by_process == "this" else other, name)
            assert apps.disabled()[name] == NOW
    database.close()
    assert apps.disabled() == {"shop": NOW, "bank": NOW}


def test_a_commit_is_seen_by_a_process_that_went_to_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    for directory in (there, elsewhere):
        directory.mkdir()
    monkeypatch.chdir(there)
    with closing(Database("sqlite:///wangtimer.db", pool_size=1)) as database:
        database.create_tables()
        monkeypatch.chdir(elsewhere)
        apps = AppStore(database)
        assert apps.disabled() == {}
        disable(database, "shop")
        assert apps.disabled() == {"shop": NOW}
    assert list(elsewhere.iterdir()) == []


def test_sqlite_is_asked_once_while_nobody_commits(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=1)) as database:
        apps, begun = AppStore(database), BegunFirings(database)
        disable(database, "shop")
        with statements_of(database) as told:
            for _ in range(3):
                assert (apps.disabled(), apps.retries()) == ({"shop": NOW}, {})
                assert begun.page((0, 0), 5) == begun.page((7, 0), 5) == []
        # Each other question, and each other argument, is one of its own.
        assert len(told) == 4


def test_behind_what_had_nothing_behind_it_there_is_nothing_until_somebody_commits(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=1)) as database:
        timers = real_sql(database).timers
        made = timers.create(NewTimer("shop", "first", EVERY_MINUTE, NOTIFY), NOW)
        assert [change.timer_id for change in timers.changed_behind((NOW - 1, 0), 9)] == [made.id]
        with statements_of(database) as told:
            for later in range(3):
                assert timers.changed_behind((NOW + later, made.id), 9) == []
        assert len(told) == 1
        # An earlier key is another question.
        assert timers.changed_behind((NOW - 1, 0), 9)
        another = timers.create(NewTimer("shop", "second", EVERY_MINUTE, NOTIFY), NOW + 5)
        assert [change.timer_id for change in timers.changed_behind((NOW + 3, 0), 9)] == [another.id]


@pytest.mark.parametrize("is_within", [False, True])
def test_what_cannot_tell_is_asked_each_time(mariadb_url: str, is_within: bool) -> None:
    url = f"sqlite:///{WITHIN}" if is_within else mariadb_url
    with closing(Database(url, pool_size=1)) as database:
        database.create_tables()
        assert database.changes() is None
        apps = AppStore(database)
        with statements_of(database) as told:
            assert apps.retries() == apps.retries() == {}
        assert len([text for text in told if "retry" in text]) == 2


def test_what_is_changed_while_it_is_read_is_read_again(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=1)) as database, closing(Database(sqlite_url, 1)) as other:
        apps, names = AppStore(database), ["shop"]

        def meanwhile(*_of: object) -> None:
            if names:
                disable(other, names.pop())

        event.listen(database.engine, "after_cursor_execute", meanwhile)
        apps.disabled()
        assert apps.disabled() == {"shop": NOW}
