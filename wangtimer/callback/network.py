"""What connections go through."""

from typing import NamedTuple

from wangtimer.callback.egress import Egress
from wangtimer.callback.sockets import Sockets
from wangtimer.callback.tls import Tls


class CallNetwork(NamedTuple):
    """Sockets that are watched, TLS, and the judge of what may be connected to."""

    sockets: Sockets
    tls: Tls
    egress: Egress
