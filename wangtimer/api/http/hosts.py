"""Which `Host` a request may name: a web page must not reach the API by a name of its own that leads here.

Without it, a page of `evil.example` whose name is pointed at this address (DNS rebinding) passes the browser's
same-origin rule, and can read and make timers with the rights of whoever looks at it.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, request

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused, shown
from wangtimer.api.http.settings_in_use import settings_in_use
from wangtimer.settings import ENV_PREFIX, Settings

SETTING = f"{ENV_PREFIX}HTTP_HOSTS"
ANY = "*"

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Bound to these, the API is at every address of the machine.
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names and addresses, small letters, without ports; `addresses`: any IP address is one of them too.

    An address cannot be rebound: the page that asks it by its address came from there.
    """

    names: frozenset[str]
    addresses: bool = False
    any: bool = False

    @classmethod
    def of(cls, settings: Settings) -> "AllowedHosts":
        """Return the loopback's names, what the API is bound to, and what the setting adds."""
        given = {name.strip().lower().rstrip(".") for name in settings.http_hosts.split(",")} - {""}
        bound = _host_of(settings.http_bind) or ""
        return cls(
            _LOOPBACK | given | ({bound} - _EVERY_ADDRESS),
            addresses=bound in _EVERY_ADDRESS,
            any=ANY in given,
        )

    def allow(self, host: str) -> bool:
        """Tell whether a `Host` header may say this."""
        if self.any:
            return True
        name = _host_of(host)
        return name is not None and (name in self.names or (self.addresses and _is_address(name)))


def refuse_other_hosts(app: Flask) -> None:
    """Let every request, health probes too, be refused unless its `Host` is an allowed one."""

    @cache
    def allowed() -> AllowedHosts:
        return AllowedHosts.of(settings_in_use())

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
    """Return the name or address of `host:port`, small letters; None where it is neither."""
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
