"""The Celery tasks: each finds its stage and calls it. Each may run twice; the comment above it says why no harm."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from functools import cache, wraps
from threading import Lock
from typing import Any, TypeVar

from celery.signals import worker_process_init, worker_ready, worker_shutdown, worker_shutting_down

from wangtimer.base.broker import MIGRATE, SCHEDULE, TRIGGER
from wangtimer.base.in_turn import do_in_turn
from wangtimer.base.settings import read_settings
from wangtimer.celery import app
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.queues import CALLBACK, is_for_callbacks
from wangtimer.core.flow.slicing import Slice
from wangtimer.wiring import Wiring, build
from wangtimer.worker import PatientConsumer, Watchdog

# s; ticks closer than this come from a second beat, or queued up while this worker was away.
SAME_TICK_S = 0.3
# s; how often the feeder looks whether Redis holds all of the window, and how often the next minute is compared.
FEED_EVERY_S = 2
RECONCILE_EVERY_S = 10
# s; how often what was noted for alert rules is judged.
JUDGE_ALERTS_EVERY_S = 5
PURGE_EVERY_S = 60
# s; Celery compares the two nodes' wall clocks for it: with a short one, a worker whose clock is off would drop every
# tick. So it is long, and ticks that queued up while workers were away are one tick to the task.
EXPIRES_S = 86_400

Work = TypeVar("Work", bound=Callable[..., None])

_settings = read_settings()
_one_thread = Lock()


def wiring() -> Wiring:
    """Return this process's parts."""
    with _one_thread:
        return _build()


@cache
def _build() -> Wiring:
    return build(read_settings(), app)


def task(name: str, queue: str) -> Callable[[Work], Work]:
    """Make a function the task of that name, in that queue."""
    app.conf.task_routes[f"wangtimer.{name}"] = {"queue": queue}
    made: Callable[[Work], Work] = app.task(name=f"wangtimer.{name}", throws=(StoreAway,))
    return made


def periodic(
    name: str,
    every_s: float | None = None,
    queue: str = MIGRATE,
    least_s: float | None = None,
    is_alone: bool = True,
) -> Callable[[Callable[[Wiring], None]], Callable[[], None]]:
    """Make work on this process's parts a task that beat sends every so many seconds; None: whoever needs it sends it.

    Messages closer than `least_s`, half of the interval unless given, count as one; so do those that come while the
    work is under way, if it `is_alone`. The work computes from the clock and from stored marks, so a message that is
    lost, late or doubled harms nothing.
    """
    apart_s = (every_s or 0.0) / 2 if least_s is None else least_s

    def declared(work: Callable[[Wiring], None]) -> Callable[[], None]:
        @task(name, queue)
        @wraps(work)
        def run() -> None:
            parts = wiring()
            pace = parts.pace(name, apart_s)
            with pace.alone() if is_alone else nullcontext(pace.is_due()) as is_due:
                if is_due:
                    work(parts)

        if every_s is not None:
            app.conf.beat_schedule[name] = {
                "task": f"wangtimer.{name}",
                "schedule": timedelta(seconds=every_s),
                # 2 to 3 ms after each full second.
                "relative": True,
                "options": {"expires": EXPIRES_S},
            }
        return run

    return declared


# A tick depends on the clock and the agenda alone; each lock is taken once.
@periodic("schedule", every_s=1, queue=SCHEDULE, least_s=SAME_TICK_S, is_alone=False)
def schedule(parts: Wiring) -> None:
    """Send a trigger task for every slice that needs one."""
    parts.scheduler.tick()


# A plan whose timer was planned meanwhile is left out; rows that exist are ignored.
@periodic("migrate", every_s=_settings.plan_every_s)
def migrate(parts: Wiring) -> None:
    """Plan the next stretch of every timer that needs it."""
    parts.migrator.plan_due()


