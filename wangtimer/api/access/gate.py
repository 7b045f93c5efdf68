"""The gate before all routes: it knows the caller by its key, and lets it pass if the key has the route's scope."""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import structlog
from flask import Flask, Response, after_this_request, request

from wangtimer.api.access.admission import (
    FIRST_KEY,
    HEADER,
    count_request,
    good_key,
    tell_what_is_left,
    with_scope,
    written_key,
)
from wangtimer.api.access.rights import RIGHTS, Open, Right, refuse_undeclared, route_name
from wangtimer.api.http.refusals import Refused
from wangtimer.api.http.request_context import DIRECTORY, admit, settings_in_use
from wangtimer.core.apps.caller import Caller, begin_call
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.errors import StoreAway
from wangtimer.wiring import Wiring

FORWARDED = "X-Forwarded-For"
PREFIX = "X-Forwarded-Prefix"
_PREFIX = "HTTP_X_FORWARDED_PREFIX"
# No part is `.` or `..`, which a client would take off, with the part before.
_PATH = re.compile(r"(?:/(?!\.\.?(?:/|$))[\w.~-]+)+", re.ASCII)
MOST_PREFIX = 200


def sender_address() -> str:
    """Return the address of who sent the request; "" where the connection has none (a Unix socket).

    Each proxy appends to the header who connected to it. So it is read from its end, as far as trusted proxies wrote
    it: what stands before was written by somebody else, and may be made up.
    """
    address = request.remote_addr or ""
    proxies = networks_of(settings_in_use().trusted_proxies)
    written = request.headers.get(FORWARDED, "").split(",") if proxies else []
    for hop in reversed(written):
        if not is_within(address, proxies) or not _is_address(hop.strip()):
            break
        address = hop.strip()
    return address


def note_prefix() -> None:
    """Put the API below the path that a trusted proxy took off: its pages and `Location` have it again."""
    written = request.environ.get(_PREFIX)
    if not written or len(written) > MOST_PREFIX or not _PATH.fullmatch(written):
        return
    if is_within(request.remote_addr or "", networks_of(settings_in_use().trusted_proxies)):
        request.root_path = written
        after_this_request(lead_back)


def lead_back(response: Response) -> Response:
    """Put the path that a trusted proxy took off before `Location`: also that of a kept answer, which lacks it."""
    if (place := response.headers.get("Location", "")).startswith("/v1/"):
        response.headers["Location"] = request.root_path + place
    return response


def is_within(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Tell whether an address lies in one of the networks; a Unix socket has none, and does not."""
    return _is_address(address) and any(ip_address(address) in network for network in networks)


@cache
def networks_of(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of a setting, which has commas between them."""
    return tuple(ip_network(network.strip()) for network in text.split(",") if network.strip())


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


log = structlog.get_logger()

NOBODY = "nobody"

_COMPATIBLE = ("/api/timer/v1/", "/api/task/v1/")


def guard(app: Flask, wiring: Callable[[], Wiring]) -> None:
    """Look at every request's key before its view; raises `BadSetting` for a route without a declared scope."""
    refuse_undeclared(app.url_map)
    app.extensions[DIRECTORY] = lambda: wiring().app_directory
    app.before_request(note_prefix)

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
            return with_scope(_holder(wiring, right, address), right)


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
    written = written_key(request.headers.get(HEADER), wiring().key_ring)
    try:
        found = wiring().key_ring.find(written.id)
    except StoreAway:
        # Figures are wanted most while SQL is away. Nobody can revoke a key then.
        found = wiring().key_ring.last_known(written.id) if scope is Scope.METRICS_READ else None
        if found is None:
            raise
    key = good_key(written, found, wiring().clock.now_ms).key
    with suppress(StoreAway):
        wiring().key_ring.note_use(key.id, int(wiring().clock.now_ms()))
    scopes = key.scopes if key.app is None else key.scopes & APP_SCOPES
    return Caller(key.id, key.name, key.app, scopes, address)
