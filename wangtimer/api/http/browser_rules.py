"""What a browser may do with answers, and which `Host` a request may name, so that no web page of others uses the API.

The headers are those of https://cheatsheetseries.owasp.org/cheatsheets/REST_Security_Cheat_Sheet.html#security-headers.
`Strict-Transport-Security` is the proxy's, which has the certificate.

DNS rebinding: `evil.example` lets its name point to this address. Its page then passes the browser's same-origin rule,
and can read and make timers with the rights of whoever looks at it.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, Response, request

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused, shown
from wangtimer.api.http.request_context import settings_in_use
from wangtimer.base.settings import ENV_PREFIX, Settings

# An answer is data: no script runs in it, and no page shows it in a frame.
POLICY = "default-src 'none'; frame-ancestors 'none'"
# What stays as it is where a view has said otherwise, such as the policy of a page or how long a file may be kept.
SECURITY_HEADERS: Mapping[str, str] = {
    # Timers, records and errors are one app's: neither a browser nor a proxy keeps them.
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # For browsers without `frame-ancestors`.
    "X-Frame-Options": "DENY",
}


def add_security_headers(app: Flask) -> None:
    """Add them to each answer, errors included."""

    @app.after_request
    def add(response: Response) -> Response:
        # One pass: werkzeug looks through all headers for each that is asked for.
        given = {name.lower() for name, _ in response.headers}
        for name, value in SECURITY_HEADERS.items():
            if name.lower() not in given:
                response.headers.add(name, value)
        return response


def page_policy(*directives: str) -> str:
    """Return the policy of an HTML page that may do what these directives say, and nothing else."""
    rest = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
    return "; ".join(("default-src 'none'", *directives, *rest))


def source_of(text: str) -> str:
    """Return the source that allows this very text within a `<script>` or `<style>`."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


SETTING = f"{ENV_PREFIX}HTTP_HOSTS"
ANY = "*"

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Bound to these, the API is at every address of the machine.
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names and addresses, lower case, without ports. `addresses`: any IP address is allowed too.

    An address cannot be rebound: a page that asks for an address came from that address.
    """

    names: frozenset[str]
    addresses: bool = False
    any: bool = False

    @classmethod
    def of(cls, settings: Settings, bind: str) -> "AllowedHosts":
        """Return the names of the loopback, the addresses a process is bound to, and the names of the setting."""
        given = {name.strip().lower().rstrip(".") for name in settings.http_hosts.split(",")} - {""}
        bound = {_host_of(address.strip()) or "" for address in bind.split(",")}
        return cls(
            _LOOPBACK | given | (bound - _EVERY_ADDRESS),
            addresses=not bound.isdisjoint(_EVERY_ADDRESS),
            any=ANY in given,
        )

    def allow(self, host: str) -> bool:
        """Tell whether a `Host` header may have this value."""
        if self.any:
            return True
        name = _host_of(host)
        return name is not None and (name in self.names or (self.addresses and _is_address(name)))


def refuse_other_hosts(app: Flask) -> None:
    """Refuse every request, health probes too, unless its `Host` is allowed."""

    @cache
    def allowed() -> AllowedHosts:
        return AllowedHosts.of(settings_in_use(), settings_in_use().http_bind)

    @app.before_request
    def look_at_host() -> None:
        host = request.environ.get("HTTP_HOST", "")
        if not allowed().allow(host):
            raise Refused(
                ErrorCode.WRONG_HOST,
                "Host",
                f"{shown(host)} is no name of this service",
                f"call it by localhost or the address it is bound to, or name it in {SETTING}",
                part=Part.HEADER,
            )


@lru_cache(maxsize=256)
def _host_of(text: str) -> str | None:
    """Return the name or address of `host:port` in lower case; None where it is neither."""
    try:
        parts = urlsplit(f"//{text}")
        port_is_read = parts.port is None or parts.port >= 0
    except ValueError:
        return None
    if not port_is_read or "@" in text or parts.path or parts.query or parts.fragment:
        return None
    return (parts.hostname or "").rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
