"""The operations on apps and API keys: for operators."""

from collections.abc import Iterator, Sequence
from typing import Literal

from .app_types import ApiKey, ApiKeysPage, App, AppEgress, AppLimits, AppsPage, ChangedApp, MadeApiKey
from .calls import Calls, all_rows, place_of
from .timer_fields import Retry
from .transport import Call
from .values import given

APPS, OPERATOR_KEYS = "/v1/apps", "/v1/operator-keys"


class AppCalls(Calls):
    """Make, limit and disable apps; make, list and revoke keys. Each method raises `ClientError`.

    They need an operator's key.
    """

    def create_app(self, name: str, *, limits: AppLimits | None = None, queue: str | None = None) -> App:
        """Make an app; `limits` as in `{"callsPerSecond": 100}`, `queue` its own queue."""
        body = given({"name": name, "limits": limits, "queue": queue})
        call = Call("POST", APPS, body=body, bears_repeating=False)
        return self._transport.ask(call).typed(App, "name")

    def get_app(self, name: str) -> App:
        """Return an app."""
        return self._transport.ask(Call("GET", place_of(APPS, name))).typed(App, "name")

    def apps(self, *, most: int | None = None) -> Iterator[App]:
        """Yield apps by name, all or at most `most`, page by page."""
        return all_rows(lambda limit, cursor: self.list_apps(limit=limit, cursor=cursor), most)

    def list_apps(self, *, limit: int | None = None, cursor: str | None = None) -> AppsPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `apps` reads all pages."""
        query = given({"limit": limit, "cursor": cursor})
        return self._transport.ask(Call("GET", APPS, query=query)).typed(AppsPage, "items", "nextCursor")

    def patch_app(
        self,
        name: str,
        *,
        disabled: bool | None = None,
        limits: AppLimits | None = None,
        egress: AppEgress | None = None,
        queue: str | None = None,
        retry: Retry | Literal["usual"] | None = None,
        dead_letter_days: int | None = None,
    ) -> ChangedApp:
        """Change an app: what is not named stays; of its limits, way out and retries, None takes it out.

        `queue` "" takes its own queue out, `retry` "usual" the whole policy, `dead_letter_days` 0 the app's own. A
        disabled app's keys are refused within 5 s. Repeat it until `enabledTimers` is 0.
        """
        body = given(
            {
                "disabled": disabled,
                "limits": limits,
                "egress": egress,
                "queue": queue,
                "retry": retry,
                "deadLetterDays": dead_letter_days,
            }
        )
        if queue == "":
            body["queue"] = None
        if retry == "usual":
            body["retry"] = None
        if dead_letter_days == 0:
            body["deadLetterDays"] = None
        return self._transport.ask(Call("PATCH", place_of(APPS, name), body=body)).typed(ChangedApp, "name")

    def create_app_key(
        self,
        app: str,
        name: str,
        *,
        scopes: Sequence[str] | None = None,
        expires_at: str | int | None = None,
    ) -> MadeApiKey:
        """Make a key of an app; the answer has it under `key`, this once. `scopes` None: all that an app can have."""
        return self._make_key(f"{place_of(APPS, app)}/keys", name, scopes, expires_at)

    def app_keys(self, app: str, *, most: int | None = None) -> Iterator[ApiKey]:
        """Yield an app's keys by id, all or at most `most`, page by page; those that have ended too."""
        return all_rows(lambda limit, cursor: self.list_app_keys(app, limit=limit, cursor=cursor), most)

    def list_app_keys(self, app: str, *, limit: int | None = None, cursor: str | None = None) -> ApiKeysPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `app_keys` reads all pages."""
        return self._page_of_keys(f"{place_of(APPS, app)}/keys", limit, cursor)

    def revoke_app_key(self, app: str, key_id: str) -> ApiKey:
        """Revoke a key of an app: it is refused everywhere within 5 s."""
        return self._revoke_key(f"{place_of(APPS, app)}/keys", key_id)

    def create_operator_key(
        self, name: str, *, scopes: Sequence[str] | None = None, expires_at: str | int | None = None
    ) -> MadeApiKey:
        """Make an operator's key; the answer has it under `key`, this once. `scopes` None: all there are."""
        return self._make_key(OPERATOR_KEYS, name, scopes, expires_at)

    def operator_keys(self, *, most: int | None = None) -> Iterator[ApiKey]:
        """Yield the operators' keys by id, all or at most `most`, page by page; those that have ended too."""
        return all_rows(lambda limit, cursor: self.list_operator_keys(limit=limit, cursor=cursor), most)

    def list_operator_keys(self, *, limit: int | None = None, cursor: str | None = None) -> ApiKeysPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `operator_keys` reads all pages."""
        return self._page_of_keys(OPERATOR_KEYS, limit, cursor)

    def revoke_operator_key(self, key_id: str) -> ApiKey:
        """Revoke an operator's key: it is refused everywhere within 5 s."""
        return self._revoke_key(OPERATOR_KEYS, key_id)

    def _make_key(
        self, place: str, name: str, scopes: Sequence[str] | None, expires_at: str | int | None
    ) -> MadeApiKey:
        body = given(
            {"name": name, "scopes": None if scopes is None else list(scopes), "expiresAt": expires_at}
        )
        call = Call("POST", place, body=body, bears_repeating=False)
        return self._transport.ask(call).typed(MadeApiKey, "id", "key")

    def _page_of_keys(self, place: str, limit: int | None, cursor: str | None) -> ApiKeysPage:
        query = given({"limit": limit, "cursor": cursor})
        return self._transport.ask(Call("GET", place, query=query)).typed(ApiKeysPage, "items", "nextCursor")

    def _revoke_key(self, place: str, key_id: str) -> ApiKey:
        return self._transport.ask(Call("DELETE", place_of(place, key_id))).typed(ApiKey, "id")
