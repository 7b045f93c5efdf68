"""What signing costs a call: `python -m benchmarks.signing` prints µs a request with no, one and two secrets."""

import time

from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import Member
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.request_maker import request_of

BODY_BYTES = (100, 10_000)
KEYS = (b"n" * 32, b"o" * 32)
CALLS = 20_000
ROUNDS = 7


def microseconds_a_request(body_bytes: int, keys: tuple[bytes, ...]) -> float:
    """Return the least of some rounds: what else runs on the machine only adds."""
    notify = Notify("http://target.example:8080/fire", body='{"a": "' + "x" * (body_bytes - 9) + '"}')
    order = CallOrder(Definition(1, "shop", 1, TimerStatus.ENABLED, Once(0), notify), None)
    members = [Member(890_342_217_101_453, 1_795_207_483_000 + i, 1) for i in range(CALLS)]
    took = []
    for _ in range(ROUNDS):
        began_at = time.perf_counter()
        for member in members:
            request_of(notify, order, member, keys, 1_795_207_483)
        took.append((time.perf_counter() - began_at) / CALLS * 1e6)
    return min(took)


def main() -> None:
    """Measure each size with each number of secrets."""
    for size in BODY_BYTES:
        row = [microseconds_a_request(size, KEYS[:secrets]) for secrets in range(3)]
        print(
            f"{size} bytes: unsigned {row[0]:.2f} µs, one secret {row[1]:.2f}, two {row[2]:.2f}", flush=True
        )


if __name__ == "__main__":
    main()
