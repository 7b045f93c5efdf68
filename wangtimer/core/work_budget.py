"""How much CPU a request may take: long loops ask whether to stop. Workers do it bit by bit, and have no budget."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wangtimer.core.errors import TooMuchWork

_over_at: ContextVar[float] = ContextVar("work_over_at", default=float("inf"))


@contextmanager
def work_budget(cpu_s: float) -> Iterator[None]:
    """Give the block a budget of so many seconds of this thread's CPU time; it must ask `is_over` or `refuse_more`."""
    token = _over_at.set(time.thread_time() + cpu_s)
    try:
        yield
    finally:
        _over_at.reset(token)


def is_over(kept_s: float = 0.0) -> bool:
    """Tell whether the budget is used up, except `kept_s` seconds kept for work that comes in any case."""
    return time.thread_time() + kept_s > _over_at.get()


def refuse_more() -> None:
    """Raise `TooMuchWork` if the budget is used up."""
    if is_over():
        raise TooMuchWork
