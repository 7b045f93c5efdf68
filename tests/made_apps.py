"""Apps of a real deployment, made before anybody calls it, and an operator's key."""

import time
from contextlib import closing

from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES
from wangtimer.core.apps.stored_key import new_key
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.database import Database


def make_apps(database_url: str, *names: str) -> str:
    """Make the tables where they are missing, and these apps; return a new operator's key."""
    now = int(time.time() * 1_000)
    with closing(Database(database_url, pool_size=1)) as database:
        database.create_tables()
        for name in names:
            AppStore(database).create_missing(name, {}, now)
        text, key = new_key(None, "tests", ALL_SCOPES, now)
        ApiKeyStore(database).add(key)
        return text.text


def make_app_with_key(database_url: str, name: str) -> str:
    """Make an app where it is missing; return a new key of it, with all scopes that an app's key may have."""
    now = int(time.time() * 1_000)
    with closing(Database(database_url, pool_size=1)) as database:
        AppStore(database).create_missing(name, {}, now)
        text, key = new_key(name, "tests", APP_SCOPES, now)
        ApiKeyStore(database).add(key)
        return text.text
