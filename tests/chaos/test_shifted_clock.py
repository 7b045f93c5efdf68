"""The shifted clock itself: one that shifts nothing would make its rows worthless."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.shifted_clock import build, words

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
