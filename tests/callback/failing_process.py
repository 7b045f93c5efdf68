"""One callback process' engine and health teller: `python -m tests.callback.failing_process`.

Arguments: the URL of Redis, the URL to call, the app, calls in hand at a time. A call that has ended is replaced by a
new one a moment later. It goes on until it is killed.
"""

import sys
import time

from tests.callback.calls import MachineClock, engine_of
from tests.callback.limited_process import PREFIX, TIMEOUT_MS, EndlessCall
from wangtimer.callback import Limits, Request
from wangtimer.features.failing_hosts.health_teller import HealthTeller
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.failing_hosts import FailingHostRecord
from wangtimer.store.redis.keys import Keys


def main(store_url: str, url: str, app: str, in_hand: str) -> None:
    engine = engine_of(limits=Limits(timeout_ms=TIMEOUT_MS))
    engine.start()
    record = FailingHostRecord(RedisConnection(store_url), Keys(PREFIX), MachineClock())
    HealthTeller(engine, record, MachineClock()).loop.start()
    request = Request(url, "POST", (), b"{}", app=app)
    engine.submit([EndlessCall(request, engine.submit) for _ in range(int(in_hand))])
    time.sleep(3_600)


if __name__ == "__main__":
    main(*sys.argv[1:])
