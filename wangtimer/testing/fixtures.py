"""The fixtures: in the conftest.py at the root of your tests, `pytest_plugins = ["wangtimer.testing"]`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from wangtimer.testing.in_process import WangTimer


@pytest.fixture
def make_wangtimer() -> Iterator[Callable[..., WangTimer]]:
    """Return a function that makes a `WangTimer` with its arguments; each is closed after the test."""
    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(WangTimer(*given, **named))


@pytest.fixture
def wangtimer(make_wangtimer: Callable[..., WangTimer]) -> WangTimer:
    """The service without timers, on a clock of its own that starts on a Monday at midnight UTC."""
    return make_wangtimer()
