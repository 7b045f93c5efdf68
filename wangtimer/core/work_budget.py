"""How much CPU one request may take: long loops ask now and then, and are told to stop.

Workers have no budget: what a request may not do at once, they do bit by bit.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wangtimer.core.errors import TooMuchWork

_over_at: ContextVar[float] = ContextVar("work_over_at", default=float("inf"))


@contextmanager
def work_budget(cpu_s: float) -> Iterator[None]:
    """Let what runs within take so many seconds of this thread's CPU time, as far as it asks."""
    token = _over_at.set(time.thread_time() + cpu_s)
    try:
        yield
    finally:
        _over_at.reset(token)


def is_over(kept_s: float = 0.0) -> bool:
    """Tell whether the budget is used up, but for so many seconds that are kept for what is to come in any case."""
    return time.thread_time() + kept_s > _over_at.get()


def refuse_more() -> None:
    """Return while there is budget left; raises `TooMuchWork`."""
    if is_over():
        raise TooMuchWork
