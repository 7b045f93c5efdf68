"""A worker that includes this module needs no beat: it does each periodic task itself, in a loop of its own.

For the embedded default (decision 76). Elsewhere beat sends each as a message, and so one of many processes does it.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from celery.signals import worker_ready

from wangtimer.base.loop import Loop
from wangtimer.base.punctuality import SWITCH_INTERVAL_S
from wangtimer.celery import app
from wangtimer.tasks import wiring


@worker_ready.connect
def _begin(**_: Any) -> None:
    # Triggers arm half a second ahead at the latest: planning beside them must not hold them up.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    for name, entry in app.conf.beat_schedule.items():
        every_s = entry["schedule"].total_seconds()
        Loop(name, partial(_do, app.tasks[entry["task"]].run, every_s), every_s).start()


def _do(run: Callable[[], None], every_s: float) -> float:
    """Do a task once; return in how many seconds it is due again, counted from its begin.

    One that takes longer than its period rests for a tenth of that: others need SQL and the interpreter too.
    """
    clock = wiring().clock
    began_at = clock.monotonic()
    # A process that ends takes on nothing more.
    if not wiring().stopping.is_set():
        run()
    return max(every_s / 10, began_at + every_s - clock.monotonic())
