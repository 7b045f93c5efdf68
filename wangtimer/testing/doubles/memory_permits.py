"""Permits in memory: the rules of the Lua script permits, or no limit at all."""

import math
from collections.abc import Callable, Sequence

from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.permits import LONGEST_CALL_MS, MARGIN_MS, PermitOrder, Permitted
from wangtimer.testing.doubles.memory_slices import MemorySlices

PUT_BACK_MS = 60_000


class MemoryPermits:
    """The limits' counters, stored beside the slices of a server."""

    def __init__(self, slices: MemorySlices, timeout_ms: int) -> None:
        self._slices = slices
        self._server = slices._server
        self._usual_ms = timeout_ms

    def carry_out(self, orders: Sequence[PermitOrder]) -> list[Permitted]:
        return self._server.call(lambda: [self._carry_out(order) for order in orders])

    def _carry_out(self, order: PermitOrder) -> Permitted:
        clock, limit = self._slices._clock, order.limit
        now, latest = int(clock.now_ms()), int(clock.latest_ms()) + MARGIN_MS
        ends, latest_end = latest + (order.longest_ms or self._usual_ms), latest + LONGEST_CALL_MS
        held: dict[str, int] = self._server.table("permits").get(order.lane, {})
        permits = {permit: end for permit, end in held.items() if permit not in order.back}
        free = order.waited + order.fresh
        if limit.at_once is not None:
            over_by = int(clock.earliest_ms())
            permits = {
                permit: ends if end > latest_end + PUT_BACK_MS else end
                for permit, end in permits.items()
                if end > over_by
            }
            permits |= dict.fromkeys(order.prolonged, ends)
            free = max(0, min(free, limit.at_once - len(permits)))
        left, at = self._server.table("tokens").get(order.lane, (limit.burst, now))
        if limit.per_second is not None:
            at = now if at > now + 1_000 else at
            left = min(limit.burst, left + order.unused + max(0, now - at) * limit.per_second / 1_000)
            free = min(free, math.floor(left + 1e-9))
        to_waited = min(order.waited, free)
        to_fresh = 0 if self._do_others_wait(order.lane, now) else min(order.fresh, free - to_waited)
        given = Permitted.named(order.token, to_waited, to_fresh, 0)
        if limit.at_once is not None:
            permits |= dict.fromkeys(given.to_waited + given.to_fresh, ends)
        self._server.table("permits")[order.lane] = permits
        if limit.per_second is None:
            return given
        left -= to_waited + to_fresh
        self._server.table("tokens")[order.lane] = left, max(at, now)
        wait_ms = 0
        if left < 1:
            wait_ms = (
                math.ceil((1 - left) * 1_000 / limit.per_second - 1e-6) if limit.per_second else PUT_BACK_MS
            )
        return Permitted(given.to_waited, given.to_fresh, wait_ms)

    def _do_others_wait(self, lane: SharedLane, now: int) -> bool:
        sets = self._server.table("slices").get(lane)
        waits = sets is not None and min(sets.due.values(), default=now + 1) <= now
        return waits or lane in self._server.table("rests")


class NoLimits:
    """Stands for the permits of an engine where a test is not about limits."""

    def may_begin(self, _app: str, _host: str, _permits: Sequence[Permit], _longest_ms: int) -> bool:
        """Return True."""
        return True

    def is_open(self, _app: str, _host: str) -> bool:
        """Return True."""
        return True

    def ask(
        self,
        _app: str,
        _host: str,
        _has_waited: bool,
        _held: tuple[Permit, ...],
        _longest_ms: int,
        answer: Callable[[PermitAnswer], None],
    ) -> None:
        """Answer that nobody knows: nobody asks."""
        answer(None)

    def give_back(self, _permits: Sequence[Permit], *, is_unused: bool) -> None:
        """Do nothing: there is none."""
