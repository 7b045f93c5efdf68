"""Beat sleeps until a task is due."""

import time
from typing import Any

from celery import Celery

from wangtimer.beat import PunctualScheduler
from wangtimer.celery import app

EVERY_S = 0.25
SPAN_S = 1.1


class Noting(PunctualScheduler):
    """Notes when it would have sent a task, in seconds of the clock by which it sleeps."""

    def apply_entry(self, entry: Any, producer: object = None) -> None:
        self.sent_at.append(time.monotonic())


def test_beat_looks_once_for_each_task_and_never_early() -> None:
    scheduler = Noting(Celery(broker="memory://", set_as_current=False), lazy=True)
    scheduler.sent_at = []
    scheduler.add(name="tick", task="tick", schedule=EVERY_S)
    looks, ends_at = 0, time.monotonic() + SPAN_S
    while time.monotonic() < ends_at:
        looks += 1
        time.sleep(max(0, scheduler.tick()))
    gaps = [later - earlier for earlier, later in zip(scheduler.sent_at, scheduler.sent_at[1:], strict=False)]
    assert len(gaps) >= 2
    assert min(gaps) > EVERY_S - 0.02
    # After a task one look for the next one, and at times one that wakes a moment too soon.
    assert looks <= 4 * len(scheduler.sent_at) + 4


def test_it_is_the_one_that_beat_runs() -> None:
    assert app.conf.beat_scheduler == f"{PunctualScheduler.__module__}:{PunctualScheduler.__qualname__}"
