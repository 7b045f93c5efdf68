"""The faults: each does its harm to a trial, sees to it that its victim held firings, and says whom it met."""

import os
import random
import signal
import time
from uuid import uuid4

from tests.chaos.catch_up import CatchUp
from tests.chaos.holdings import flush_after_look
from tests.chaos.told_alerts import KNOWN_S
from tests.chaos.trial import BROKER, SQL, STORE, Strike, Trial, await_

# What a trigger holds besides what it armed: until its lock has run out and the next tick has come.
TRIGGER_GAP_S = 8.0
# Beat's death, its start, and the tick after.
BEAT_GAP_S = 40.0
# Armed and unclaimed this long after its moment: its message lies with the victim.
STUCK_MS = 1_500
# Room for the outcomes of about 20 s at 2,000 firings a second.
SMALL_OUTBOX_MB = 20
# What 5 minutes left behind is planned and called within this, on two cores; from then on firings are on time again.
CATCHING_UP_S = 60.0

# A failure and its end are a message each, both refused once, the second 10 s after the first.
ALERT_TOLD_WITHIN_S = 120.0

# After a switch of SQL the API takes changes again within this.
REFUSED_S = 2.0
# A timer due then is none of a row's.
FAR_MS = 86_400_000

EXECUTORS = ("callback", "callback2")
TRIGGERS = ("trigger", "trigger2")
BEATS = ("beat", "beat2")
# s; as docs/operations.md has it, 10 s after the last tick, and room for a slow answer.
NO_TICK_TOLD_WITHIN_S = 15.0


# processes


def kill_executor(trial: Trial) -> Strike:
    name, running, held = trial.freeze_one_that_runs(*EXECUTORS)
    trial.kill(name)
    return Strike(len(running), running | held.armed, running)


def kill_trigger(trial: Trial) -> Strike:
    name, tags = trial.trigger_that_watches(*TRIGGERS)
    trial.freeze(name)
    held = trial.look(TRIGGER_GAP_S)
    trial.kill(name)
    waiting = held.due_in(tags)
    return Strike(len(waiting), waiting | held.armed)


def freeze_executor_30s(trial: Trial) -> Strike:
    name, running, held = trial.freeze_one_that_runs(*EXECUTORS)
    pid = trial.pid(name)
    trial.tend_for(4)
    stuck_before = time.time() * 1_000 - STUCK_MS
    stuck = {member for member in trial.look().armed if member.fire_at < stuck_before}
    trial.tend_for(26)
    os.kill(pid, signal.SIGCONT)
    return Strike(len(running), running | held.armed | stuck, running)


def freeze_trigger_30s(trial: Trial) -> Strike:
    name, tags = trial.trigger_that_watches(*TRIGGERS)
    pid = trial.freeze(name)
    held = trial.look(TRIGGER_GAP_S)
    trial.tend_for(30)
    os.kill(pid, signal.SIGCONT)
    waiting = held.due_in(tags)
    return Strike(len(waiting), waiting | held.armed)


def kill_both_beats_30s(trial: Trial) -> Strike:
    _await_slices_to_come(trial)
    for name in BEATS:
        trial.kill(name)
    killed_at = time.monotonic()
    unwatched = trial.look(BEAT_GAP_S).due_outside(trial.locked_slices())
    assert await_(lambda: not trial.has_ticks(), NO_TICK_TOLD_WITHIN_S), "/readyz says nothing of ticks"
    told_s = time.monotonic() - killed_at
    trial.leave_for(30 - told_s)
    now = time.time() * 1_000
    trial.tend_until(trial.has_ticks, BEAT_GAP_S, "/readyz says that ticks come again")
    met = sum(member.fire_at < now for member in unwatched)
    return Strike(met, unwatched, note=f"/readyz of web said so after {told_s:.1f} s")


def kill_one_beat_of_two(trial: Trial) -> Strike:
    _await_slices_to_come(trial)
    trial.kill(BEATS[0])
    met = len(trial.look(BEAT_GAP_S).due_outside(trial.locked_slices()))
    trial.leave_for(30)
    assert trial.has_ticks(), "/readyz misses ticks"
    return Strike(met)


