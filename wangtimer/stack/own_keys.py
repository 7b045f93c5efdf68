"""The app and the keys that the embedded default makes by itself, in files that only its user can read."""

import os
import time
from contextlib import closing
from pathlib import Path

from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.key_text import KeyText
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import new_key
from wangtimer.core.errors import BadSetting
from wangtimer.core.timers.timer import APP_CHARACTERS
from wangtimer.stack.data_directory import DataDirectory
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.database import Database

DEFAULT_APP = "default"
NAME = "wangtimer up"


def provide_keys(directory: DataDirectory, app: str) -> None:
    """Make the app, its key and an operator's key, each unless it is there already.

    Their files have the line of an HTTP header, which `curl -H @FILE` reads. Raises `BadSetting` for a name that no app
    can have, `StoreAway`.
    """
    if not (0 < len(app) <= APP_CHARACTERS and app.isprintable() and app == app.strip() and "/" not in app):
        raise BadSetting(
            f"app {app!r}: write 1 to {APP_CHARACTERS} printable characters, without slashes and outer spaces"
        )
    now = int(time.time() * 1_000)
    with closing(Database(directory.database_url, pool_size=1)) as database:
        database.create_tables()
        with calling(Caller(None, NAME, None, ALL_SCOPES, "")):
            AppStore(database).create_missing(app, {}, now)
            keys = ApiKeyStore(database)
            _provide(keys, directory.key_file, app, APP_SCOPES, now)
            _provide(keys, directory.operator_key_file, None, ALL_SCOPES, now)


def _provide(keys: ApiKeyStore, file: Path, app: str | None, scopes: frozenset[Scope], now: int) -> None:
    if not _counts(keys, file, app, now):
        text, key = new_key(app, NAME, scopes, now)
        keys.add(key)
        write_key(file, text)


def _counts(keys: ApiKeyStore, file: Path, app: str | None, now: int) -> bool:
    try:
        text = KeyText.read(file.read_text().split()[-1])
    except (OSError, UnicodeDecodeError, IndexError):
        return False
    found = None if text is None else keys.find(text.id)
    if text is None or found is None or not text.has(found.key.fingerprint):
        return False
    return found.key.app == app and found.key.revoked_at is None and not found.key.has_expired(now)


def write_key(file: Path, key: KeyText) -> None:
    """Write a key as the line of an HTTP header into a file that only its owner can read."""
    made = file.with_name(f"{file.name}.new")
    made.unlink(missing_ok=True)
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(f"Authorization: Bearer {key.text}\n")
    made.replace(file)
