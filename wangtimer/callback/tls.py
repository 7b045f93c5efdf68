"""TLS as targets are called with it: certificates and host names are checked, TLS 1.2 at least, HTTP/1.1 only."""

import socket
import ssl
from pathlib import Path

import certifi

from wangtimer.callback.request import Route
from wangtimer.callback.tls_stream import TlsStream

# To read a session costs 200 µs, for Python copies it, certificate and all; a handshake that resumes one costs 300 of
# 650 µs less. So one is read now and then, and serves all connections of its route.
_SESSION_S = 60.0
_MOST_SESSIONS = 2_000
# Of TLS 1.2, Python's choice without DHE: there the target picks the group, and one of 10,000 bits took the engine's
# thread 0.9 s. The keys of ECDHE, and of TLS 1.3, are of groups that OpenSSL knows.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!SHA1:!AESCCM"


class Tls:
    """Begins handshakes, and has them resume what the same app agreed with the same target before."""

    def __init__(self) -> None:
        self._context = client_context()
        self._sessions: dict[Route, tuple[ssl.SSLSession, float]] = {}

    def begin(self, connection: socket.socket, host: str, route: Route, now: float) -> TlsStream:
        """Make ready for the handshake; raises OSError or ValueError. The end of an answer is not taken on trust."""
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
    """Trust what the system trusts, or certifi where it has no list; SSL_CERT_FILE and SSL_CERT_DIR name another."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    has_store = paths.cafile or (paths.capath and any(Path(paths.capath).iterdir()))
    if not has_store:
        context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    # Else a target could have a handshake begin anew at any time.
    context.options |= ssl.OP_NO_RENEGOTIATION
    # Early versions of Python 3.11 take a connection that was cut for one that was closed.
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