def _await_slices_to_come(trial: Trial) -> None:
    """What is locked goes on being watched for as long as it has work; the next minute's slices miss the ticks."""
    trial.tend_until(lambda: 35 <= time.time() % 60 < 50, 60, "the second half of a minute")


def restart_each_in_turn(trial: Trial) -> Strike:
    supervisor = trial.deployment.supervisor
    met = 0
    for name, before in list(supervisor.children().items()):
        met += len(trial.look().running_of(before.pid)) + name.startswith("trigger")
        before.ask_to_end()

        def is_back(name: str = name, pid: int = before.pid) -> bool:
            child = supervisor.children()[name]
            return child.pid != pid and child.is_ready()

        trial.tend_until(is_back, 40, f"{name} ends and comes back")
    return Strike(met)


def kill_everything_5min(trial: Trial) -> Strike:
    children = trial.deployment.supervisor.children()
    for name in children:
        if not name.startswith("web"):
            trial.freeze(name)
    running = frozenset(trial.look().running)
    for name in children:
        trial.kill(name)
    trial.leave_for(300)
    back_at = int(time.time() * 1_000)
    trial.tend_for(CATCHING_UP_S)
    return Strike(
        len(running),
        may_repeat=running,
        others_from=back_at + int(CATCHING_UP_S * 1_000),
        note=CatchUp.of(trial.calls(), trial.window, back_at).told(),
    )


# the store


def flush_store(trial: Trial) -> Strike:
    held = flush_after_look(trial.store)
    running = frozenset(held.running)
    return Strike(len(running) + len(held.armed), running | held.armed, running)


def kill_store_3s(trial: Trial) -> Strike:
    with trial.writers_paused():
        held = trial.look()
        trial.deployment.store.process.kill()
    trial.tend_for(3)
    trial.deployment.store.process.start()
    running = frozenset(held.running)
    return Strike(len(running) + len(held.armed), running | held.armed, running)


def freeze_store_10s(trial: Trial) -> Strike:
    with trial.writers_paused():
        held = trial.look()
        trial.deployment.store.process.freeze()
    trial.tend_for(10)
    trial.deployment.store.process.thaw()
    running = frozenset(held.running)
    return Strike(len(running) + len(held.armed), running | held.armed, running)


def roll_store_back_5s(trial: Trial) -> Strike:
    trial.store.save()
    trial.tend_for(5)
    with trial.writers_paused():
        held = trial.look()
        trial.deployment.store.process.kill()
    trial.deployment.store.process.start()
    running = frozenset(held.running)
    return Strike(len(running) + len(held.armed), running | held.armed, running)


