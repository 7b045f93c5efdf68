"""Who may connect to the stream: the holder of a key of an app with `firings:consume`."""

from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from wangtimer.api.access.admission import (
    HEADER,
    good_key,
    refuse_ended,
    refuse_over,
    refused,
    take_one,
    with_scope,
    written_key,
)
from wangtimer.api.http.browser_rules import SETTING, AllowedHosts
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused, shown
from wangtimer.core.apps.caller import Caller
from wangtimer.core.apps.scopes import APP_SCOPES, Scope
from wangtimer.core.errors import StoreAway
from wangtimer.wiring import Wiring

APP_HEADER = "WangTimer-App"


@dataclass(frozen=True, slots=True)
class Admitted:
    """An app, and the id of its key; None: no keys are needed here."""

    app: str
    key_id: str | None


class Door:
    """Waits for SQL: call it in a thread."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        settings = wiring.settings
        self._hosts = AllowedHosts.of(settings, settings.stream_bind)

    def admit(self, connection: HTTPConnection) -> Admitted:
        """Return who sends a request; raises `Refused`, `TooFast`, `StoreAway`."""
        host = connection.headers.get("host", "")
        if not self._hosts.allow(host):
            mend = f"call it by localhost or the address it is bound to, or name it in {SETTING}"
            reason = f"{shown(host)} is no name of this service"
            raise Refused(ErrorCode.WRONG_HOST, "Host", reason, mend, part=Part.HEADER)
        admitted = self._holder(connection)
        taken = take_one(self._wiring, admitted.app)
        if taken is not None:
            refuse_over(taken, admitted.app)
        return admitted

    def why_ended(self, key_id: str) -> str:
        """Return why a key counts no more; "" if it does. Raises `StoreAway`."""
        found = self._wiring.key_ring.find(key_id)
        if found is None:
            return "there is no such API key"
        try:
            refuse_ended(found, self._wiring.clock.now_ms)
        except Refused as why:
            return why.reason
        return ""

    def _holder(self, connection: HTTPConnection) -> Admitted:
        if self._wiring.settings.auth == "off":
            return self._named(connection)
        ring = self._wiring.key_ring
        written = written_key(connection.headers.get(HEADER), ring)
        key = good_key(written, ring.find(written.id), self._wiring.clock.now_ms).key
        with suppress(StoreAway):
            ring.note_use(key.id, int(self._wiring.clock.now_ms()))
        if key.app is None:
            reason, mend = "it is an operator's key", "use a key of the app whose firings are wanted"
            raise refused(ErrorCode.SCOPE_MISSING, reason, mend)
        caller = Caller(key.id, key.name, key.app, key.scopes & APP_SCOPES, "")
        with_scope(caller, Scope.FIRINGS_CONSUME)
        return Admitted(key.app, key.id)

    def _named(self, connection: HTTPConnection) -> Admitted:
        app = connection.headers.get(APP_HEADER, "")
        if self._wiring.app_directory.find(app) is None:
            reason = f"there is no app {shown(app)}"
            mend = f"name the app in {APP_HEADER}"
            raise Refused(ErrorCode.UNKNOWN_APP, APP_HEADER, reason, mend, part=Part.HEADER)
        return Admitted(app, None)
