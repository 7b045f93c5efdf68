"""Rotation: secrets are sealed anew under the first key, in pages, beside processes that run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.store.plain_stores import plain_timers
from tests.store.test_timers import NOW, new
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql import secret_rotation
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.secret_rotation import SecretRotation
from wangtimer.store.sql.tables import timers
from wangtimer.store.sql.timer_rows import NO_CALL_TEXT, notify_text

OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
SECRET = Notify("http://a.example/?token=sesame", headers=(("Authorization", "sesame"), ("X-Tag", "blue")))
PLAIN = Notify("http://a.example/", headers=(("X-Tag", "blue"),))

Make = Callable[..., Timer]


@pytest.fixture
def make(database: Database) -> Make:
    """Make a timer with a call, sealed under `keys`, the old one by default."""

    def make(name: str, call: Notify, keys: dict[str, bytes] = OLD) -> Timer:
        return plain_timers(database, seals=Seals(keys)).create(replace(new(name), notify=call), NOW)

    return make


def write(database: Database, timer_id: int, text: str) -> None:
    database.write(lambda sql: sql.execute(update(timers).where(timers.c.id == timer_id).values(notify=text)))


def stored(database: Database, timer_id: int) -> tuple[str, int]:
    columns = select(timers.c.notify, timers.c.version).where(timers.c.id == timer_id)
    return tuple(database.read(lambda sql: sql.execute(columns).one()))  # type: ignore[return-value]


def rotated(database: Database, keys: dict[str, bytes]) -> tuple[list[int], dict[int, str]]:
    """Rotate all pages; return what was changed and what could not be."""
    rotation, last, changed, bad = SecretRotation(database, Seals(keys)), 0, list[int](), dict[int, str]()
    while last is not None:
        page = rotation.next_page(last)
        changed, bad, last = changed + page.changed, bad | page.bad, page.last_id
    return changed, bad


def test_rows_under_an_older_key_and_unsealed_ones_are_sealed_under_the_first(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_rotation, "PAGE", 2)
    old, plain, ready = make("old", SECRET), make("plain", PLAIN), make("ready", SECRET, NEW)
    unsealed = make("unsealed", PLAIN)
    write(database, unsealed.id, notify_text(SECRET))
    before = {one.id: stored(database, one.id) for one in (plain, ready)}
    changed, bad = rotated(database, NEW | OLD)
    assert (sorted(changed), bad) == (sorted([old.id, unsealed.id]), {})
    store, seals = plain_timers(database), Seals(NEW)
    for one in (old, unsealed, ready):
        timer = store.get("shop", one.id)
        assert seals.call_of(timer.definition) == SECRET
        assert "sesame" not in stored(database, one.id)[0]
        assert timer.definition.version == 1
    assert {one: stored(database, one) for one in before} == before
    assert rotated(database, NEW | OLD) == ([], {})


def test_what_cannot_be_opened_is_told_and_left(database: Database, make: Make) -> None:
    lost, broken, fine = make("lost", SECRET), make("broken", PLAIN), make("fine", SECRET, NEW)
    write(database, broken.id, "{")
    was = stored(database, lost.id)
    changed, bad = rotated(database, {"third": b"3" * 32} | NEW)
    assert changed == [fine.id]
    assert bad.keys() == {lost.id, broken.id}
    assert "no key 'old'" in bad[lost.id]
    assert stored(database, lost.id) == was


def test_a_row_that_changes_between_look_and_lock_keeps_its_change(database: Database, make: Make) -> None:
    edited, deleted = make("edited", SECRET), make("deleted", SECRET)

    class Meanwhile(Database):
        """Lets others commit between the look at a page and the locks."""

        def __init__(self) -> None:
            vars(self).update(vars(database))

        def write(self, *arguments: Any, **named: Any) -> Any:
            write(database, edited.id, notify_text(PLAIN))
            plain_timers(database).delete("shop", deleted.id, NOW)
            return database.write(*arguments, **named)

    page = SecretRotation(Meanwhile(), Seals(NEW | OLD)).next_page(0)
    assert page.changed == []
    assert stored(database, edited.id)[0] == notify_text(PLAIN)
    assert stored(database, deleted.id)[0] == NO_CALL_TEXT


def test_a_process_without_keys_reads_what_is_sealed_and_shows_nothing(
    database: Database, make: Make
) -> None:
    made = make("old", SECRET)
    timer = plain_timers(database, seals=NO_KEYS).get("shop", made.id)
    assert "sesame" not in repr(timer)
