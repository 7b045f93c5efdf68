"""Apps and API keys in SQL, and what a process remembers of them."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from tests.patience import wait_for
from wangtimer.core.apps.scopes import APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import StoredKey, new_key
from wangtimer.core.errors import Conflict, StoreAway
from wangtimer.store import app_directory
from wangtimer.store.app_directory import BELIEVED_FOR_S, AppDirectory, KeyRing
from wangtimer.store.sql.apps import NOTED_EVERY_MS, ApiKeyStore, AppStore, FoundKey
from wangtimer.store.sql.database import Database

NOW = 1_796_119_220_000


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url, pool_size=2)) as database:
        database.create_tables()
        yield database


@pytest.fixture
def apps(database: Database) -> AppStore:
    return AppStore(database)


@pytest.fixture
def keys(database: Database) -> ApiKeyStore:
    return ApiKeyStore(database)


def made(keys: ApiKeyStore, app: str | None = "shop", name: str = "checkout") -> StoredKey:
    key = new_key(app, name, APP_SCOPES, NOW)[1]
    keys.add(key)
    return key


def test_an_app_is_made_once(apps: AppStore) -> None:
    apps.create("shop", {"callsPerSecond": 5}, NOW)
    with pytest.raises(Conflict):
        apps.create("shop", {}, NOW + 1)
    found = apps.find("shop")
    assert found is not None
    assert (found.created_at, found.limits, found.disabled_at) == (NOW, {"callsPerSecond": 5}, None)


@pytest.mark.parametrize("name", ["shpo", "Shop", "shop "])
def test_another_name_is_another_app(apps: AppStore, name: str) -> None:
    apps.create("shop", {}, NOW)
    assert apps.find(name) is None


def test_limits_are_changed_one_by_one(apps: AppStore) -> None:
    apps.create("shop", {"callsPerSecond": 5, "callsAtOnce": 7}, NOW)
    changed = apps.change("shop", NOW + 1, {"callsPerSecond": None})
    assert changed is not None
    assert changed == apps.find("shop")
    assert (changed.limits, changed.updated_at) == ({"callsAtOnce": 7}, NOW + 1)
    assert apps.change("billing", NOW, {}) is None


def test_the_first_disabling_counts_until_it_is_enabled(apps: AppStore) -> None:
    apps.create("shop", {}, NOW)
    for at, is_disabled, expected in ((1, True, 1), (2, True, 1), (3, None, 1), (4, False, None)):
        changed = apps.change("shop", at, {}, is_disabled)
        assert changed is not None
        assert changed.disabled_at == expected


def test_apps_are_listed_in_pages(apps: AppStore) -> None:
    for name in ("c", "a", "b"):
        apps.create(name, {}, NOW)
    assert [app.name for app in apps.page(2)] == ["a", "b"]
    assert [app.name for app in apps.page(2, "b")] == ["c"]


def test_a_key_is_found_with_its_apps_state(apps: AppStore, keys: ApiKeyStore) -> None:
    apps.create("shop", {}, NOW)
    key = made(keys)
    assert keys.find(key.id) == FoundKey(key, is_of_disabled_app=False)
    apps.change("shop", NOW, {}, is_disabled=True)
    assert keys.find(key.id) == FoundKey(key, is_of_disabled_app=True)
    assert keys.find(key.id.swapcase()) is None


def test_a_key_is_revoked_once_and_by_its_app_alone(keys: ApiKeyStore) -> None:
    key, operators = made(keys), made(keys, None)
    assert keys.revoke("billing", key.id, NOW) is None
    assert keys.revoke(None, key.id, NOW) is None
    for at in (NOW + 1, NOW + 2):
        revoked = keys.revoke("shop", key.id, at)
        assert revoked is not None
        assert revoked.revoked_at == NOW + 1
    assert keys.revoke(None, operators.id, NOW) is not None


def test_keys_are_listed_by_app(keys: ApiKeyStore) -> None:
    of_shop = sorted(made(keys).id for _ in range(3))
    operators = made(keys, None)
    assert [key.id for key in keys.page("shop", 9)] == of_shop
    assert [key.id for key in keys.page("shop", 1, of_shop[0])] == [of_shop[1]]
    assert [key.id for key in keys.page(None, 9)] == [operators.id]


def test_a_use_is_noted_once_a_minute(keys: ApiKeyStore) -> None:
    key = made(keys)
    for at, noted in ((NOW, NOW), (NOW + 59_999, NOW), (NOW + NOTED_EVERY_MS, NOW + NOTED_EVERY_MS)):
        keys.note_uses({key.id: at})
        (found,) = keys.page("shop", 1)
        assert found.last_used_at == noted


@dataclass
class WatchedKeys(ApiKeyStore):
    """Counts what is asked; away while `is_away`."""

    keys: ApiKeyStore
    asked: int = 0
    is_away: bool = False
    noted: list[dict[str, int]] = field(default_factory=list)
    may_note: threading.Event = field(default_factory=threading.Event)

    def find(self, key_id: str) -> FoundKey | None:
        self.asked += 1
        if self.is_away:
            raise StoreAway("SQL", "gone")
        return self.keys.find(key_id)

    def note_uses(self, used_at: dict[str, int]) -> None:  # type: ignore[override]
        self.may_note.wait(10)
        self.noted.append(used_at)


@pytest.fixture
def watched(keys: ApiKeyStore) -> WatchedKeys:
    return WatchedKeys(keys)


def test_a_key_is_looked_up_once_in_some_seconds(keys: ApiKeyStore, watched: WatchedKeys) -> None:
    now = [0.0]
    ring, key = KeyRing(watched, lambda: now[0]), made(keys)
    for now[0] in (0.0, BELIEVED_FOR_S - 0.1):
        assert ring.find(key.id) == FoundKey(key, is_of_disabled_app=False)
    assert watched.asked == 1
    keys.revoke("shop", key.id, NOW)
    now[0] = BELIEVED_FOR_S
    found = ring.find(key.id)
    assert found is not None
    assert found.key.revoked_at == NOW


def test_what_is_revoked_counts_within_five_seconds() -> None:
    """A look-up may take as long as a statement waits for its answer, half of it before the row is read."""
    assert BELIEVED_FOR_S <= 4


def test_a_key_is_known_while_sql_is_away(keys: ApiKeyStore, watched: WatchedKeys) -> None:
    now = [0.0]
    ring, key = KeyRing(watched, lambda: now[0]), made(keys)
    ring.find(key.id)
    watched.is_away, now[0] = True, BELIEVED_FOR_S + 1
    with pytest.raises(StoreAway):
        ring.find(key.id)
    assert ring.last_known(key.id) == FoundKey(key, is_of_disabled_app=False)
    assert ring.last_known("never seen") is None


def test_made_up_ids_push_out_no_key(
    keys: ApiKeyStore, watched: WatchedKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_directory, "MOST_KEPT", 5)
    ring, key = KeyRing(watched, lambda: 0.0), made(keys)
    ring.find(key.id)
    for number in range(12):
        assert ring.find(f"made up {number}") is None
    assert watched.asked == 13
    assert ring.find(key.id) == ring.last_known(key.id) == FoundKey(key, is_of_disabled_app=False)
    assert ring.find("made up 11") is ring.find("made up 7") is None
    assert watched.asked == 13
    ring.find("made up 6")  # the oldest of them gave way
    assert watched.asked == 14


def test_of_too_many_keys_the_oldest_gives_way(
    keys: ApiKeyStore, watched: WatchedKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_directory, "MOST_KEPT", 2)
    ring, some = KeyRing(watched, lambda: 0.0), [made(keys, name=name) for name in "abc"]
    for key in some:
        ring.find(key.id)
    assert [ring.last_known(key.id) is not None for key in some] == [False, True, True]


def test_noting_a_use_holds_up_no_request(watched: WatchedKeys) -> None:
    ring = KeyRing(watched)
    ring.note_use("a", NOW)
    ring.note_use("a", NOW + 1)
    ring.note_use("b", NOW + 2)
    assert watched.noted == []
    watched.may_note.set()
    assert wait_for(lambda: {key for noted in watched.noted for key in noted} == {"a", "b"}, 10)
    assert {key: at for noted in watched.noted for key, at in noted.items()} == {"a": NOW, "b": NOW + 2}


def test_an_unknown_app_is_asked_for_each_time_and_its_near_name_told(apps: AppStore) -> None:
    directory = AppDirectory(apps, {})
    assert directory.find("shop") is None
    apps.create("shop", {}, NOW)
    assert directory.find("shop") is not None
    assert directory.meant_by("shpo") == "shop"
    assert directory.meant_by("billing") is None


def test_what_an_app_may_never_do_is_an_operators(keys: ApiKeyStore) -> None:
    assert not APP_SCOPES & {Scope.APPS_ADMIN, Scope.LOAD_READ, Scope.METRICS_READ}
