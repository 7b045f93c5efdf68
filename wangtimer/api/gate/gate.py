"""The gate before all routes: it knows the caller by its key, and lets it pass if the key has the route's scope."""

from collections.abc import Callable
from contextlib import suppress

import structlog
from flask import Flask, request

from wangtimer.api.gate.request_quota import count_request, tell_what_is_left
from wangtimer.api.gate.rights import RIGHTS, Open, Right, refuse_undeclared, route_name
from wangtimer.api.gate.sender import is_within, networks_of, sender_address
from wangtimer.api.http.callers import DIRECTORY, admit
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.api.http.settings_in_use import settings_in_use
from wangtimer.core.apps.caller import Caller, begin_call
from wangtimer.core.apps.key_text import PREFIX, KeyText
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.api_keys import FoundKey
from wangtimer.wiring import Wiring

log = structlog.get_logger()

HEADER = "Authorization"
SCHEME = "Bearer "
HOW = f"send it as {HEADER}: {SCHEME}wtk_..."
FIRST_KEY = "wangtimer keys create --database --operator NAME"
NOBODY = "nobody"

_COMPATIBLE = ("/api/timer/v1/", "/api/task/v1/")


def guard(app: Flask, wiring: Callable[[], Wiring]) -> None:
    """Look at every request's key before its view; raises `BadSetting` for a route without a declared scope."""
    refuse_undeclared(app.url_map)
    app.extensions[DIRECTORY] = lambda: wiring().app_directory

    @app.before_request
    def look_at_key() -> None:
        rule = request.url_rule
        if rule is None or request.method == "OPTIONS":
            # There is nothing at this path, or not with this method; Flask itself says which methods there are.
            return
        right = RIGHTS[route_name(request.method, rule.rule)]
        caller = _caller(wiring, right)
        admit(caller, right if isinstance(right, Scope) else None)
        if caller.app is not None:
            count_request(wiring(), caller.app)

    app.after_request(tell_what_is_left)

    @app.teardown_request
    def forget_caller(_error: BaseException | None) -> None:
        begin_call(None)


def warn_of_no_key(wiring: Wiring) -> None:
    """Say in the log how the first key is made, if there is none: every request is refused until then."""
    if not wiring.key_ring.has_any():
        log.warning("no_api_key", mend=f"make the first one on the server: {FIRST_KEY}")


def _caller(wiring: Callable[[], Wiring], right: Right) -> Caller:
    """Return who may make this request; raises `Refused`, `StoreAway`."""
    address = sender_address()
    if settings_in_use().auth == "off":
        return Caller(None, "WANGTIMER_AUTH=off", None, ALL_SCOPES, address)
    match right:
        case Open.WHOLLY:
            return Caller(None, NOBODY, None, frozenset(), address)
        case Open.PARTLY:
            try:
                return _holder(wiring, Scope.METRICS_READ, address)
            except (Refused, StoreAway):
                return Caller(None, NOBODY, None, frozenset(), address)
        case Scope():
            if _is_trusted(address):
                return Caller(None, "WANGTIMER_COMPAT_TRUSTED_NETWORKS", None, APP_SCOPES, address)
            return _with_scope(_holder(wiring, right, address), right)


def _is_trusted(address: str) -> bool:
    """Tell whether a request without a key comes on a compatible path from a trusted network.

    Both the far end of its connection and its sender, as trusted proxies name it, must lie in one.
    """
    networks = networks_of(settings_in_use().compat_trusted_networks)
    if not networks or HEADER in request.headers or not request.path.startswith(_COMPATIBLE):
        return False
    return is_within(request.remote_addr or "", networks) and is_within(address, networks)


def _holder(wiring: Callable[[], Wiring], scope: Scope, address: str) -> Caller:
    """Return who holds the request's key; raises `Refused` for none, or one that counts no more."""
    written = _written_key(wiring)
    try:
        found = wiring().key_ring.find(written.id)
    except StoreAway:
        # Figures are wanted most while SQL is away. Nobody can revoke a key then.
        found = wiring().key_ring.last_known(written.id) if scope is Scope.METRICS_READ else None
        if found is None:
            raise
    if found is None or not written.has(found.key.fingerprint):
        raise _refused(ErrorCode.BAD_KEY, "there is no such API key", "ask an operator for a new one")
    _refuse_ended(wiring, found)
    key = found.key
    with suppress(StoreAway):
        wiring().key_ring.note_use(key.id, int(wiring().clock.now_ms()))
    scopes = key.scopes if key.app is None else key.scopes & APP_SCOPES
    return Caller(key.id, key.name, key.app, scopes, address)


def _written_key(wiring: Callable[[], Wiring]) -> KeyText:
    """Return the key in the request's header; raises `Refused`."""
    header = request.headers.get(HEADER)
    if header is None:
        if not wiring().key_ring.has_any():
            mend = f"there is none yet; an operator makes the first one on the server: {FIRST_KEY}"
            raise _refused(ErrorCode.NO_KEY, "an API key is needed", mend)
        raise _refused(ErrorCode.NO_KEY, "an API key is needed", HOW)
    if header[: len(SCHEME)].lower() != SCHEME.lower():
        raise _refused(ErrorCode.BAD_KEY, "it has no API key as a bearer token", HOW)
    key = KeyText.read(header[len(SCHEME) :].strip())
    if key is None and not header[len(SCHEME) :].strip().startswith(PREFIX):
        raise _refused(ErrorCode.BAD_KEY, f"it is no API key of this service: those begin with {PREFIX}", HOW)
    if key is None:
        raise _refused(ErrorCode.BAD_KEY, "the API key has a slip, or is cut off", "copy it whole")
    return key


def _refuse_ended(wiring: Callable[[], Wiring], found: FoundKey) -> None:
    key = found.key
    if key.revoked_at is not None:
        raise _refused(ErrorCode.KEY_ENDED, f"API key {key.id} was revoked", "ask an operator for a new one")
    if key.expires_at is not None and key.has_expired(int(wiring().clock.now_ms())):
        raise _refused(ErrorCode.KEY_ENDED, f"API key {key.id} has expired", "ask an operator for a new one")
    if found.is_of_disabled_app:
        raise _refused(ErrorCode.APP_DISABLED, f"app {key.app!r} is disabled", "ask an operator")


def _with_scope(caller: Caller, scope: Scope) -> Caller:
    if caller.may(scope):
        return caller
    raise _refused(
        ErrorCode.SCOPE_MISSING,
        f"API key {caller.key_id} lacks the scope {scope}",
        f"use a key that has it: {' '.join(sorted(caller.scopes))} is what this one has",
    )


def _refused(code: ErrorCode, reason: str, mend: str) -> Refused:
    return Refused(code, HEADER, reason, mend, part=Part.HEADER)
