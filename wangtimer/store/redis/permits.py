"""Permits of limits: how many calls of each may begin, counted over all callback processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import LeaseClock
from wangtimer.core.timers.call_options import MOST_TIMEOUT_MS
from wangtimer.store.redis.connection import Argument, RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys, expiry_of

# A call begins up to a second after its permit was given, and a second is left for clocks that differ.
MARGIN_MS = 2_000
# No call takes longer: an answer and a connection may each take the longest time-out, rounded up to twice as long.
LONGEST_CALL_MS = 4 * MOST_TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class PermitOrder:
    """What one process asks of one limit, which is that of the lane, and gives back.

    `waited` calls that have waited in a lane want a permit, and `fresh` ones that have not. `back` are the permits of
    calls that have ended, and those of `unused`, with which no call was made. New permits are named by `token`. They,
    and those of `prolonged`, are for calls that take `longest_ms` at most; 0: those without time-outs of their own.
    """

    lane: SharedLane
    limit: CallLimit
    token: str
    waited: int = 0
    fresh: int = 0
    back: tuple[str, ...] = ()
    unused: int = 0
    longest_ms: int = 0
    prolonged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Permitted:
    """The permits given to calls that have waited and to fresh ones; `wait_ms` until the rate leaves one more call."""

    to_waited: tuple[str, ...]
    to_fresh: tuple[str, ...]
    wait_ms: int

    @classmethod
    def named(cls, token: str, to_waited: int, to_fresh: int, wait_ms: int) -> "Permitted":
        """Return so many permits, named by the token and a number."""
        names = [f"{token}:{number}" for number in range(to_waited + to_fresh)]
        return cls(tuple(names[:to_waited]), tuple(names[to_waited:]), wait_ms)


class PermitStore:
    """The limits' counters, in the slots of their lanes. Each order is one script.

    * A permit of a limit on calls at once is held until it is given back, or for the longest that its call may take
      and 2 s: so long a dead process' calls may be under way.
    * An order that was carried out twice since its answer was lost gives away more than is used, never less.
    * After a loss of Redis no call under way is counted.
    """

    def __init__(
        self, redis: RedisConnection, keys: Keys, clock: LeaseClock, callback_timeout_ms: int
    ) -> None:
        self._connection = redis
        self._keys = keys
        self._clock = clock
        self._usual_ms = callback_timeout_ms

    def carry_out(self, orders: Sequence[PermitOrder]) -> list[Permitted]:
        """Carry these out in one trip; raises `StoreAway`."""
        answers = self._connection.run_all([self._call(order) for order in orders])
        return [Permitted.named(order.token, *answer) for order, answer in zip(orders, answers, strict=True)]

    def _call(self, order: PermitOrder) -> ScriptCall:
        lane, limit, now = order.lane, order.limit, int(self._clock.now_ms())

        def ends_by(longest_ms: int) -> int:
            return int(self._clock.latest_ms()) + longest_ms + MARGIN_MS

        arguments: list[Argument] = [
            now,
            ends_by(order.longest_ms or self._usual_ms),
            int(self._clock.earliest_ms()),
            "" if limit.at_once is None else limit.at_once,
            "" if limit.per_second is None else limit.per_second,
            limit.burst,
            expiry_of(lane, now),
            order.token,
            order.waited,
            order.fresh,
            order.unused,
            ends_by(LONGEST_CALL_MS),
            len(order.prolonged),
            *order.prolonged,
            *order.back,
        ]
        keys = self._keys.of_slice(lane, "due", "rest", "permits", "tokens")
        return ScriptCall(script("permits"), keys, arguments)
