"""The shifted clock itself: one that shifts nothing would make its rows worthless."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from tests.chaos.shifted_clock import MovableClock, build, words
from tests.servers.nginx import ArrivedCall
from tests.servers.redis_server import RedisServer, redis_program

_LOOK = """
import json, threading, time
from datetime import UTC, datetime
began_at = time.monotonic()
threading.Event().wait(0.05)
waited_s = time.monotonic() - began_at
print(json.dumps([time.time(), time.time_ns() / 1e9, datetime.now(UTC).timestamp(), began_at, waited_s]))
"""


@pytest.mark.parametrize("shift_s", [3_600, -3_600])
def test_the_time_of_day_is_shifted_and_nothing_else(tmp_path: Path, shift_s: int) -> None:
    command = ["env", *words(build(tmp_path), shift_s), sys.executable, "-c", _LOOK]
    before, stop_watch = time.time(), time.monotonic()
    answer = subprocess.run(command, check=True, capture_output=True, timeout=30).stdout
    after = time.time()
    *moments, began_at, waited_s = json.loads(answer)
    assert all(before + shift_s <= moment <= after + shift_s for moment in moments)
    assert stop_watch <= began_at <= time.monotonic()
    assert 0.05 <= waited_s < after - before


def test_the_clock_of_a_redis_that_runs_can_be_put(tmp_path: Path) -> None:
    clock = MovableClock.made(tmp_path)
    with (
        RedisServer(redis_program(), tmp_path, before=clock.words()) as server,
        redis.Redis.from_url(server.url()) as client,
    ):
        for shift_ms in (0, -10_000, 20_250):
            clock.put(shift_ms)
            before = time.time()
            seconds, microseconds = client.time()
            off_s = seconds + microseconds / 1_000_000 - shift_ms / 1_000
            assert before - 0.001 <= off_s <= time.time() + 0.001


def test_calls_are_judged_by_the_clock_that_was_put_but_right_after_a_step_back(tmp_path: Path) -> None:
    clock = MovableClock.made(tmp_path)
    clock.put(-10_000)
    put_at = time.time() * 1_000
    due = int(put_at) + 1_000

    def lateness_ms(arrived_at: float) -> float:
        return round(clock.stamped(ArrivedCall(1, due, 1, arrived_at)).lateness_ms)

    assert lateness_ms(due + 10) == 10
    assert lateness_ms(due + 2_000) == -8_000
    assert lateness_ms(due + 10_010) == 10
