"""When calls under way are to be cut off."""

import heapq
import math
from collections.abc import Iterator

from wangtimer.callback.exchange import Exchange

# Entries that no longer count stay in the heap until they are this many times those that do, and some more.
_TIMES = 2
_FEW = 64


class Deadlines:
    """A heap of the moments, in monotonic seconds, at which a connection's call may have to be cut off.

    A connection carries call after call, each with a later deadline as a rule. So it has one entry that counts, of a
    moment no later than its call's deadline, and gets the next one when that moment has come: a call that follows
    another costs nothing here, and a call that hangs costs nothing until its own deadline.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int]] = []
        self._exchanges: dict[int, Exchange] = {}

    @property
    def next_at(self) -> float:
        """The next of the moments; infinite if there is none."""
        return self._entries[0][0] if self._entries else math.inf

    def add(self, exchange: Exchange) -> None:
        """Look at this connection by the deadline of its call."""
        at = exchange.deadline_at
        if at >= exchange.looked_at_by:
            return
        exchange.looked_at_by = at
        self._exchanges[exchange.fd] = exchange
        heapq.heappush(self._entries, (at, exchange.fd))
        if len(self._entries) > _TIMES * len(self._exchanges) + _FEW:
            self._entries = [(each.looked_at_by, fd) for fd, each in self._exchanges.items()]
            heapq.heapify(self._entries)

    def forget(self, exchange: Exchange) -> None:
        """Look at a connection no more: it is closed."""
        self._exchanges.pop(exchange.fd, None)

    def overdue(self, now: float) -> Iterator[Exchange]:
        """Take those whose call is over its deadline; whoever gets one ends it before taking the next."""
        while self._entries and self._entries[0][0] <= now:
            at, fd = heapq.heappop(self._entries)
            exchange = self._exchanges.get(fd)
            if exchange is None or exchange.looked_at_by != at:
                continue  # closed, or there is an earlier entry
            exchange.looked_at_by = math.inf
            del self._exchanges[fd]
            if exchange.call is None:
                continue
            if exchange.deadline_at <= now:
                yield exchange
            else:
                self.add(exchange)