# Adding a member that its slice holds does nothing; limits that were told are told again; what is disabled stays so.
@periodic("sweep", every_s=_settings.sweep_every_s)
def sweep(parts: Wiring) -> None:
    """Add overdue firings, feed lanes, write parked outcomes, tell what was set; see to calendars and apps."""
    do_in_turn(
        parts.replicas.tell_again,
        parts.sweeper.sweep,
        parts.long_work.sweep,
        parts.overlaps.sweep,
        parts.lane_feeder.feed,
        parts.calendar_follower.ask,
        parts.app_stopper.sweep,
        parts.host_judge.sweep,
        parts.control_applier.sweep,
        parts.rules_follower.sweep,
    )


# A note is judged in the transaction that deletes it; an app that another process is at is left to it.
@periodic("judge_alerts", every_s=JUDGE_ALERTS_EVERY_S)
def judge_alerts(parts: Wiring) -> None:
    """Judge what was noted for alert rules, and see which troubles are over."""
    parts.alert_judge.run()


# Adding a member that its slice holds does nothing. One process feeds at a time; a minute cut short is fed again.
@periodic("feed", every_s=FEED_EVERY_S)
def feed(parts: Wiring) -> None:
    """Bring what comes due within the window into Redis."""
    parts.feeder.feed()


# Adding a member that its slice holds does nothing.
@periodic("reconcile", every_s=RECONCILE_EVERY_S)
def reconcile(parts: Wiring) -> None:
    """Compare the coming minute's firings in SQL and Redis, and add what is missing."""
    parts.feeder.compare()


# What is gone is gone.
@periodic("purge", every_s=PURGE_EVERY_S)
def purge(parts: Wiring) -> None:
    """Delete what is past its retention, as long as some is left; and count the timers of apps anew."""
    while True:
        do_in_turn(parts.purger.purge, parts.finished_purger.purge, parts.total_counter.count_all)
        if parts.stopping.is_set() or not (parts.purger.has_more or parts.finished_purger.has_more):
            break


# Adding a member that its lane holds does nothing; each lane is asked for once a second, and one feeding feeds all.
@periodic("feed_lanes", least_s=0.3)
def feed_lanes(parts: Wiring) -> None:
    """Bring more of what waits for room from SQL into the lanes that are nearly empty."""
    parts.lane_feeder.feed()


# Timers that follow already are left as they are; one run at a time in this process.
@periodic("follow")
def follow(parts: Wiring) -> None:
    """Let the timers that name an uploaded calendar follow it."""
    parts.calendar_follower.follow_all()


# A control is of a timer's version, and what it changes makes a new one.
@task("apply_controls", MIGRATE)
def apply_controls() -> None:
    """Do what answers make of timers."""
    wiring().control_applier.apply()


# The slice's lock is one token's; a second trigger ends at its first turn.
@task("trigger", TRIGGER)
def trigger(tag: str, token: str, credit: int) -> None:
    """Watch a slice for as long as it has work."""
    wiring().trigger.watch(Slice.parse(tag), token, credit)


# Members are claimed once; a second delivery claims nothing.
@task("callback", CALLBACK)
def callback(tag: str, members: str) -> None:
    """Fire a chunk."""
    wiring().executor.fire(Chunk.from_wire(tag, members))


@worker_ready.connect
def _warm_up(sender: PatientConsumer, **_: Any) -> None:
    """Open what the first chunk would wait for, and start the watchdog; servers that are away are opened later."""
    Watchdog(sender, wiring().stopping).loop.start()
    wiring().broker.warm_up()
    if any(map(is_for_callbacks, app.amqp.queues.consume_from)):
        wiring().executor.warm_up()
        if wiring().presence.queues:
            wiring().presence.loop.start()


@worker_process_init.connect
def _forget_inherited(**_: Any) -> None:
    """Drop inherited parts, so that a forked child opens its own connections."""
    _build.cache_clear()


@worker_shutting_down.connect
def _stop_polling(**_: Any) -> None:
    wiring().stopping.set()


@worker_shutdown.connect
def _drain(**_: Any) -> None:
    if "executor" in vars(wiring()):
        wiring().executor.drain(wiring().settings.drain_s)
