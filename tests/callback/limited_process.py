"""One callback process' engine and throttle, without what is around them: `python -m tests.callback.limited_process`.

Arguments: the URL of Redis, the URL to call, the app, calls in hand at a time. A call that gets no permit, or has
ended, is replaced by a new one a moment later. It goes on until it is killed.
"""

import sys
import time
from collections.abc import Callable

from tests.callback.calls import MachineClock, engine_of
from wangtimer.callback import Call, Limits, Reply, Request
from wangtimer.callback.permits import Permit
from wangtimer.core.flow.limits import CALL_LIMITS, CallLimits
from wangtimer.core.flow.pauses import PAUSES, Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.call_options import AS_DEPLOYED
from wangtimer.executor.throttle import Throttle
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.permits import PermitStore
from wangtimer.store.replica import Replica, Replicas, ReplicaTexts

TIMEOUT_MS = 3_000
PAUSE_MS = 20
PREFIX = "limited"


class EndlessCall:
    """A call that comes again and again."""

    timeouts = AS_DEPLOYED
    has_waited = False
    is_counted = True

    def __init__(self, request: Request, submit: Callable[[list[Call]], None]) -> None:
        self.request = request
        self.due_at_ms = 0.0
        self.permits: tuple[Permit, ...] = ()
        self._submit = submit

    def may_send(self) -> bool:
        return True

    def on_written(self) -> None:
        pass

    def on_held_back(self, _call: Call) -> None:
        self._come_again()

    def on_no_room(self, _call: Call, _lane: SharedLane) -> None:
        self._come_again()

    def on_reply(self, _call: Call, _reply: Reply) -> None:
        self._come_again()

    def _come_again(self) -> None:
        self.due_at_ms = time.time() * 1_000 + PAUSE_MS
        self._submit([self])


def main(store_url: str, url: str, app: str, in_hand: str) -> None:
    connection, keys = RedisConnection(store_url), Keys(PREFIX)
    permits = PermitStore(connection, keys, RedisClock(connection), TIMEOUT_MS)
    texts, clock = ReplicaTexts(connection, keys), MachineClock()
    limits = Replica(CALL_LIMITS, CallLimits, texts, clock)
    pauses = Replica(PAUSES, Pauses, texts, clock)
    throttle = Throttle(permits, Replicas(texts, clock, (limits, pauses), ()), limits, pauses, clock)
    throttle.try_to_read_rules()
    throttle.loop.start()
    engine = engine_of(limits=Limits(timeout_ms=TIMEOUT_MS), permits=throttle)
    engine.start()
    request = Request(url, "POST", (), b"{}", app=app)
    engine.submit([EndlessCall(request, engine.submit) for _ in range(int(in_hand))])
    time.sleep(3_600)


if __name__ == "__main__":
    main(*sys.argv[1:])
