"""A worker that includes this module needs no beat: it does each periodic task itself, in a loop of its own.

For the embedded default (decision 76). Elsewhere beat sends each as a message, and so one of many processes does it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from celery.signals import worker_ready

from wangtimer.base.loop import Loop
from wangtimer.celery import app
from wangtimer.tasks import wiring


@worker_ready.connect
def _begin(**_: Any) -> None:
    for name, entry in app.conf.beat_schedule.items():
        work = partial(_do, app.tasks[entry["task"]].run)
        Loop(name, work, entry["schedule"].total_seconds()).start()


def _do(run: Callable[[], None]) -> None:
    # A process that ends takes on nothing more.
    if not wiring().stopping.is_set():
        run()
