"""A target with TLS that asks who calls: it notes the certificate that each request's connection showed."""

import contextlib
import socket
import ssl
from threading import Thread

import trustme

from tests.callback.target import NO_CONTENT, requests_in


class AskingTarget:
    """`shown` has, for each request, the common name of its connection's certificate; None: it showed none.

    `is_resumed` says of each connection whether its handshake resumed an earlier session.
    """

    def __init__(
        self,
        authority: trustme.CA,
        trusted: trustme.CA,
        *,
        must_show: bool = True,
        version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        answer: bytes = NO_CONTENT,
    ) -> None:
        self.shown: list[str | None] = []
        self.is_resumed: list[bool | None] = []
        self._answer = answer
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self._context)
        trusted.configure_trust(self._context)
        self._context.verify_mode = ssl.CERT_REQUIRED if must_show else ssl.CERT_OPTIONAL
        self._context.maximum_version = version
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}/"
        Thread(target=self._accept, daemon=True).start()

    @property
    def connections(self) -> int:
        return len(self._open)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with (
            contextlib.suppress(OSError, ValueError),
            self._context.wrap_socket(connection, server_side=True) as tls,
            tls.makefile("rb") as stream,
        ):
            self.is_resumed.append(tls.session_reused)
            for _ in requests_in(stream, tls):
                self.shown.append(_common_name(tls))
                tls.sendall(self._answer)
                if b"close" in self._answer:
                    return


def _common_name(tls: ssl.SSLSocket) -> str | None:
    found = tls.getpeercert()
    if not found:
        return None
    return next(value for part in found["subject"] for name, value in part if name == "commonName")
