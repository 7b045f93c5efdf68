"""The API with keys, over real stores."""

from typing import Any

from werkzeug.test import TestResponse

from tests.api.world import World
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import new_key


class KeyedWorld(World):
    """`ask("GET", "/v1/timers", world.key("shop"))`; apps are made by the test."""

    def __init__(self, database_url: str, store_url: str, now: int, **variables: Any) -> None:
        super().__init__(database_url, store_url, now, **{"auth": "keys"} | variables)
        self.wiring.database.create_tables()

    def app_of(self, name: str) -> str:
        """Make an app, and return a key of it."""
        self.wiring.apps.create_missing(name, {}, self.clock.now)
        return self.key(name)

    def key(
        self, app: str | None, scopes: frozenset[Scope] | None = None, expires_at: int | None = None
    ) -> str:
        """Make a key, with all scopes of its kind unless some are given, and return it."""
        whole = ALL_SCOPES if app is None else APP_SCOPES
        text, stored = new_key(app, "test", whole if scopes is None else scopes, self.clock.now, expires_at)
        self.wiring.api_keys.add(stored)
        return text.text

    def ask(
        self, method: str, path: str, key: str | None, headers: dict[str, str] | None = None, **options: Any
    ) -> TestResponse:
        """Send a request with a key."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        return self.client.open(path, method=method, headers=sent, **options)
