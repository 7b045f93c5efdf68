import time
from threading import Thread

import pytest

from tests.patience import Deadline
from wangtimer.executor.turnstile import Turnstile

WITHIN_S = 5.0


def test_small_ones_come_before_large_ones_and_those_alike_in_order_of_arrival() -> None:
    turnstile, order = Turnstile(), list[str]()

    def pass_through(name: str, size: int) -> None:
        with turnstile.one(size):
            order.append(name)

    threads = []
    with turnstile.one(1_000):
        for name, size in (
            ("large", 1_000),
            ("larger", 2_000),
            ("small", 3),
            ("as large", 1_000),
            ("as small", 3),
        ):
            threads.append(Thread(target=pass_through, args=(name, size)))
            threads[-1].start()
            deadline = Deadline(WITHIN_S)
            while len(turnstile._waiting) < len(threads) and not deadline.is_over:
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join(WITHIN_S)
    assert order == ["small", "as small", "large", "as large", "larger"]


def test_it_is_free_again_after_one_that_failed() -> None:
    turnstile = Turnstile()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turnstile.one(1):
            _ = 1 / 0
    assert not turnstile._is_taken


def test_never_two_at_once() -> None:
    turnstile, inside, most = Turnstile(), [0], [0]

    def pass_through(size: int) -> None:
        for _ in range(200):
            with turnstile.one(size):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    threads = [Thread(target=pass_through, args=(size,)) for size in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S * 4)
    assert (inside, most) == ([0], [1])
