"""The Celery tasks: each finds its stage and calls it. Each may run twice; the comment above it says why no harm."""

from functools import cache
from threading import Lock
from typing import Any

import structlog
from celery import shared_task
from celery.signals import worker_process_init, worker_ready, worker_shutdown, worker_shutting_down

from wangtimer.celery import app
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.queues import is_for_callbacks
from wangtimer.core.flow.slicing import Slice
from wangtimer.in_turn import do_in_turn
from wangtimer.settings import FEED_EVERY_S, JUDGE_ALERTS_EVERY_S, RECONCILE_EVERY_S, read_settings
from wangtimer.wiring import Wiring, build
from wangtimer.worker import PatientConsumer, Watchdog

log = structlog.get_logger()

# Ticks closer than this come from a second beat, or queued up while this worker was away.
SAME_TICK_S = 0.3
SAME_FEEDING_S = 0.3
SAME_MINUTE_S = 30.0

_one_thread = Lock()


def wiring() -> Wiring:
    """Return this process's parts."""
    with _one_thread:
        return _build()


@cache
def _build() -> Wiring:
    return build(read_settings(), app)


# A tick depends on the clock and the agenda alone; each lock is taken once.
@shared_task(name="wangtimer.schedule", throws=(StoreAway,))
def schedule() -> None:
    """Send a trigger task for every slice that needs one."""
    if wiring().pace("schedule", SAME_TICK_S).is_due():
        wiring().scheduler.tick()


# A plan whose timer was planned meanwhile is left out; rows that exist are ignored.
@shared_task(name="wangtimer.migrate", throws=(StoreAway,))
def migrate() -> None:
    """Plan the next stretch of every timer that needs it."""
    with wiring().pace("migrate", wiring().settings.plan_every_s / 2).alone() as is_due:
        if is_due:
            wiring().migrator.plan_due()


# Adding a member that its slice holds does nothing; limits that were told are told again; what is disabled stays so.
@shared_task(name="wangtimer.sweep", throws=(StoreAway,))
def sweep() -> None:
    """Add overdue firings, feed lanes, write parked outcomes, tell what was set; see to calendars and apps."""
    with wiring().pace("sweep", wiring().settings.sweep_every_s / 2).alone() as is_due:
        if is_due:
            do_in_turn(
                wiring().replicas.tell_again,
                wiring().sweeper.sweep,
                wiring().long_work.sweep,
                wiring().overlaps.sweep,
                wiring().lane_feeder.feed,
                wiring().calendar_follower.ask,
                wiring().app_stopper.sweep,
                wiring().host_judge.sweep,
                wiring().control_applier.sweep,
                wiring().rules_follower.sweep,
            )


# A note is judged in the transaction that deletes it; an app that another process is at is left to it.
@shared_task(name="wangtimer.judge_alerts", throws=(StoreAway,))
def judge_alerts() -> None:
    """Judge what was noted for alert rules, and see which troubles are over."""
    with wiring().pace("judge_alerts", JUDGE_ALERTS_EVERY_S / 2).alone() as is_due:
        if is_due:
            wiring().alert_judge.run()


# Adding a member that its slice holds does nothing. One process feeds at a time; a minute cut short is fed again.
@shared_task(name="wangtimer.feed", throws=(StoreAway,))
def feed() -> None:
    """Bring what comes due within the window into Redis."""
    with wiring().pace("feed", FEED_EVERY_S / 2).alone() as is_due:
        if is_due:
            wiring().feeder.feed()


# Adding a member that its lane holds does nothing; each lane is asked for once a second, and one feeding feeds all.
@shared_task(name="wangtimer.feed_lanes", throws=(StoreAway,))
def feed_lanes() -> None:
    """Bring more of what waits for room from SQL into the lanes that are nearly empty."""
    with wiring().pace("feed_lanes", SAME_FEEDING_S).alone() as is_due:
        if is_due:
            wiring().lane_feeder.feed()


# Adding a member that its slice holds does nothing.
@shared_task(name="wangtimer.reconcile", throws=(StoreAway,))
def reconcile() -> None:
    """Compare the coming minute's firings in SQL and Redis, and add what is missing."""
    with wiring().pace("reconcile", RECONCILE_EVERY_S / 2).alone() as is_due:
        if is_due:
            wiring().feeder.compare()


# What is gone is gone.
@shared_task(name="wangtimer.purge", throws=(StoreAway,))
def purge() -> None:
    """Delete what is past its retention, as long as some is left; and count the timers of apps anew."""
    with wiring().pace("purge", SAME_MINUTE_S).alone() as is_due:
        while is_due:
            purger, finished = wiring().purger, wiring().finished_purger
            do_in_turn(purger.purge, finished.purge, wiring().total_counter.count_all)
            if wiring().stopping.is_set() or not (purger.has_more or finished.has_more):
                break


# Timers that follow already are left as they are; one run at a time in this process.
@shared_task(name="wangtimer.follow", throws=(StoreAway,))
def follow() -> None:
    """Let the timers that name an uploaded calendar follow it."""
    with wiring().pace("follow", 0.0).alone() as is_due:
        if is_due:
            wiring().calendar_follower.follow_all()


# Who is disabled stays so; who was changed since is left alone.
@shared_task(name="wangtimer.stop_gone", throws=(StoreAway,))
def stop_gone(called: list[tuple[int, int, int]]) -> None:
    """Disable timers whose target answered 410; each has its id, its version, and that of the target it names."""
    wiring().gone_stopper.stop({timer_id: (own, target) for timer_id, own, target in called})


# A control is of a timer's version, and what it changes makes a new one.
@shared_task(name="wangtimer.apply_controls", throws=(StoreAway,))
def apply_controls(controls: list[tuple[int, str]]) -> None:
    """Do what answers make of timers; each has the timer's id, and the control as text."""
    wiring().control_applier.take(dict(controls))


# The slice's lock is one token's; a second trigger ends at its first turn.
@shared_task(name="wangtimer.trigger", throws=(StoreAway,))
def trigger(tag: str, token: str, credit: int) -> None:
    """Watch a slice for as long as it has work."""
    wiring().trigger.watch(Slice.parse(tag), token, credit)


# Members are claimed once; a second delivery claims nothing.
@shared_task(name="wangtimer.callback", throws=(StoreAway,))
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
