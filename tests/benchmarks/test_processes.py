"""CPU and memory are read from /proc, with children."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.processes import largest_rss_mb, read_cpu

# A parent that forks a child, which works for 0.3 s of CPU and holds 50 MB; both then wait to be told to end.
FAMILY = """
import os, sys, time
child = os.fork()
if child == 0:
    held = bytearray(50_000_000)
    while time.process_time() < 0.3:
        held[::4096] = held[::4096]
    print("worked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def family() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "worked\n"
    yield process.pid
    assert process.stdin is not None
    process.stdin.close()
    process.wait(10)


def test_a_childs_cpu_and_memory_count_for_its_kind(family: int) -> None:
    assert read_cpu({"web": [family], "beat": []}).seconds["web"] >= 0.29
    assert largest_rss_mb({"web": [family]})["web"] > 50


def test_a_reading_later_tells_what_was_used_between(family: int) -> None:
    reading = read_cpu({"web": [family]})
    assert reading.until(read_cpu({"web": [family]}))["web"] < 0.29


def test_a_process_that_is_gone_counts_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert read_cpu({"web": [gone.pid]}).seconds == {"web": 0}
    assert largest_rss_mb({"web": [gone.pid]}) == {"web": 0}
