"""A key written straight into the database: the first one, which no other key could make."""

import time
from collections.abc import Sequence
from contextlib import closing

import click

from wangtimer.base.settings import read_settings
from wangtimer.cli.terminal.asking import Failed
from wangtimer.client.app_types import MadeApiKey
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import KEY_NAME_CHARACTERS, new_key
from wangtimer.core.near_misses import near_miss
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.database import Database

# Whose changes these are, in the audit.
CALLER = Caller(None, "wangtimer keys create --database", None, ALL_SCOPES, "")


def key_in_database(app: str | None, name: str, scopes: Sequence[str], expires_at: int | None) -> MadeApiKey:
    """Make a key in the database of the settings and return it; `app` None: an operator's. Raises `Failed`."""
    may_have = ALL_SCOPES if app is None else APP_SCOPES
    wanted = frozenset(map(Scope, scopes)) or may_have
    if not wanted <= may_have:
        raise click.UsageError(f"--scope: an app's key cannot have {' '.join(sorted(wanted - may_have))}")
    if not (0 < len(name) <= KEY_NAME_CHARACTERS and name.isprintable() and name == name.strip()):
        raise click.UsageError(f"NAME: write 1 to {KEY_NAME_CHARACTERS} printable characters")
    text, key = new_key(app, name, wanted, int(time.time() * 1_000), expires_at)
    with closing(Database(read_settings().database_url, pool_size=1)) as database:
        if database.is_sqlite:
            database.create_tables()
        database.ping()
        _refuse_unknown(AppStore(database), app)
        with calling(CALLER):
            ApiKeyStore(database).add(key)
    return {
        "id": key.id,
        "app": key.app,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "createdAt": show_moment(key.created_at),
        "expiresAt": None if expires_at is None else show_moment(expires_at),
        "revokedAt": None,
        "lastUsedAt": None,
        "key": text.text,
    }


def _refuse_unknown(apps: AppStore, app: str | None) -> None:
    if app is None or apps.find(app) is not None:
        return
    meant = near_miss(app, apps.names())
    mend = "make it first: wangtimer apps create" if meant is None else f"did you mean {meant!r}?"
    raise Failed(f"there is no app {app!r}; {mend}")