def delete_a_tenth_of_due(trial: Trial) -> Strike:
    due = trial.look(120).due
    chosen = random.sample(sorted(due), len(due) // 10)
    with trial.store.pipeline(transaction=False) as pipe:
        for member in chosen:
            pipe.zrem(due[member], str(member))
        gone = [member for member, removed in zip(chosen, pipe.execute(), strict=True) if removed]
    return Strike(len(gone), frozenset(gone))


# the broker and SQL


def kill_broker_10s(trial: Trial) -> Strike:
    # Frozen first, so that what is armed has its messages in the broker's hands when it dies.
    trial.deployment.broker.process.freeze()
    trial.tend_until(lambda: bool(trial.look().armed), 10, "something armed waits at the broker")
    held = trial.look()
    trial.deployment.broker.process.kill()
    trial.tend_for(10)
    trial.deployment.broker.process.start()
    return Strike(len(held.armed), held.armed)


def freeze_broker_10s(trial: Trial) -> Strike:
    trial.deployment.broker.process.freeze()
    trial.tend_until(lambda: bool(trial.look().armed), 10, "something armed waits at the broker")
    held = trial.look()
    trial.tend_for(10)
    trial.deployment.broker.process.thaw()
    return Strike(len(held.armed), held.armed)


def kill_sql_10s(trial: Trial) -> Strike:
    return _kill_sql(trial, 10)


def kill_sql_5s(trial: Trial) -> Strike:
    return _kill_sql(trial, 5)


def _kill_sql(trial: Trial, seconds: float) -> Strike:
    trial.deployment.sql.process.kill()
    trial.tend_for(seconds)
    parked = trial.store.hlen("wt:outbox")
    trial.deployment.sql.process.start()
    return Strike(parked, note=f"{parked} outcomes waited in Redis")


def switch_sql_over(trial: Trial) -> Strike:
    """A planned one: nothing is lost, and no connection is cut. The API is asked for changes all the while."""
    trial.deployment.switch_sql_over()
    running = len(trial.look().running)
    switched_at, refused_s, refusals, most = time.monotonic(), 0.0, 0, 0
    while (since_s := time.monotonic() - switched_at) < 20:
        try:
            trial.deployment.make_timer(uuid4().hex, at=int(time.time() * 1_000) + FAR_MS)
        except AssertionError:
            refused_s, refusals = since_s, refusals + 1
        trial.tend_for(0.1)
        most = max(most, trial.store.hlen("wt:outbox"))
    assert refused_s <= REFUSED_S, f"{refusals} changes refused, the last {refused_s:.1f} s after the switch"
    told = f"{refusals} changes refused" + (f", the last after {refused_s:.1f} s" if refusals else "")
    return Strike(running, note=f"{told}; up to {most} outcomes waited in Redis")


def freeze_sql_20s(trial: Trial) -> Strike:
    trial.deployment.sql.process.freeze()
    trial.tend_for(20)
    parked = trial.store.hlen("wt:outbox")
    trial.deployment.sql.process.thaw()
    return Strike(parked, note=f"{parked} outcomes waited in Redis")


def freeze_sql_while_a_target_fails(trial: Trial) -> Strike:
    """What a rule is to tell comes about while SQL hangs."""
    alerts = trial.told_alerts()
    name = alerts.make()
    trial.tend_for(KNOWN_S)
    trial.deployment.sql.process.freeze()
    alerts.fail(name)
    trial.tend_for(20)
    parked = trial.store.hlen("wt:outbox")
    trial.deployment.sql.process.thaw()
    trial.await_told(ALERT_TOLD_WITHIN_S)
    return Strike(parked, note=f"{parked} outcomes waited in Redis; the failure was told, and its end")


def freeze_sql_10min_with_little_room(trial: Trial) -> Strike:
    """SQL is away for so long that not all outcomes fit into Redis."""
    trial.deployment.sql.process.freeze()
    ends_at, most = time.monotonic() + 600, 0
    while time.monotonic() < ends_at:
        trial.tend_for(1)
        most = max(most, int(trial.store.memory_usage("wt:outbox", samples=50) or 0))
    parked = trial.store.hlen("wt:outbox")
    trial.deployment.sql.process.thaw()
    assert most < 2 * SMALL_OUTBOX_MB * 1_000_000, f"the outbox took {most / 1e6:.0f} MB"
    return Strike(parked, note=f"{parked} outcomes waited in Redis, {most / 1e6:.0f} MB at most")


# the network


def cut_executor_off_redis_15s(trial: Trial) -> Strike:
    name, running, held = trial.freeze_one_that_runs("callback")
    proxies = [trial.deployment.proxies[name, dependency] for dependency in (STORE, BROKER)]
    for proxy in proxies:
        proxy.black_hole()
    os.kill(trial.pid(name), signal.SIGCONT)
    trial.tend_for(15)
    for proxy in proxies:
        proxy.restore()
    return Strike(len(running), running | held.armed, running)


def cut_executor_off_sql_15s(trial: Trial) -> Strike:
    name, running, _ = trial.freeze_one_that_runs("callback")
    proxy = trial.deployment.proxies[name, SQL]
    proxy.cut()
    os.kill(trial.pid(name), signal.SIGCONT)
    parked = 0
    # The others still reach SQL: their sweep writes what waits in Redis every few seconds.
    for _ in range(75):
        trial.tend_for(0.2)
        parked = max(parked, trial.store.hlen("wt:outbox"))
    proxy.restore()
    return Strike(parked, may_repeat=running, note=f"up to {parked} outcomes waited in Redis")
