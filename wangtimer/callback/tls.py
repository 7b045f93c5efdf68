"""TLS to targets: certificates and host names are checked; at least TLS 1.2, only HTTP/1.1."""

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import certifi

from wangtimer.callback.request import Route
from wangtimer.callback.tls_stream import TlsStream

# Reading a session costs 200 µs, because Python copies it with its certificate. A handshake that resumes one costs 350
# µs, not 650. So a session is read now and then, and serves all connections of its route; but none of a target that is
# called once in a while.
_SESSION_S = 60.0
_MOST_SESSIONS = 2_000
_LONG_AGO = (float("-inf"), float("-inf"))
# For TLS 1.2: Python's choice without DHE. There the target picks the group; one of 10,000 bits took the engine's
# thread 0.9 s. ECDHE and TLS 1.3 use groups that OpenSSL knows.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!SHA1:!AESCCM"


class _Agreed(NamedTuple):
    session: ssl.SSLSession
    context: ssl.SSLContext
    until: float


class Tls:
    """Begins handshakes, which resume earlier sessions of the same app with the same target.

    An app may have a context of its own: it shows a certificate, or trusts more. Any thread may `change` those. A
    session counts only for the context that it was agreed in: it stands for the certificate that was shown.
    """

    def __init__(self, callback_authorities: str) -> None:
        self._context = client_context(callback_authorities)
        self._of_apps: Mapping[str, ssl.SSLContext | str] = {}
        self._sessions: dict[Route, _Agreed] = {}
        self._begun: dict[Route, tuple[float, float]] = {}  # the last two handshakes

    def change(self, of_apps: Mapping[str, ssl.SSLContext | str]) -> None:
        """Use these contexts of apps from now on; a text says why an app has none that can be used."""
        self._of_apps = dict(of_apps)

    def fault_of(self, app: str) -> str:
        """Say why no connection with TLS can be made for an app; "" if it can."""
        found = self._of_apps.get(app)
        return found if isinstance(found, str) else ""

    def is_current(self, stream: TlsStream, app: str) -> bool:
        """Tell whether a connection that is made for the app now would show and trust the same."""
        return stream.context is self._context_of(app) and not self.fault_of(app)

    def _context_of(self, app: str) -> ssl.SSLContext:
        found = self._of_apps.get(app)
        return found if isinstance(found, ssl.SSLContext) else self._context

    def begin(self, connection: socket.socket, host: str, route: Route, now: float) -> TlsStream:
        """Return a stream ready for the handshake; raises OSError or ValueError. A cut answer counts as not ended."""
        if fault := self.fault_of(route[0]):
            raise ValueError(fault)
        self._note_begun(route, now)
        context = self._context_of(route[0])
        known = self._sessions.get(route)
        is_good = known is not None and now < known.until and known.context is context
        return TlsStream(connection, context, host.rstrip("."), known.session if known and is_good else None)

    def learn(self, stream: TlsStream, route: Route, now: float) -> None:
        """Keep an answered connection's session for its route, where handshakes follow while it counts."""
        before, latest = self._begun.get(route, _LONG_AGO)
        if not latest - before <= _SESSION_S:
            return
        known = self._sessions.get(route)
        if known is not None and now < known.until and known.context is stream.context:
            return
        session = stream.session
        if session is not None:
            self._sessions.pop(route, None)
            if len(self._sessions) >= _MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[route] = _Agreed(session, stream.context, now + _SESSION_S)

    def _note_begun(self, route: Route, now: float) -> None:
        _, before = self._begun.pop(route, _LONG_AGO)
        if len(self._begun) >= _MOST_SESSIONS:
            del self._begun[next(iter(self._begun))]
        self._begun[route] = before, now


def client_context(*authorities: str) -> ssl.SSLContext:
    """Return a context that trusts the system's list, or certifi's, and `authorities` (PEM). Raises SSLError."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    paths = ssl.get_default_verify_paths()
    has_store = paths.cafile or (paths.capath and any(Path(paths.capath).iterdir()))
    if not has_store:
        context.load_verify_locations(certifi.where())
    for text in filter(None, authorities):
        context.load_verify_locations(cadata=text)
    context.set_alpn_protocols(["http/1.1"])
    # Else a target could start a new handshake at any time.
    context.options |= ssl.OP_NO_RENEGOTIATION
    # Early versions of Python 3.11 treat a cut connection as a closed one.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    context.set_ciphers(_CIPHERS)
    return context


def fault_of(error: Exception) -> str:
    """Say what went wrong with TLS, in OpenSSL's words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error)
