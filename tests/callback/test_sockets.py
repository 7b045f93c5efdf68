"""How long a rest at the sockets lasts: to the moment, never past it by a whole ms."""

import os
import time
from collections.abc import Iterator

import pytest

from wangtimer.callback.sockets import Sockets

SHORT_S = 0.0034


@pytest.fixture
def wake_fd() -> Iterator[int]:
    fd = os.eventfd(0, os.EFD_NONBLOCK)
    yield fd
    os.close(fd)


def test_a_rest_ends_at_its_moment_not_before(wake_fd: int) -> None:
    sockets = Sockets(wake_fd)
    took_s = []
    for _ in range(20):
        began = time.monotonic()
        assert not sockets.wait(SHORT_S)
        took_s.append(time.monotonic() - began)
    sockets.close()
    assert min(took_s) >= SHORT_S


def test_what_is_ready_ends_it(wake_fd: int) -> None:
    sockets = Sockets(wake_fd)
    os.eventfd_write(wake_fd, 1)
    began = time.monotonic()
    assert sockets.wait(60)
    assert time.monotonic() - began < 30
    assert sockets.drive()
    sockets.close()


def test_with_a_descriptor_that_select_does_not_take_it_rests_all_the_same_and_is_woken(wake_fd: int) -> None:
    """A process may have thousands of them when its engine starts."""
    taken = [os.dup(wake_fd) for _ in range(1_100)]
    sockets = Sockets(wake_fd)
    for fd in taken:
        os.close(fd)
    began = time.monotonic()
    assert not sockets.wait(SHORT_S)
    took_s = time.monotonic() - began
    assert took_s >= 0.001
    os.eventfd_write(wake_fd, 1)
    assert sockets.wait(60)
    assert sockets.drive()
    sockets.close()
