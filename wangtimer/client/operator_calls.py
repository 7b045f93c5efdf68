"""The operations of operators: on apps, API keys, limits of target hosts and pauses, and the audit."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, Unpack

from .app_types import (
    ApiKey,
    App,
    AppEgress,
    AppLimits,
    AuditedChange,
    ChangedApp,
    HostLimit,
    MadeApiKey,
    Pause,
)
from .calls import Calls, all_rows, place_of
from .filters import AuditFilter
from .timer_fields import Retry
from .transport import Call, Page
from .values import given

APPS, OPERATOR_KEYS, HOST_LIMITS, PAUSES = "/v1/apps", "/v1/operator-keys", "/v1/host-limits", "/v1/pauses"


class OperatorCalls(Calls):
    """Apps, their keys and limits, limits of hosts, pauses, the audit; by an operator's key. Raise `ClientError`."""

    # apps

    def create_app(self, name: str, *, limits: AppLimits | None = None, queue: str | None = None) -> App:
        """Make an app; `limits` as in `{"callsPerSecond": 100}`, `queue` its own queue."""
        body = given({"name": name, "limits": limits, "queue": queue})
        call = Call("POST", APPS, body=body, bears_repeating=False)
        return self._transport.ask(call).typed(App, "name")

    def get_app(self, name: str) -> App:
        """Return an app."""
        return self._get(place_of(APPS, name), names_app=False).typed(App, "name")

    def apps(self, *, most: int | None = None) -> Iterator[App]:
        """Yield apps by name, all or at most `most`, page by page."""
        return all_rows(self.list_apps, most)

    def list_apps(self, *, limit: int | None = None, cursor: str | None = None) -> Page[App]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `apps` reads all pages."""
        return self._get(APPS, {"limit": limit, "cursor": cursor}, names_app=False).page(App)

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

    # API keys

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
        return all_rows(partial(self.list_app_keys, app), most)

    def list_app_keys(self, app: str, *, limit: int | None = None, cursor: str | None = None) -> Page[ApiKey]:
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
        return all_rows(self.list_operator_keys, most)

    def list_operator_keys(self, *, limit: int | None = None, cursor: str | None = None) -> Page[ApiKey]:
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

    def _page_of_keys(self, place: str, limit: int | None, cursor: str | None) -> Page[ApiKey]:
        return self._get(place, {"limit": limit, "cursor": cursor}, names_app=False).page(ApiKey)

    def _revoke_key(self, place: str, key_id: str) -> ApiKey:
        return self._transport.ask(Call("DELETE", place_of(place, key_id))).typed(ApiKey, "id")

    # limits of target hosts

    def limit_host(
        self, host: str, *, calls_per_second: int | None = None, calls_at_once: int | None = None
    ) -> HostLimit:
        """Limit the calls to a host, over all apps, in place of a former limit; None: no such limit.

        `host` is a target's host and port, `shop.example.org:443`; or `*`, for every host without a limit of its own.
        """
        body = given({"callsPerSecond": calls_per_second, "callsAtOnce": calls_at_once})
        return self._transport.ask(Call("PUT", place_of(HOST_LIMITS, host), body=body)).typed(
            HostLimit, "host"
        )

    def free_host(self, host: str) -> None:
        """Take out the limit of a host."""
        self._transport.ask(Call("DELETE", place_of(HOST_LIMITS, host)))

    def host_limits(self, *, most: int | None = None) -> Iterator[HostLimit]:
        """Yield limits by host, all or at most `most`, page by page."""
        return all_rows(self.list_host_limits, most)

    def list_host_limits(self, *, limit: int | None = None, cursor: str | None = None) -> Page[HostLimit]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `host_limits` reads all pages."""
        return self._get(HOST_LIMITS, {"limit": limit, "cursor": cursor}, names_app=False).page(HostLimit)

    # pauses

    def pause(self, what: str, *, reason: str = "") -> Pause:
        """Pause something: from 5 s on no call of it begins. What came due follows the misfire policies later.

        `what` is `all`; or `app:`, `host:` or `timer:` with an app, a target's host and port, or a timer's id.
        """
        call = Call("PUT", place_of(PAUSES, what), body={"reason": reason})
        return self._transport.ask(call).typed(Pause, "name")

    def resume(self, what: str) -> None:
        """Let something that is paused go on."""
        self._delete(self._transport.ask, place_of(PAUSES, what))

    def pauses(self, *, most: int | None = None) -> Iterator[Pause]:
        """Yield what is paused by name, all or at most `most`, page by page."""
        return all_rows(self.list_pauses, most)

    def list_pauses(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Pause]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `pauses` reads all pages."""
        return self._get(PAUSES, {"limit": limit, "cursor": cursor}, names_app=False).page(Pause)

    # the audit

    def audit(self, *, most: int | None = None, **wanted: Unpack[AuditFilter]) -> Iterator[AuditedChange]:
        """Yield changes, latest first, all or at most `most`, page by page."""
        return all_rows(partial(self.list_audit, **wanted), most)

    def list_audit(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[AuditFilter]
    ) -> Page[AuditedChange]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `audit` reads all pages."""
        query = {"limit": limit, "cursor": cursor, **wanted}
        return self._get("/v1/audit", query, names_app=False).page(AuditedChange)
