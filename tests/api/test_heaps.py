"""How many heaps the threads of an API process have: each keeps what the largest requests took."""

import re
import subprocess
import sys

import pytest

from wangtimer.api.http import web_process
from wangtimer.api.http.web_process import MOST_HEAPS

PROGRAM = """
from ctypes import CDLL
from runpy import run_path
from threading import Barrier, Thread

share_heaps = run_path({path!r})["share_heaps"]
libc, all_there = CDLL(None), Barrier(8)
{begin}
threads = [Thread(target=lambda: (libc.malloc(100_000), all_there.wait())) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.malloc_stats()
"""


@pytest.mark.processes
def test_all_threads_of_an_api_process_share_two_heaps() -> None:
    """Single batches of 8 MB, one after another, left 407 MB in a process."""
    assert (_heaps("share_heaps()"), _heaps("") > MOST_HEAPS) == (MOST_HEAPS, True)


def _heaps(begin: str) -> int:
    command = [sys.executable, "-c", PROGRAM.format(path=web_process.__file__, begin=begin)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return len(re.findall("^Arena", told, re.MULTILINE))
