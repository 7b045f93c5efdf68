"""The operations on what an app has beside timers: targets, calendars, signing, alert rules; and on health."""

import secrets
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Unpack, cast

from .app_types import AlertRule, AlertTest, Broker, ClientCertificate, NewAlertRule
from .calls import Calls, all_rows, place_of
from .firing_types import FailingHost, FailingHostOfApp, PartsHealth
from .timer_fields import NamedTargetPatch, NewNamedTarget
from .timer_types import Calendar, ChangedSigning, ChangedTarget, NamedTarget, Rotation, Signing, Weekday
from .transport import Call, Listed, Page
from .values import Span, given, written
from .verification import PREFIX

TARGETS, BROKERS, FAILING_HOSTS = "/v1/targets", "/v1/brokers", "/v1/failing-hosts"
CALENDARS, RULES = "/v1/calendars", "/v1/alert-rules"
SIGNING, CLIENT_CERTIFICATE = "/v1/signing-secrets", "/v1/client-certificate"
MADE_BYTES = 32
NOT_READY = 503


class AppCalls(Calls):
    """Targets, calendars, secrets and alert rules of an app; the service's health. Each method raises `ClientError`.

    `version` of a target is the one that a change is meant for: `PreconditionFailed` where it has changed since.
    """

    # where calls go: named targets, message brokers, hosts that fail

    def put_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NewNamedTarget]
    ) -> ChangedTarget:
        """Make a target, or replace the one of this name; `***` leaves a secret as it is."""
        call = Call("PUT", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def patch_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NamedTargetPatch]
    ) -> ChangedTarget:
        """Change a target; what is not given stays. It counts for all timers that name it."""
        call = Call("PATCH", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def get_target(self, name: str) -> NamedTarget:
        """Return a target, and how many timers name it."""
        return self._get(place_of(TARGETS, name)).typed(NamedTarget, "name")

    def targets(self, *, most: int | None = None) -> Iterator[NamedTarget]:
        """Yield the app's targets by name, all or at most `most`, page by page."""
        return all_rows(self.list_targets, most)

    def list_targets(self, *, limit: int | None = None, cursor: str | None = None) -> Page[NamedTarget]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `targets` reads all pages."""
        return self._get(TARGETS, {"limit": limit, "cursor": cursor}).page(NamedTarget)

    def delete_target(self, name: str, *, version: int | None = None) -> None:
        """Delete a target that no timer names."""
        self._delete(self._ask, place_of(TARGETS, name), _condition(version))

    def get_brokers(self) -> Listed[Broker]:
        """Return the message brokers that the app may use by name, and what it may send there."""
        return self._get(BROKERS).typed(Listed[Broker], "items")

    def get_failing_hosts(self) -> Listed[FailingHost]:
        """Return the hosts that fail each of the app's calls: others wait, or fail where a host is disabled."""
        return self._get(FAILING_HOSTS).typed(Listed[FailingHost], "items")

    def get_failing_hosts_of_all_apps(self) -> Listed[FailingHostOfApp]:
        """Return the hosts that fail each call of some app, and how many firings wait for each."""
        answer = self._get(f"{FAILING_HOSTS}:allApps", names_app=False)
        return answer.typed(Listed[FailingHostOfApp], "items")

    def enable_host(self, host: str, *, idempotency_key: str | None = None) -> None:
        """Let the app's firings call a disabled host again; raises `ClientError` where it is not disabled.

        Under this Idempotency-Key, or a new one.
        """
        self._post_once(f"{FAILING_HOSTS}:enable", {"host": host}, idempotency_key)

    # calendars

    def put_calendar(
        self,
        name: str,
        *,
        weekdays: Sequence[Weekday] = (),
        days: Sequence[str] = (),
        working: Sequence[str] = (),
    ) -> Calendar:
        """Upload a calendar: nothing fires on its weekdays (`monday`) and days (`2027-01-01`), except `working` days.

        The timers that name it get the new days within seconds; `get_calendar` says how many are left.
        """
        body = {"weekdays": list(weekdays), "days": list(days), "working": list(working)}
        return self._ask(Call("PUT", place_of(CALENDARS, name), body=body)).typed(Calendar, "name")

    def get_calendar(self, name: str) -> Calendar:
        """Return a calendar, and how many timers use its latest days."""
        return self._get(place_of(CALENDARS, name)).typed(Calendar, "name")

    def calendars(self, *, most: int | None = None) -> Iterator[Calendar]:
        """Yield the calendars that the app can name, all or at most `most`, page by page."""
        return all_rows(self.list_calendars, most)

    def list_calendars(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Calendar]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `calendars` reads all pages."""
        return self._get(CALENDARS, {"limit": limit, "cursor": cursor}).page(Calendar)

    def delete_calendar(self, name: str) -> None:
        """Delete a calendar that no timer names."""
        self._delete(self._ask, place_of(CALENDARS, name))

    # health

    def is_alive(self) -> bool:
        """Return True where the service answers; raises `ClientError` otherwise."""
        self._transport.ask(Call("GET", "/healthz"))
        return True

    def is_ready(self) -> PartsHealth:
        """Return whether SQL, store and broker answer."""
        answer = self._transport.ask(Call("GET", "/readyz", accepted=NOT_READY))
        return cast(PartsHealth, answer.typed(dict[str, Any], "data")["data"])

    # how callbacks say who calls: signing secrets, and the client certificate they show

    def get_signing(self) -> Signing:
        """Return whether callbacks are signed, and which secrets sign; their values are not shown."""
        return self._get(SIGNING).typed(Signing, "enabled", "secrets")

    def rotate_secret(self, *, overlap: Span | None = None, secret: str | None = None) -> Rotation:
        """Make a new secret, and return its value; the present one signs beside it for `overlap` (a day by default).

        `secret` is one of your own, as `whsec_...`. Without it the client makes one, so that a request whose answer was
        lost can be sent again.
        """
        made = PREFIX + b64encode(secrets.token_bytes(MADE_BYTES)).decode() if secret is None else secret
        body = given({"overlap": overlap, "secret": made})
        return self._ask(Call("POST", SIGNING, body=body)).typed(Rotation, "secret", "secrets")

    def switch_signing(self, *, enabled: bool) -> ChangedSigning:
        """Switch signing on or off; the secrets stay."""
        body = {"enabled": enabled}
        return self._ask(Call("PATCH", SIGNING, body=body)).typed(ChangedSigning, "enabled", "secrets")

    def end_secret(self, secret_id: int) -> ChangedSigning:
        """End a secret before its time, as when it leaked; the present one must be rotated away first."""
        call = Call("DELETE", f"{SIGNING}/{secret_id}", bears_repeating=False)
        return self._ask(call).typed(ChangedSigning, "enabled", "secrets")

    def get_client_certificate(self) -> ClientCertificate:
        """Return what callbacks show to targets that ask for a certificate; the private key is never shown."""
        return self._get(CLIENT_CERTIFICATE).typed(ClientCertificate, "app")

    def put_client_certificate(self, certificate: str, private_key: str) -> ClientCertificate:
        """Set it, in place of the one before; both in PEM, the key without a password."""
        body = {"certificate": certificate, "privateKey": private_key}
        return self._ask(Call("PUT", CLIENT_CERTIFICATE, body=body)).typed(ClientCertificate, "app")

    def delete_client_certificate(self) -> ClientCertificate:
        """Take it away; a repeat changes nothing."""
        return self._ask(Call("DELETE", CLIENT_CERTIFICATE)).typed(ClientCertificate, "app")

    # alert rules

    def put_alert_rule(self, name: str, **fields: Unpack[NewAlertRule]) -> AlertRule:
        """Make a rule, or replace the one of this name; a URL as it is shown, and `***`, stay as they are."""
        call = Call("PUT", place_of(RULES, name), body=given(fields))
        return self._ask(call).typed(AlertRule, "name")

    def alert_rules(self, *, most: int | None = None) -> Iterator[AlertRule]:
        """Yield the app's rules by name, all or at most `most`, page by page."""
        return all_rows(self.list_alert_rules, most)

    def list_alert_rules(self, *, limit: int | None = None, cursor: str | None = None) -> Page[AlertRule]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `alert_rules` reads all pages."""
        return self._get(RULES, {"limit": limit, "cursor": cursor}).page(AlertRule)

    def delete_alert_rule(self, name: str) -> None:
        """Delete a rule, with what it was about to tell."""
        self._delete(self._ask, place_of(RULES, name), {})

    def test_alert_rule(self, name: str, *, idempotency_key: str | None = None) -> AlertTest:
        """Send a test message by a rule; return its destination's answer.

        That takes some seconds: set a time-out that allows them. Under this Idempotency-Key, or a new one.
        """
        answer = self._post_once(f"{place_of(RULES, name)}:test", {}, idempotency_key)
        return answer.typed(AlertTest, "error")


def _condition(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}
