"""A connection with TLS that bounds each read: a target that sends TLS without data holds up nobody."""

import contextlib
import socket
import ssl

# Read from the socket at once. A socket of Python's `ssl` reads on while TLS without data comes (new session tickets,
# new keys): with a target that sent those without end it never returned.
_MOST_BYTES_A_READ = 16_384
# Bytes without data that one call may bring: two records and some tickets. 16 KiB of tickets cost 4 ms.
_MOST_IN_VAIN = 32_768
# Bytes of a handshake: OpenSSL accepts 100 KiB of certificates.
_MOST_OF_A_HANDSHAKE = 131_072
# Each read counts as at least so many bytes, for its wake-up.
_LEAST_A_READ = 64


class NothingButTls(OSError):
    """The target sent 32 KiB of TLS that had no data in it."""


class TlsStream:
    """Used like a non-blocking socket. A `send` that was not possible now must be repeated with the same data."""

    __slots__ = (
        "_accepted",
        "_connection",
        "_has_begun",
        "_in_vain",
        "_incoming",
        "_is_closed",
        "_outgoing",
        "_tls",
        "_unsent",
    )

    def __init__(
        self, connection: socket.socket, context: ssl.SSLContext, host: str, session: ssl.SSLSession | None
    ) -> None:
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host, session=session)
        self._unsent = b""  # encrypted
        self._accepted = 0  # of the data to send: that much is encrypted, and not all of it on its way
        self._in_vain = 0  # bytes read without data in them
        self._has_begun = False
        self._is_closed = False

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._connection.fileno()

    @property
    def context(self) -> ssl.SSLContext:
        """What it was made with: whom it trusts, and which certificate it shows."""
        return self._tls.context

    @property
    def session(self) -> ssl.SSLSession | None:
        """The session that a later handshake may resume."""
        return self._tls.session

    @property
    def has_more(self) -> bool:
        """Whether `recv` may return something that was already read from the socket."""
        return bool(self._incoming.pending) and not self._is_closed

    @property
    def has_ended(self) -> bool:
        """Whether the target has closed its end of the connection, and all before that was read."""
        return self._incoming.eof

    def shake_hands(self) -> None:
        """Go on as far as the target's bytes reach; SSLWantReadError or SSLWantWriteError while it is not done."""
        if self._has_begun:
            self._flush()
            try:
                self._take_in(_MOST_OF_A_HANDSHAKE)
            except BlockingIOError:
                raise ssl.SSLWantReadError from None
        self._has_begun = True
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            raise
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                self._flush()  # the alert that says why
            raise
        with contextlib.suppress(ssl.SSLWantWriteError):
            self._flush()  # else the request takes it along

    def begin_call(self) -> None:
        """Begin to count bytes without data again."""
        self._in_vain = 0

    def send(self, data: bytes | memoryview) -> int:
        """Encrypt and send; return how much of it. Earlier unsent data goes first."""
        if not self._accepted:
            self._accepted = self._tls.write(data)
        self._flush()
        accepted, self._accepted = self._accepted, 0
        return accepted

    def recv(self, most: int) -> bytes:
        """Return one record's data; b"" at the end, if the target said so. NothingButTls if too much had no data."""
        if not self._incoming.pending:
            self._take_in(_MOST_IN_VAIN)
        try:
            data = self._tls.read(most)
            if not data:  # who ends TLS mostly ends TCP in the same moment
                with contextlib.suppress(OSError):
                    self._take_in(_MOST_IN_VAIN)
        finally:
            if self._outgoing.pending:
                with contextlib.suppress(OSError):
                    self._flush()
        self._in_vain -= len(data)
        return data

    def last_words(self) -> str:
        """Return the alert that says why the target closed the connection, in OpenSSL's words; "" without one."""
        try:
            self.recv(_MOST_BYTES_A_READ)
        except ssl.SSLError as error:
            return alert_of(error)
        except (OSError, ValueError):
            pass
        return ""

    def say_farewell(self) -> None:
        """Tell the target that nothing more comes, if that can be sent now."""
        with contextlib.suppress(OSError, ValueError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            self._flush()

    def close(self) -> None:
        """Close the connection without telling the target."""
        self._is_closed = True
        self._connection.close()

    def _take_in(self, most_in_vain: int) -> None:
        if self._in_vain > most_in_vain:
            raise NothingButTls(f"the target sent {most_in_vain // 1024} KiB of TLS that had no data in it")
        wire = self._connection.recv(_MOST_BYTES_A_READ)
        if wire:
            self._in_vain += max(len(wire), _LEAST_A_READ)
            self._incoming.write(wire)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        self._unsent += self._outgoing.read()
        if not self._unsent:
            return
        try:
            sent = self._connection.send(self._unsent)
        except BlockingIOError:
            raise ssl.SSLWantWriteError from None
        self._unsent = self._unsent[sent:]
        if self._unsent:
            raise ssl.SSLWantWriteError


def alert_of(error: OSError) -> str:
    """Return an alert that the target sent, in OpenSSL's words; "" for any other error."""
    reason = getattr(error, "reason", None) or ""
    return reason.replace("_", " ").lower() if "ALERT" in reason else ""


Connection = socket.socket | TlsStream
