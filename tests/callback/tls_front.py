"""TLS in front of a target that is made by hand: what it writes to its socket goes out encrypted."""

import contextlib
import select
import socket
import ssl
from threading import Thread
from weakref import WeakKeyDictionary

_fronts: WeakKeyDictionary[socket.socket, socket.socket] = WeakKeyDictionary()


def behind_tls(outer: socket.socket, context: ssl.SSLContext) -> socket.socket:
    """Return the socket on which the target reads and writes in the clear."""
    target_end, inner = socket.socketpair()
    _fronts[target_end] = outer
    Thread(target=_pump, args=(outer, inner, context), daemon=True).start()
    return target_end


def front_of(target_end: socket.socket) -> socket.socket:
    """Return the socket that the caller sees; of one without TLS itself."""
    return _fronts.get(target_end, target_end)


def _pump(outer: socket.socket, inner: socket.socket, context: ssl.SSLContext) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)
    with contextlib.suppress(OSError, ValueError), outer, inner:
        _shake_hands(outer, tls, incoming, outgoing)
        while _pass_in(tls, inner):
            ready, _, _ = select.select([outer, inner], [], [])
            if outer in ready:
                _take(outer, incoming)
            if inner in ready and not _pass_out(inner, tls):
                outer.sendall(outgoing.read())
                return
            outer.sendall(outgoing.read())


def _pass_in(tls: ssl.SSLObject, inner: socket.socket) -> bool:
    """Hand in what came; False where the caller has ended."""
    with contextlib.suppress(ssl.SSLWantReadError):
        while data := tls.read(65_536):
            inner.sendall(data)
        return False
    return True


def _pass_out(inner: socket.socket, tls: ssl.SSLObject) -> bool:
    """Hand out what the target wrote; False where it has ended."""
    data = inner.recv(65_536)
    if data:
        tls.write(data)
        return True
    with contextlib.suppress(ssl.SSLError):
        tls.unwrap()
    return False


def _shake_hands(
    outer: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
) -> None:
    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            outer.sendall(outgoing.read())
            _take(outer, incoming)
        else:
            outer.sendall(outgoing.read())
            return


def _take(outer: socket.socket, incoming: ssl.MemoryBIO) -> None:
    data = outer.recv(65_536)
    if data:
        incoming.write(data)
    else:
        incoming.write_eof()
