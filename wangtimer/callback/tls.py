"""TLS to targets: certificates and host names are checked; at least TLS 1.2, only HTTP/1.1."""

import socket
import ssl
from pathlib import Path

import certifi

from wangtimer.callback.request import Route
from wangtimer.callback.tls_stream import TlsStream

# Reading a session costs 200 µs, because Python copies it with its certificate. A handshake that resumes one costs 350
# µs, not 650. So a session is read now and then, and serves all connections of its route.
_SESSION_S = 60.0
_MOST_SESSIONS = 2_000
# For TLS 1.2: Python's choice without DHE. There the target picks the group; one of 10,000 bits took the engine's
# thread 0.9 s. ECDHE and TLS 1.3 use groups that OpenSSL knows.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!SHA1:!AESCCM"


class Tls:
    """Begins handshakes, which resume earlier sessions of the same app with the same target."""

    def __init__(self) -> None:
        self._context = client_context()
        self._sessions: dict[Route, tuple[ssl.SSLSession, float]] = {}

    def begin(self, connection: socket.socket, host: str, route: Route, now: float) -> TlsStream:
        """Return a stream ready for the handshake; raises OSError or ValueError. A cut answer counts as not ended."""
        known = self._sessions.get(route)
        session = known[0] if known is not None and now < known[1] else None
        return TlsStream(connection, self._context, host.rstrip("."), session)

    def learn(self, stream: TlsStream, route: Route, now: float) -> None:
        """Keep a connection's session for others of its route, now that an answer has come over it."""
        known = self._sessions.get(route)
        if known is not None and now < known[1]:
            return
        session = stream.session
        if session is not None:
            self._sessions.pop(route, None)
            if len(self._sessions) >= _MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[route] = session, now + _SESSION_S


def client_context() -> ssl.SSLContext:
    """Return a context that trusts the system's list, or certifi's; SSL_CERT_FILE and SSL_CERT_DIR name another."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    has_store = paths.cafile or (paths.capath and any(Path(paths.capath).iterdir()))
    if not has_store:
        context.load_verify_locations(certifi.where())
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
